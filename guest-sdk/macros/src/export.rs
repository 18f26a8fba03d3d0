//! `export!`: a component answers with the items that are named.
//!
//! Only what is named is exported: a component with tools alone has no other export than `handler`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, Path, Result, Token, bracketed};

type Items = Punctuated<Path, Token![,]>;

/// What a component exports.
#[derive(Default)]
struct Exports {
    tools: Option<Items>,
    prompts: Option<Items>,
    resources: Option<Items>,
    completion: Option<Span>,
}

impl Parse for Exports {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let parts = input.peek2(Token![:]) && !input.peek2(Token![::]);
        if !parts {
            let tools = not_empty(input, Items::parse_terminated(input)?)?;
            return Ok(Self {
                tools: Some(tools),
                ..Self::default()
            });
        }
        let mut exports = Self::default();
        while !input.is_empty() {
            exports.part(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        exports.check()?;
        Ok(exports)
    }
}

impl Exports {
    fn part(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name: Ident = input.parse()?;
        let twice = || syn::Error::new(name.span(), format!("`{name}` is here twice"));
        if name == "completion" {
            if self.completion.replace(name.span()).is_some() {
                return Err(twice());
            }
            return Ok(());
        }
        let place = if name == "tools" {
            &mut self.tools
        } else if name == "prompts" {
            &mut self.prompts
        } else if name == "resources" {
            &mut self.resources
        } else {
            return Err(syn::Error::new(
                name.span(),
                "expected tools, prompts, resources or completion",
            ));
        };
        input.parse::<Token![:]>()?;
        let inside;
        bracketed!(inside in input);
        let items = not_empty(&inside, Items::parse_terminated(&inside)?)?;
        if place.replace(items).is_some() {
            return Err(twice());
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        match self.completion {
            Some(span) if self.prompts.is_none() && self.resources.is_none() => {
                Err(syn::Error::new(
                    span,
                    "only prompts and resources have arguments to complete",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// At least one item.
fn not_empty(place: ParseStream<'_>, items: Items) -> Result<Items> {
    if items.is_empty() {
        return Err(place.error("expected the name of a function"));
    }
    Ok(items)
}

pub(crate) fn export(tokens: TokenStream) -> Result<TokenStream> {
    let exports: Exports = syn::parse2(tokens)?;
    let tools = exports.tools.as_ref().map(tools);
    let prompts = exports.prompts.as_ref().map(prompts);
    let resources = exports.resources.as_ref().map(resources);
    let completion = completion(&exports);
    Ok(quote! {
        #[allow(unsafe_code)]
        const _: () = {
            struct Component;
            #tools
            #prompts
            #resources
            #completion
        };
    })
}

fn tools(tools: &Items) -> TokenStream {
    let tools = tools.iter();
    let table = tools.clone().map(|tool| {
        quote!((<#tool as ::cofferdam_guest::Tool>::NAME, <#tool as ::cofferdam_guest::Tool>::run))
    });
    quote! {
        impl ::cofferdam_guest::bindings::exports::cofferdam::tool::handler::Guest for Component {
            fn list_tools() -> ::std::vec::Vec<::cofferdam_guest::Definition> {
                ::cofferdam_guest::__private::list(&[#(<#tools as ::cofferdam_guest::Tool>::definition),*])
            }

            fn call_tool(
                call: ::cofferdam_guest::bindings::exports::cofferdam::tool::handler::ToolCall,
            ) -> ::std::result::Result<
                ::cofferdam_guest::ToolResult,
                ::cofferdam_guest::bindings::cofferdam::tool::types::CallError,
            > {
                ::cofferdam_guest::__private::call(&[#(#table),*], call)
            }
        }

        ::cofferdam_guest::bindings::export_handler!(Component with_types_in ::cofferdam_guest::bindings);
    }
}

fn prompts(prompts: &Items) -> TokenStream {
    let table = prompts.iter().map(|prompt| {
        quote!((<#prompt as ::cofferdam_guest::Prompt>::NAME, <#prompt as ::cofferdam_guest::Prompt>::get))
    });
    let prompts = prompts.iter();
    quote! {
        impl ::cofferdam_guest::bindings::prompts::exports::cofferdam::tool::prompts::Guest for Component {
            fn list_prompts() -> ::std::vec::Vec<::cofferdam_guest::PromptDefinition> {
                ::cofferdam_guest::__private::list_prompts(
                    &[#(<#prompts as ::cofferdam_guest::Prompt>::definition),*]
                )
            }

            fn get_prompt(
                call: ::cofferdam_guest::bindings::prompts::exports::cofferdam::tool::prompts::PromptCall,
            ) -> ::std::result::Result<
                ::cofferdam_guest::PromptResult,
                ::cofferdam_guest::bindings::cofferdam::tool::types::CallError,
            > {
                ::cofferdam_guest::__private::get_prompt(&[#(#table),*], call)
            }
        }

        ::cofferdam_guest::bindings::prompts::export_prompts!(
            Component with_types_in ::cofferdam_guest::bindings::prompts
        );
    }
}

fn resources(resources: &Items) -> TokenStream {
    let table = resources.iter().map(|resource| {
        quote! {
            ::cofferdam_guest::__private::ResourceEntry {
                uri: <#resource as ::cofferdam_guest::Resource>::URI,
                describe: <#resource as ::cofferdam_guest::Resource>::describe,
                list: if <#resource as ::cofferdam_guest::Resource>::LISTS {
                    ::std::option::Option::Some(<#resource as ::cofferdam_guest::Resource>::list)
                } else {
                    ::std::option::Option::None
                },
                read: <#resource as ::cofferdam_guest::Resource>::read,
            }
        }
    });
    quote! {
        const RESOURCES: &[::cofferdam_guest::__private::ResourceEntry] = &[#(#table),*];

        impl ::cofferdam_guest::bindings::resources::exports::cofferdam::tool::resources::Guest for Component {
            fn describe_resources() -> ::cofferdam_guest::ResourceSet {
                ::cofferdam_guest::__private::describe_resources(RESOURCES)
            }

            fn list_resources(
                page: ::cofferdam_guest::bindings::resources::exports::cofferdam::tool::resources::ListCall,
            ) -> ::std::result::Result<
                ::cofferdam_guest::ResourcePage,
                ::cofferdam_guest::bindings::cofferdam::tool::types::CallError,
            > {
                ::cofferdam_guest::__private::list_resources(RESOURCES, page)
            }

            fn read_resource(
                call: ::cofferdam_guest::bindings::resources::exports::cofferdam::tool::resources::ResourceCall,
            ) -> ::std::result::Result<
                ::cofferdam_guest::ResourceContents,
                ::cofferdam_guest::bindings::cofferdam::tool::types::CallError,
            > {
                ::cofferdam_guest::__private::read_resource(RESOURCES, call)
            }
        }

        ::cofferdam_guest::bindings::resources::export_resources!(
            Component with_types_in ::cofferdam_guest::bindings::resources
        );
    }
}

/// The export, or the check that nothing wants it.
fn completion(exports: &Exports) -> TokenStream {
    let prompts: Vec<&Path> = exports.prompts.iter().flatten().collect();
    let resources: Vec<&Path> = exports.resources.iter().flatten().collect();
    let completes = quote! {
        (false #(|| <#prompts as ::cofferdam_guest::Prompt>::COMPLETES)*
            #(|| <#resources as ::cofferdam_guest::Resource>::COMPLETES)*)
    };
    if exports.completion.is_none() {
        if prompts.is_empty() && resources.is_empty() {
            return TokenStream::new();
        }
        return quote! {
            const _: () = ::std::assert!(
                !#completes,
                "an argument has `complete`: add `completion` to `export!`"
            );
        };
    }
    let prompts = prompts.iter().map(|prompt| {
        quote!((<#prompt as ::cofferdam_guest::Prompt>::NAME, <#prompt as ::cofferdam_guest::Prompt>::complete))
    });
    let resources = resources.iter().map(|resource| {
        quote!((<#resource as ::cofferdam_guest::Resource>::URI, <#resource as ::cofferdam_guest::Resource>::complete))
    });
    quote! {
        const _: () = ::std::assert!(
            #completes,
            "no argument has `complete`: leave `completion` out of `export!`"
        );

        impl ::cofferdam_guest::bindings::completion::exports::cofferdam::tool::completion::Guest for Component {
            fn complete_argument(
                call: ::cofferdam_guest::bindings::completion::exports::cofferdam::tool::completion::CompletionCall,
            ) -> ::std::result::Result<
                ::cofferdam_guest::CompletionResult,
                ::cofferdam_guest::bindings::cofferdam::tool::types::CallError,
            > {
                ::cofferdam_guest::__private::complete(&[#(#prompts),*], &[#(#resources),*], call)
            }
        }

        ::cofferdam_guest::bindings::completion::export_completion!(
            Component with_types_in ::cofferdam_guest::bindings::completion
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tokens: TokenStream) -> String {
        export(tokens).map_or_else(|error| error.to_string(), |items| items.to_string())
    }

    #[test]
    fn only_what_is_named_is_exported() {
        let tools = text(quote!(a, b::c));
        assert!(tools.contains("export_handler"));
        assert!(!tools.contains("prompts") && !tools.contains("completion"));
        let all = text(quote!(tools: [a], prompts: [b], resources: [c::d], completion));
        for part in ["handler", "prompts", "resources", "completion"] {
            assert!(all.contains(&format!("export_{part}")), "{part}");
        }
        assert!(!text(quote!(resources: [c],)).contains("export_handler"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(text(quote!()).contains("name of a function"));
        assert!(text(quote!(tools: [])).contains("name of a function"));
        assert!(text(quote!(tools: [a], tools: [b])).contains("twice"));
        assert!(text(quote!(tools: [a], completion)).contains("only prompts and resources"));
        assert!(text(quote!(tool: [a])).contains("expected tools, prompts"));
    }
}
