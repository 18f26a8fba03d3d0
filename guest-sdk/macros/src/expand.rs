//! From a function to the function and its `Tool`.
//!
//! The `Tool` is implemented by an empty struct of the function's name. Types and functions have
//! separate name spaces, so both can be imported, and `export!`ed, under the one name.

use crate::options::{Hints, Options, Task};
use crate::signature::{Arguments, Parameter, Signature};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprLit, Ident, ItemFn, Lit, LitStr, Meta, Result};

/// A function, and the empty struct of its name.
pub(crate) fn with_type(function: &ItemFn) -> TokenStream {
    let (visibility, ident) = (&function.vis, &function.sig.ident);
    quote! {
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        #visibility struct #ident {}
    }
}

pub(crate) fn tool(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options = Options::parse(options)?;
    let mut function: ItemFn = syn::parse2(function)?;
    let signature = Signature::take(&mut function, &["doc", "serde", "schemars"])?;
    let definition = definition(&options, &function, &signature);
    let Body {
        items,
        arguments_type,
        pattern,
        passed,
    } = Body::of(&signature);
    let call = signature.takes_call.then(|| quote!(call,));
    let output = &signature.output;
    let ident = &function.sig.ident;
    let name = plain_name(options.name.as_ref(), ident);
    let function_and_type = with_type(&function);
    Ok(quote! {
        #function_and_type

        const _: () = {
            #items

            impl ::cofferdam_guest::Tool for #ident {
                const NAME: &'static str = #name;

                fn definition() -> ::cofferdam_guest::Definition {
                    #definition
                }

                #[allow(unused_variables)]
                fn run(
                    call: &::cofferdam_guest::Call,
                    arguments: &str,
                ) -> ::cofferdam_guest::Result<::cofferdam_guest::ToolResult> {
                    let #pattern = ::cofferdam_guest::__private::parse::<#arguments_type>(arguments)?;
                    #[allow(clippy::unit_arg)]
                    <#output as ::cofferdam_guest::IntoToolResult>::into_tool_result(#ident(#call #passed))
                }
            }
        };
    })
}

/// How `run` reads arguments and hands them on.
struct Body {
    items: TokenStream,
    arguments_type: TokenStream,
    pattern: TokenStream,
    passed: TokenStream,
}

