//! From a package of WIT to a page of Markdown.
//!
//! Invariant: every interface, function and type is a heading, whose name is its anchor, and is in the
//! contents; a type of another heading is a link to it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, bail};
use wit_bindgen_core::wit_parser::{
    Docs, Function, Interface, PackageId, Resolve, Type, TypeDef, TypeDefKind, WorldItem, WorldKey,
};

const INTRODUCTION: &str = "\
<!-- Made of wit/ by `cargo xtask docs`: change that. -->

What a component and the host have of each other. Rust, JavaScript, Python and C have
[libraries](guests.md) over it; for another language, bindings are generated from [`wit/`](../wit/).
";

/// The page.
pub(super) fn of(resolve: &Resolve, package: PackageId) -> Result<String> {
    let Some(package) = resolve.packages.get(package) else {
        bail!("no package")
    };
    let page = Page { resolve };
    let interfaces = package.interfaces.values();
    let interfaces: Vec<_> = interfaces
        .filter_map(|id| resolve.interfaces.get(*id))
        .collect();
    let mut text = format!("# The contract: `{}`\n\n{INTRODUCTION}", package.name);
    for world in package
        .worlds
        .values()
        .filter_map(|id| resolve.worlds.get(*id))
    {
        write!(
            text,
            "\n## World `{}`\n\n{}\n",
            world.name,
            whole(&world.docs)
        )?;
        for (verb, items) in [("imports", &world.imports), ("exports", &world.exports)] {
            let names: Vec<_> = items
                .iter()
                .filter_map(|(key, item)| page.interface_name(key, item))
                .map(|name| format!("[`{name}`](#interface-{name})"))
                .collect();
            write!(text, "\n* {verb} {}", names.join(", "))?;
        }
        text.push('\n');
    }
    text.push_str("\n## Contents\n\n");
    let mut anchors = BTreeSet::new();
    for interface in &interfaces {
        text.push_str(&page.contents(interface, &mut anchors)?);
    }
    for interface in interfaces {
        text.push_str(&page.interface(interface)?);
    }
    Ok(text)
}

struct Page<'r> {
    resolve: &'r Resolve,
}

