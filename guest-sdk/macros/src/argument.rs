//! Parameters that are text: the arguments of a prompt, and the variables of a URI template.
//!
//! Their types are read from text by `FromStr`. `#[arg(…)]` says what the parameter cannot.

use crate::expand::{documentation, plain_name, text};
use crate::signature::{Parameter, inside};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, LitStr, Path, Result, Type};

/// One argument.
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// The parameter is no `Option`.
    pub(crate) required: bool,
    /// The parameter's type, or what its `Option` holds.
    pub(crate) kind: Type,
    /// The function that completes it.
    pub(crate) complete: Option<Path>,
}

/// What stands in `#[arg(…)]`.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    title: Option<LitStr>,
    complete: Option<Path>,
}

impl Options {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|it| it.path().is_ident("arg")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    options.name = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("title") {
                    options.title = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("complete") {
                    options.complete = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("unknown option: expected name, title or complete"));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}

impl Argument {
    pub(crate) fn of(parameter: &Parameter) -> Result<Self> {
        let options = Options::of(&parameter.attributes)?;
        let inner = inside("Option", &parameter.kind);
        Ok(Self {
            name: plain_name(options.name.as_ref(), &parameter.name),
            title: options.title.map(|title| title.value()),
            description: documentation(&parameter.attributes),
            required: inner.is_none(),
            kind: inner.unwrap_or_else(|| parameter.kind.clone()),
            complete: options.complete,
        })
    }

    /// Its description, for a prompt.
    pub(crate) fn description(&self) -> TokenStream {
        let Self { name, required, .. } = self;
        let (title, description) = (text(self.title.clone()), text(self.description.clone()));
        quote! {
            ::cofferdam_guest::PromptArgument {
                name: ::std::string::String::from(#name),
                title: #title,
                description: #description,
                required: #required,
            }
        }
    }
}

/// Does any of them have a function that completes it?
pub(crate) fn completes(arguments: &[Argument]) -> bool {
    arguments.iter().any(|argument| argument.complete.is_some())
}

/// The method that completes them.
pub(crate) fn complete(arguments: &[Argument]) -> TokenStream {
    let arms = arguments
        .iter()
        .filter_map(|Argument { name, complete, .. }| {
            let function = complete.as_ref()?;
            Some(quote!(#name => ::cofferdam_guest::__private::completed(#function, typed),))
        });
    quote! {
        #[allow(unused_variables)]
        fn complete(
            argument: &str,
            typed: &::cofferdam_guest::Typed,
        ) -> ::cofferdam_guest::Result<::cofferdam_guest::CompletionResult> {
            match argument {
                #(#arms)*
                _ => ::std::result::Result::Ok(::cofferdam_guest::CompletionResult::new()),
            }
        }
    }
}