impl Body {
    fn of(signature: &Signature) -> Self {
        match &signature.arguments {
            Arguments::Whole(inner) => Self {
                items: TokenStream::new(),
                arguments_type: quote!(#inner),
                pattern: quote!(arguments),
                passed: quote!(::cofferdam_guest::Args(arguments)),
            },
            Arguments::Each(parameters) => {
                let names: Vec<&Ident> =
                    parameters.iter().map(|parameter| &parameter.name).collect();
                Self {
                    items: arguments_struct(parameters),
                    arguments_type: quote!(__CofferdamArguments),
                    pattern: quote!(__CofferdamArguments { #(#names),* }),
                    passed: quote!(#(#names),*),
                }
            }
        }
    }
}

fn arguments_struct(parameters: &[Parameter]) -> TokenStream {
    let fields = parameters.iter().map(
        |Parameter {
             name,
             kind,
             attributes,
         }| {
            quote! { #(#attributes)* #name: #kind }
        },
    );
    quote! {
        #[derive(
            ::cofferdam_guest::__private::serde::Deserialize,
            ::cofferdam_guest::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::cofferdam_guest::__private::serde", deny_unknown_fields)]
        #[schemars(crate = "::cofferdam_guest::__private::schemars")]
        struct __CofferdamArguments { #(#fields),* }
    }
}

fn definition(options: &Options, function: &ItemFn, signature: &Signature) -> TokenStream {
    let name = plain_name(options.name.as_ref(), &function.sig.ident);
    let title = text(options.title.as_ref().map(LitStr::value));
    let description = described(options.description.as_ref(), &function.attrs);
    let arguments_type = Body::of(signature).arguments_type;
    let input_schema = match &options.schema {
        Some(schema) => quote!(::std::string::String::from(#schema)),
        None => quote!(::cofferdam_guest::schema::of_input::<#arguments_type>().to_string()),
    };
    let output = &signature.output;
    let output_schema = match &options.output_schema {
        Some(_) => given(options.output_schema.as_ref()),
        None => quote!(
            <#output as ::cofferdam_guest::IntoToolResult>::output_schema().map(|schema| schema.to_string())
        ),
    };
    let meta = given(options.meta.as_ref());
    let task_support = match options.task {
        Task::None => quote!(None),
        Task::Optional => quote!(Optional),
        Task::Required => quote!(Required),
    };
    let hints = hints(&options.hints);
    quote! {
        ::cofferdam_guest::Definition {
            name: ::std::string::String::from(#name),
            title: #title,
            description: #description,
            input_schema: #input_schema,
            output_schema: #output_schema,
            hints: #hints,
            task_support: ::cofferdam_guest::TaskSupport::#task_support,
            meta: #meta,
        }
    }
}

fn hints(hints: &Hints) -> TokenStream {
    let Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
    } = hints;
    if [read_only, destructive, idempotent, open_world]
        .iter()
        .all(|hint| hint.is_none())
    {
        return quote!(::std::option::Option::None);
    }
    let option = |hint: &Option<bool>| match hint {
        Some(value) => quote!(::std::option::Option::Some(#value)),
        None => quote!(::std::option::Option::None),
    };
    let (read_only, destructive) = (option(read_only), option(destructive));
    let (idempotent, open_world) = (option(idempotent), option(open_world));
    quote! {
        ::std::option::Option::Some(::cofferdam_guest::ToolHints {
            read_only: #read_only,
            destructive: #destructive,
            idempotent: #idempotent,
            open_world: #open_world,
        })
    }
}

/// The name that was given, or else the function's.
pub(crate) fn plain_name(given: Option<&LitStr>, ident: &Ident) -> String {
    match given {
        Some(name) => name.value(),
        None => ident.to_string().trim_start_matches("r#").to_owned(),
    }
}

/// An optional expression whose value is text.
pub(crate) fn given(expression: Option<&Expr>) -> TokenStream {
    match expression {
        Some(text) => quote!(::std::option::Option::Some(::std::string::String::from(#text))),
        None => quote!(::std::option::Option::None),
    }
}

/// The description that was given, or else the documentation.
pub(crate) fn described(given: Option<&LitStr>, attributes: &[Attribute]) -> TokenStream {
    text(
        given
            .map(LitStr::value)
            .or_else(|| documentation(attributes)),
    )
}

pub(crate) fn text(text: Option<String>) -> TokenStream {
    match text {
        Some(text) => quote!(::std::option::Option::Some(::std::string::String::from(#text))),
        None => quote!(::std::option::Option::None),
    }
}

/// The documentation of an item, without the space that follows `///`.
pub(crate) fn documentation(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(line),
                    ..
                }) => Some(line.value()),
                _ => None,
            },
            _ => None,
        })
        .map(|line| {
            line.strip_prefix(' ')
                .unwrap_or(&line)
                .trim_end()
                .to_owned()
        })
        .collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn documentation_keeps_its_lines() {
        let function: ItemFn = parse_quote! {
            /// One.
            ///
            /// * two
            ///   more
            fn f() {}
        };
        assert_eq!(
            documentation(&function.attrs).as_deref(),
            Some("One.\n\n* two\n  more")
        );
        let bare: ItemFn = parse_quote!(
            fn f() {}
        );
        assert_eq!(documentation(&bare.attrs), None);
    }

    #[test]
    fn a_raw_name_is_the_plain_one() {
        let name = plain_name(None, &parse_quote!(r#match));
        assert_eq!(name, "match");
    }
}