impl<'r> Page<'r> {
    fn interface_name(&self, key: &WorldKey, item: &WorldItem) -> Option<&'r str> {
        let (WorldKey::Interface(_), WorldItem::Interface { id, .. }) = (key, item) else {
            return None;
        };
        self.resolve.interfaces.get(*id)?.name.as_deref()
    }

    /// The types that an interface has of its own, not those that it uses.
    fn types(&self, interface: &'r Interface) -> Vec<(&'r str, &'r TypeDef)> {
        let types = interface.types.iter();
        types
            .filter_map(|(name, id)| Some((name.as_str(), self.resolve.types.get(*id)?)))
            .filter(|(name, it)| match it.kind {
                TypeDefKind::Type(Type::Id(other)) => {
                    let other = self.resolve.types.get(other);
                    other.and_then(|other| other.name.as_deref()) != Some(*name)
                }
                _ => true,
            })
            .collect()
    }

    fn contents(&self, interface: &'r Interface, anchors: &mut BTreeSet<String>) -> Result<String> {
        let name = interface.name.as_deref().unwrap_or_default();
        let mut text = format!("* [Interface `{name}`](#interface-{name})\n");
        let functions = interface.functions.keys().map(String::as_str).collect();
        let types = self
            .types(interface)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        for (kind, names) in [("functions", functions), ("types", types)] {
            let names: Vec<&str> = names;
            for name in &names {
                if !anchors.insert((*name).to_owned()) {
                    bail!("`{name}` stands for two things: their anchors would be one");
                }
            }
            let links: Vec<_> = names
                .iter()
                .map(|name| format!("[`{name}`](#{name})"))
                .collect();
            if !links.is_empty() {
                writeln!(text, "  * {kind}: {}", links.join(", "))?;
            }
        }
        Ok(text)
    }

    fn interface(&self, interface: &'r Interface) -> Result<String> {
        let name = interface.name.as_deref().unwrap_or_default();
        let mut text = format!("\n## Interface `{name}`\n\n{}\n", whole(&interface.docs));
        for function in interface.functions.values() {
            text.push_str(&self.function(function)?);
        }
        for (name, it) in self.types(interface) {
            write!(text, "\n### `{name}`\n\n{}", self.definition(it)?)?;
        }
        Ok(text)
    }

    fn function(&self, function: &Function) -> Result<String> {
        let name = &function.name;
        let parameters: Vec<_> = function
            .params
            .iter()
            .map(|it| format!("{}: {}", it.name, self.plain(&it.ty)))
            .collect();
        let mut text = format!(
            "\n### `{name}`\n\n```wit\n{name}: func({})",
            parameters.join(", ")
        );
        if let Some(result) = &function.result {
            write!(text, " -> {}", self.plain(result))?;
        }
        write!(text, "\n```\n\n{}\n", whole(&function.docs))?;
        let mut named = BTreeSet::new();
        let types = function
            .params
            .iter()
            .map(|it| &it.ty)
            .chain(&function.result);
        types.for_each(|it| self.named_in(it, &mut named));
        let links: Vec<_> = named
            .iter()
            .map(|name| format!("[`{name}`](#{name})"))
            .collect();
        if !links.is_empty() {
            writeln!(text, "\nTypes: {}", links.join(", "))?;
        }
        Ok(text)
    }

    /// A type, with its members in a table.
    fn definition(&self, it: &TypeDef) -> Result<String> {
        let mut text = String::new();
        let docs = whole(&it.docs);
        if !docs.is_empty() {
            write!(text, "{docs}\n\n")?;
        }
        let typed = |name: &str, ty: Option<&Type>, docs: &Docs| {
            let ty = ty.map(|it| self.linked(it)).unwrap_or_default();
            format!("| `{name}` | {ty} | {} |\n", in_a_row(docs))
        };
        let plain = |name: &str, docs: &Docs| format!("| `{name}` | {} |\n", in_a_row(docs));
        let (head, rows): (&str, String) = match &it.kind {
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter();
                let rows = fields.map(|it| typed(&it.name, Some(&it.ty), &it.docs));
                ("| record | type | |\n|---|---|---|", rows.collect())
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter();
                let rows = cases.map(|it| typed(&it.name, it.ty.as_ref(), &it.docs));
                ("| variant | type | |\n|---|---|---|", rows.collect())
            }
            TypeDefKind::Enum(cases) => {
                let rows = cases.cases.iter().map(|it| plain(&it.name, &it.docs));
                ("| enum | |\n|---|---|", rows.collect())
            }
            TypeDefKind::Flags(flags) => {
                let rows = flags.flags.iter().map(|it| plain(&it.name, &it.docs));
                ("| flags | |\n|---|---|", rows.collect())
            }
            TypeDefKind::Type(other) => {
                writeln!(text, "The same as `{}`.", self.plain(other))?;
                return Ok(text);
            }
            other => bail!("a {} is not told of yet", other.as_str()),
        };
        write!(text, "{head}\n{rows}")?;
        Ok(text)
    }

    /// A type as WIT writes it, a link if it has a name in it.
    fn linked(&self, ty: &Type) -> String {
        let mut named = BTreeSet::new();
        self.named_in(ty, &mut named);
        let text = self.plain(ty);
        match named.into_iter().collect::<Vec<_>>().as_slice() {
            [name] => format!("[`{text}`](#{name})"),
            _ => format!("`{text}`"),
        }
    }

    /// A type as WIT writes it.
    fn plain(&self, ty: &Type) -> String {
        let id = match ty {
            Type::Id(id) => id,
            Type::Bool => return "bool".to_owned(),
            Type::Char => return "char".to_owned(),
            Type::String => return "string".to_owned(),
            Type::ErrorContext => return "error-context".to_owned(),
            // Numbers are named as in Rust.
            number => return format!("{number:?}").to_lowercase(),
        };
        let Some(it) = self.resolve.types.get(*id) else {
            return String::new();
        };
        if let Some(name) = &it.name {
            return name.clone();
        }
        let part = |ty: &Option<Type>| ty.as_ref().map(|it| self.plain(it));
        let parts = match &it.kind {
            TypeDefKind::Option(inner) | TypeDefKind::List(inner) => vec![self.plain(inner)],
            TypeDefKind::Tuple(tuple) => tuple.types.iter().map(|it| self.plain(it)).collect(),
            TypeDefKind::Result(result) => match (part(&result.ok), part(&result.err)) {
                (None, None) => vec![],
                (ok, None) => vec![ok.unwrap_or_default()],
                (ok, Some(err)) => vec![ok.unwrap_or_else(|| "_".to_owned()), err],
            },
            _ => vec![],
        };
        let constructor = it.kind.as_str();
        if parts.is_empty() {
            constructor.to_owned()
        } else {
            format!("{constructor}<{}>", parts.join(", "))
        }
    }

    /// The names of types in it.
    fn named_in(&self, ty: &Type, names: &mut BTreeSet<&'r str>) {
        let Type::Id(id) = ty else { return };
        let Some(it) = self.resolve.types.get(*id) else {
            return;
        };
        if let Some(name) = &it.name {
            names.insert(name);
            return;
        }
        match &it.kind {
            TypeDefKind::Option(inner) | TypeDefKind::List(inner) => self.named_in(inner, names),
            TypeDefKind::Tuple(tuple) => tuple.types.iter().for_each(|it| self.named_in(it, names)),
            TypeDefKind::Result(result) => {
                let parts = result.ok.iter().chain(&result.err);
                parts.for_each(|it| self.named_in(it, names));
            }
            _ => {}
        }
    }
}

/// A comment in paragraphs.
fn whole(docs: &Docs) -> &str {
    docs.contents.as_deref().unwrap_or_default().trim()
}

/// A comment in the cell of a table.
fn in_a_row(docs: &Docs) -> String {
    let words: Vec<_> = whole(docs).split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
