//! From a function to the function and its `Resource`, as `expand` does for tools.
//!
//! The parameters are the variables of the URI template, no more and no less: this is checked here.

use crate::argument::{self, Argument};
use crate::expand::{described, given, plain_name, text, with_type};
use crate::options::flag;
use crate::signature::Signature;
use crate::template;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Expr, ItemFn, LitStr, Path, Result, Token};

/// What stands in the parentheses of `#[resource(…)]`.
struct Options {
    uri: LitStr,
    name: Option<LitStr>,
    title: Option<LitStr>,
    description: Option<LitStr>,
    mime_type: Option<Expr>,
    list: Option<Path>,
    ttl_ms: Option<Expr>,
    private: bool,
    meta: Option<Expr>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let uri = input.parse().map_err(|error| {
            syn::Error::new(
                error.span(),
                "expected the URI first: #[resource(\"notes://today\")]",
            )
        })?;
        let mut options = Self {
            uri,
            name: None,
            title: None,
            description: None,
            mime_type: None,
            list: None,
            ttl_ms: None,
            private: false,
            meta: None,
        };
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        let rest: TokenStream = input.parse()?;
        syn::meta::parser(|meta| options.set(&meta)).parse2(rest)?;
        Ok(options)
    }
}

impl Options {
    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let Some(key) = meta.path.get_ident() else {
            return Err(meta.error("unknown option"));
        };
        match key.to_string().as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "title" => self.title = Some(meta.value()?.parse()?),
            "description" => self.description = Some(meta.value()?.parse()?),
            "mime_type" => self.mime_type = Some(meta.value()?.parse()?),
            "list" => self.list = Some(meta.value()?.parse()?),
            "ttl_ms" => self.ttl_ms = Some(meta.value()?.parse()?),
            "private" => self.private = flag(meta)?,
            "meta" => self.meta = Some(meta.value()?.parse()?),
            _ => {
                return Err(meta.error(
                    "unknown option: expected name, title, description, mime_type, list, ttl_ms, private or meta",
                ));
            }
        }
        Ok(())
    }

    fn cache(&self) -> Result<TokenStream> {
        let private = self.private;
        match &self.ttl_ms {
            Some(ttl) => Ok(quote! {
                ::std::option::Option::Some(::cofferdam_guest::CacheHint { ttl_ms: #ttl, private: #private })
            }),
            None if private => Err(syn::Error::new(
                self.uri.span(),
                "`private` says who may keep what is read: say with `ttl_ms` for how long",
            )),
            None => Ok(quote!(::std::option::Option::None)),
        }
    }
}

pub(crate) fn resource(tokens: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(tokens)?;
    let mut function: ItemFn = syn::parse2(function)?;
    let signature = Signature::take(&mut function, &["doc", "arg"])?;
    let parameters = signature.arguments.each()?;
    let arguments: Vec<Argument> = (parameters.iter().map(Argument::of)).collect::<Result<_>>()?;
    let variables = template::variables(&options.uri)?;
    same_names(&options, &function, &arguments, &variables)?;

    let ident = &function.sig.ident;
    let visibility = &function.vis;
    let output = &signature.output;
    let call = signature.takes_call.then(|| quote!(call,));
    let uri = &options.uri;
    let name = plain_name(options.name.as_ref(), ident);
    let title = text(options.title.as_ref().map(LitStr::value));
    let description = described(options.description.as_ref(), &function.attrs);
    let mime_type = given(options.mime_type.as_ref());
    let meta = given(options.meta.as_ref());
    let cache = options.cache()?;
    let completes = argument::completes(&arguments);
    let complete = argument::complete(&arguments);
    let lists = options.list.is_some();
    let list = match &options.list {
        Some(function) => quote!(::cofferdam_guest::__private::listed(#function, call, cursor)),
        None => quote!(::std::result::Result::Ok(
            ::cofferdam_guest::ResourcePage::new()
        )),
    };
    let description = if variables.is_empty() {
        quote! {
            set.resources.push(::cofferdam_guest::ListedResource {
                uri: ::std::string::String::from(#uri),
                name: ::std::string::String::from(#name),
                title: #title,
                description: #description,
                mime_type: #mime_type,
                size: ::std::option::Option::None,
                annotations: ::std::option::Option::None,
                meta: #meta,
            });
        }
    } else {
        quote! {
            set.templates.push(::cofferdam_guest::ResourceTemplate {
                uri_template: ::std::string::String::from(#uri),
                name: ::std::string::String::from(#name),
                title: #title,
                description: #description,
                mime_type: #mime_type,
                annotations: ::std::option::Option::None,
                meta: #meta,
            });
        }
    };
    let passed = arguments.iter().map(|Argument { name, kind, .. }| {
        quote!(::cofferdam_guest::__private::variable::<#kind>(variables, #name)?)
    });
    let expand = expand(visibility, uri, &variables);
    let function_and_type = with_type(&function);
    Ok(quote! {
        #function_and_type

        const _: () = {
            impl #ident {
                #expand
            }

            impl ::cofferdam_guest::Resource for #ident {
                const URI: &'static str = #uri;
                const COMPLETES: bool = #completes;
                const LISTS: bool = #lists;

                fn describe(set: &mut ::cofferdam_guest::ResourceSet) {
                    #description
                }

                #[allow(unused_variables)]
                fn list(
                    call: &::cofferdam_guest::Call,
                    cursor: ::std::option::Option<&str>,
                ) -> ::cofferdam_guest::Result<::cofferdam_guest::ResourcePage> {
                    #list
                }

                #[allow(unused_variables)]
                fn read(
                    call: &::cofferdam_guest::Call,
                    uri: &str,
                    variables: &[(::std::string::String, ::std::string::String)],
                ) -> ::cofferdam_guest::Result<::cofferdam_guest::ResourceContents> {
                    #[allow(clippy::redundant_closure_call)]
                    let read = (|| ::std::option::Option::Some(#ident(#call #(#passed),*)))();
                    let contents = <::std::option::Option<#output> as ::cofferdam_guest::IntoResourceContents>
                        ::into_resource_contents(read)?;
                    ::std::result::Result::Ok(
                        ::cofferdam_guest::__private::filled(contents, uri, #mime_type, #cache)
                    )
                }

                #complete
            }
        };
    })
}

/// The function that makes a URI: of the plain one, or of the template with its variables.
fn expand(visibility: &syn::Visibility, uri: &LitStr, variables: &[String]) -> TokenStream {
    let values: Vec<_> = (0..variables.len())
        .map(|n| format_ident!("value{n}"))
        .collect();
    quote! {
        /// The URI, with a value for each variable in the order of the template.
        #[allow(dead_code)]
        #visibility fn uri(
            #(#values: impl ::std::fmt::Display),*
        ) -> ::std::string::String {
            ::cofferdam_guest::__private::expand(
                #uri,
                &[#((#variables, ::std::string::ToString::to_string(&#values))),*],
            )
        }
    }
}

/// The parameters are the variables.
fn same_names(
    options: &Options,
    function: &ItemFn,
    arguments: &[Argument],
    variables: &[String],
) -> Result<()> {
    for argument in arguments {
        let fault = if !argument.required {
            format!("`{}` always has a value: no `Option` here", argument.name)
        } else if !variables.contains(&argument.name) {
            format!("the URI has no `{{{}}}`", argument.name)
        } else {
            continue;
        };
        return Err(syn::Error::new(function.sig.ident.span(), fault));
    }
    for variable in variables {
        if !arguments.iter().any(|argument| argument.name == *variable) {
            let fault = format!("no parameter of the function is `{variable}`");
            return Err(syn::Error::new(options.uri.span(), fault));
        }
    }
    if variables.is_empty()
        && let Some(list) = &options.list
    {
        return Err(syn::Error::new_spanned(
            list,
            "`list` lists what a template stands for; a URI without variables is listed anyway",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(options: TokenStream, function: TokenStream) -> String {
        crate::refusal(resource(options, function))
    }

    #[test]
    fn mistakes_are_named() {
        let page = quote!(
            fn page(n: u8) -> String {
                String::new()
            }
        );
        assert_eq!(
            refusal(
                quote!("n://{n}", mime_type = "text/plain", ttl_ms = 5, private),
                page.clone()
            ),
            ""
        );
        assert!(refusal(quote!(), page.clone()).contains("the URI first"));
        assert!(refusal(quote!("n://{n}", read_only), page.clone()).contains("expected name"));
        assert!(refusal(quote!("n://{n}", private), page.clone()).contains("ttl_ms"));
        assert!(refusal(quote!("n://x"), page.clone()).contains("no `{n}`"));
        assert!(refusal(quote!("n://{n}/{m}"), page).contains("is `m`"));
        let maybe = quote!(
            fn page(n: Option<u8>) -> String {
                String::new()
            }
        );
        assert!(refusal(quote!("n://{n}"), maybe).contains("no `Option`"));
        let plain = quote!(
            fn page() -> String {
                String::new()
            }
        );
        assert!(refusal(quote!("n://x", list = all), plain).contains("listed anyway"));
    }
}
