//! What stands in the parentheses of `#[tool(…)]`.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Expr, LitBool, LitStr, Result};

/// The options of one tool. A value that is absent is left to the function.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) task: Task,
    pub(crate) hints: Hints,
    pub(crate) schema: Option<Expr>,
    pub(crate) output_schema: Option<Expr>,
    pub(crate) meta: Option<Expr>,
}

/// The hints that were given.
#[derive(Default)]
pub(crate) struct Hints {
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    #[default]
    None,
    Optional,
    Required,
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.set(&meta)).parse2(tokens)?;
        Ok(options)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let Some(key) = meta.path.get_ident() else {
            return Err(meta.error("unknown option"));
        };
        match key.to_string().as_str() {
            "name" => self.name = Some(name(meta.value()?.parse()?)?),
            "title" => self.title = Some(meta.value()?.parse()?),
            "description" => self.description = Some(meta.value()?.parse()?),
            "task" => self.task = task(&meta.value()?.parse()?)?,
            "read_only" => self.hints.read_only = Some(flag(meta)?),
            "destructive" => self.hints.destructive = Some(flag(meta)?),
            "idempotent" => self.hints.idempotent = Some(flag(meta)?),
            "open_world" => self.hints.open_world = Some(flag(meta)?),
            "schema" => self.schema = Some(meta.value()?.parse()?),
            "output_schema" => self.output_schema = Some(meta.value()?.parse()?),
            "meta" => self.meta = Some(meta.value()?.parse()?),
            _ => {
                return Err(meta.error(
                    "unknown option: expected name, title, description, task, read_only, destructive, idempotent, \
                     open_world, schema, output_schema or meta",
                ));
            }
        }
        Ok(())
    }
}

/// `key` alone means true.
pub(crate) fn flag(meta: &ParseNestedMeta<'_>) -> Result<bool> {
    if meta.input.peek(syn::Token![=]) {
        Ok(meta.value()?.parse::<LitBool>()?.value)
    } else {
        Ok(true)
    }
}

fn task(text: &LitStr) -> Result<Task> {
    match text.value().as_str() {
        "none" => Ok(Task::None),
        "optional" => Ok(Task::Optional),
        "required" => Ok(Task::Required),
        _ => Err(syn::Error::new(
            text.span(),
            "expected \"none\", \"optional\" or \"required\"",
        )),
    }
}

/// A tool's or a prompt's name, checked.
pub(crate) fn name(text: LitStr) -> Result<LitStr> {
    let value = text.value();
    let fits = (1..=128).contains(&value.len())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    if fits {
        Ok(text)
    } else {
        Err(syn::Error::new(
            text.span(),
            "a name is 1 to 128 of A-Z a-z 0-9 _ - .",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn refusal(tokens: TokenStream) -> String {
        crate::refusal(Options::parse(tokens))
    }

    #[test]
    fn options_are_read() {
        let options = Options::parse(quote!(
            name = "a.b",
            task = "required",
            read_only,
            open_world = false
        ))
        .unwrap();
        assert_eq!(options.name.unwrap().value(), "a.b");
        assert_eq!(options.task, Task::Required);
        assert_eq!(options.hints.read_only, Some(true));
        assert_eq!(options.hints.open_world, Some(false));
        assert_eq!(options.hints.idempotent, None);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refusal(quote!(readonly)).starts_with("unknown option: expected name"));
        assert!(refusal(quote!(task = "maybe")).contains("\"optional\""));
        assert!(refusal(quote!(name = "a b")).contains("A-Z"));
        assert!(refusal(quote!(name = "")).contains("1 to 128"));
        assert!(refusal(quote!(read_only = 1)).contains("boolean"));
    }
}
