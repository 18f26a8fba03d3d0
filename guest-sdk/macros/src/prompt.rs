//! From a function to the function and its `Prompt`, as `expand` does for tools.

use crate::argument::{self, Argument};
use crate::expand::{described, given, plain_name, text, with_type};
use crate::options;
use crate::signature::Signature;
use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Expr, ItemFn, LitStr, Result};

/// What stands in the parentheses of `#[prompt(…)]`.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    title: Option<LitStr>,
    description: Option<LitStr>,
    meta: Option<Expr>,
}

impl Options {
    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("name") {
            self.name = Some(options::name(meta.value()?.parse()?)?);
        } else if meta.path.is_ident("title") {
            self.title = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("description") {
            self.description = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("meta") {
            self.meta = Some(meta.value()?.parse()?);
        } else {
            return Err(meta.error("unknown option: expected name, title, description or meta"));
        }
        Ok(())
    }
}

pub(crate) fn prompt(tokens: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let mut options = Options::default();
    syn::meta::parser(|meta| options.set(&meta)).parse2(tokens)?;
    let mut function: ItemFn = syn::parse2(function)?;
    let signature = Signature::take(&mut function, &["doc", "arg"])?;
    let parameters = signature.arguments.each()?;
    let arguments: Vec<Argument> = (parameters.iter().map(Argument::of)).collect::<Result<_>>()?;

    let ident = &function.sig.ident;
    let output = &signature.output;
    let call = signature.takes_call.then(|| quote!(call,));
    let name = plain_name(options.name.as_ref(), ident);
    let title = text(options.title.as_ref().map(LitStr::value));
    let description = described(options.description.as_ref(), &function.attrs);
    let meta = given(options.meta.as_ref());
    let descriptions = arguments.iter().map(Argument::description);
    let completes = argument::completes(&arguments);
    let complete = argument::complete(&arguments);
    let passed = arguments.iter().map(
        |Argument {
             name,
             kind,
             required,
             ..
         }| {
            if *required {
                quote!(::cofferdam_guest::__private::required::<#kind>(arguments, #name)?)
            } else {
                quote!(::cofferdam_guest::__private::optional::<#kind>(arguments, #name)?)
            }
        },
    );
    let function_and_type = with_type(&function);
    Ok(quote! {
        #function_and_type

        const _: () = {
            impl ::cofferdam_guest::Prompt for #ident {
                const NAME: &'static str = #name;
                const COMPLETES: bool = #completes;

                fn definition() -> ::cofferdam_guest::PromptDefinition {
                    ::cofferdam_guest::PromptDefinition {
                        name: ::std::string::String::from(#name),
                        title: #title,
                        description: #description,
                        arguments: ::std::vec![#(#descriptions),*],
                        meta: #meta,
                    }
                }

                #[allow(unused_variables)]
                fn get(
                    call: &::cofferdam_guest::Call,
                    arguments: &[(::std::string::String, ::std::string::String)],
                ) -> ::cofferdam_guest::Result<::cofferdam_guest::PromptResult> {
                    <#output as ::cofferdam_guest::IntoPromptResult>::into_prompt_result(
                        #ident(#call #(#passed),*)
                    )
                }

                #complete
            }
        };
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(options: TokenStream, function: TokenStream) -> String {
        crate::refusal(prompt(options, function))
    }

    #[test]
    fn mistakes_are_named() {
        let plain = quote!(
            fn f(a: String) -> String {
                a
            }
        );
        assert_eq!(refusal(quote!(title = "F"), plain.clone()), "");
        assert!(refusal(quote!(read_only), plain.clone()).contains("expected name, title"));
        assert!(refusal(quote!(name = "a b"), plain).contains("A-Z"));
        assert!(
            refusal(
                quote!(),
                quote!(
                    fn f(#[arg(x)] a: String) {}
                )
            )
            .contains("complete")
        );
        assert!(
            refusal(
                quote!(),
                quote!(
                    fn f(#[serde(default)] a: String) {}
                )
            )
            .contains("`arg`")
        );
        assert!(
            refusal(
                quote!(),
                quote!(
                    fn f(Args(a): Args<T>) {}
                )
            )
            .contains("is a parameter")
        );
    }
}
