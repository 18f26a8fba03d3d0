//! What a handler's parameters mean.

use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Ident, ItemFn, Pat, PatType, Result, ReturnType, Type};

/// A handler's signature, read.
pub(crate) struct Signature {
    /// Its first parameter is `&Call`.
    pub(crate) takes_call: bool,
    pub(crate) arguments: Arguments,
    /// What it returns.
    pub(crate) output: Type,
}

/// How it takes its arguments.
pub(crate) enum Arguments {
    /// One by one.
    Each(Vec<Parameter>),
    /// As one value of this type.
    Whole(Box<Type>),
}

/// One plain parameter.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) kind: Type,
    /// Documentation, and the other attributes that were let through.
    pub(crate) attributes: Vec<Attribute>,
}

impl Signature {
    /// Reads the signature, and takes the attributes, which are of these names, off the function's
    /// parameters, where the compiler would refuse them.
    pub(crate) fn take(function: &mut ItemFn, attributes: &[&str]) -> Result<Self> {
        let signature = &mut function.sig;
        if let Some(asyncness) = &signature.asyncness {
            return Err(syn::Error::new(
                asyncness.span(),
                "a handler is not async: its verbs wait by themselves",
            ));
        }
        if !signature.generics.params.is_empty() {
            return Err(syn::Error::new(
                signature.generics.span(),
                "a handler has no generic parameters",
            ));
        }
        let mut takes_call = false;
        let mut whole = None;
        let mut each = Vec::new();
        for (position, input) in signature.inputs.iter_mut().enumerate() {
            let input = match input {
                FnArg::Typed(input) => input,
                FnArg::Receiver(receiver) => {
                    return Err(syn::Error::new(
                        receiver.span(),
                        "a handler is a free function",
                    ));
                }
            };
            if is_call(&input.ty) {
                if position != 0 {
                    return Err(syn::Error::new(
                        input.span(),
                        "`&Call` is the first parameter",
                    ));
                }
                takes_call = true;
            } else if let Some(inner) = inside("Args", &input.ty) {
                if let Some(attribute) = input.attrs.first() {
                    return Err(syn::Error::new(
                        attribute.span(),
                        "attributes belong on the fields of the type in `Args`",
                    ));
                }
                whole = Some((input.span(), inner));
            } else {
                each.push(parameter(input, attributes)?);
            }
        }
        let arguments = match whole {
            None => Arguments::Each(each),
            Some((_, inner)) if each.is_empty() => Arguments::Whole(Box::new(inner)),
            Some((span, _)) => {
                return Err(syn::Error::new(
                    span,
                    "`Args` holds all arguments: no other parameter beside it",
                ));
            }
        };
        let output = match &signature.output {
            ReturnType::Default => syn::parse_quote!(()),
            ReturnType::Type(_, output) => (**output).clone(),
        };
        Ok(Self {
            takes_call,
            arguments,
            output,
        })
    }
}

impl Arguments {
    /// The parameters one by one, of a handler that cannot take them as one value.
    pub(crate) fn each(self) -> Result<Vec<Parameter>> {
        match self {
            Self::Each(parameters) => Ok(parameters),
            Self::Whole(inner) => Err(syn::Error::new(
                inner.span(),
                "`Args` is for tools: here each argument is a parameter",
            )),
        }
    }
}

fn parameter(input: &mut PatType, known: &[&str]) -> Result<Parameter> {
    let Pat::Ident(pattern) = &*input.pat else {
        return Err(syn::Error::new(
            input.pat.span(),
            "a parameter is a name: it becomes that of an argument",
        ));
    };
    if matches!(&*input.ty, Type::Reference(_)) {
        return Err(syn::Error::new(
            input.ty.span(),
            "arguments are owned: `String` rather than `&str`",
        ));
    }
    let attributes = std::mem::take(&mut input.attrs);
    for attribute in &attributes {
        if !known.iter().any(|known| attribute.path().is_ident(known)) {
            let (others, last) = known.split_at(known.len() - 1);
            return Err(syn::Error::new(
                attribute.span(),
                format!("only `{}` and `{}` work here", others.join("`, `"), last[0]),
            ));
        }
    }
    Ok(Parameter {
        name: pattern.ident.clone(),
        kind: (*input.ty).clone(),
        attributes,
    })
}

/// `&Call`, under any path.
fn is_call(kind: &Type) -> bool {
    match kind {
        Type::Reference(reference) => {
            last_segment(&reference.elem).is_some_and(|segment| segment.ident == "Call")
        }
        _ => false,
    }
}

/// `T` of a `Name<T>`, under any path.
pub(crate) fn inside(name: &str, kind: &Type) -> Option<Type> {
    let segment = last_segment(kind).filter(|segment| segment.ident == name)?;
    match &segment.arguments {
        syn::PathArguments::AngleBracketed(generics) => match generics.args.first() {
            Some(syn::GenericArgument::Type(inner)) => Some(inner.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn last_segment(kind: &Type) -> Option<&syn::PathSegment> {
    match kind {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;
    use syn::parse_quote;

    fn refusal(mut function: ItemFn) -> String {
        crate::refusal(Signature::take(&mut function, &["doc", "serde"]))
    }

    #[test]
    fn attributes_move_from_the_parameters() {
        let mut function: ItemFn = parse_quote! {
            fn f(call: &cofferdam_guest::Call, #[doc = "How many."] mut n: u32) -> String { String::new() }
        };
        let signature = Signature::take(&mut function, &["doc", "serde"]).unwrap();
        assert!(signature.takes_call);
        let Arguments::Each(parameters) = &signature.arguments else {
            panic!("not one by one")
        };
        assert_eq!(parameters[0].name, "n");
        assert_eq!(parameters[0].attributes.len(), 1);
        let FnArg::Typed(left) = &function.sig.inputs[1] else {
            panic!("no parameter")
        };
        assert!(left.attrs.is_empty());
    }

    #[test]
    fn args_is_the_whole() {
        let mut function: ItemFn = parse_quote!(
            fn f(Args(a): Args<T>) {}
        );
        let signature = Signature::take(&mut function, &["doc", "serde"]).unwrap();
        assert!(!signature.takes_call);
        let Arguments::Whole(inner) = &signature.arguments else {
            panic!("not the whole")
        };
        assert_eq!(inner.to_token_stream().to_string(), "T");
        assert_eq!(signature.output.to_token_stream().to_string(), "()");
    }

    #[test]
    fn mistakes_are_named() {
        assert!(
            refusal(parse_quote!(
                async fn f() {}
            ))
            .contains("not async")
        );
        assert!(
            refusal(parse_quote!(
                fn f<T>(t: T) {}
            ))
            .contains("generic")
        );
        assert!(
            refusal(parse_quote!(
                fn f(self) {}
            ))
            .contains("free function")
        );
        assert!(
            refusal(parse_quote!(
                fn f(a: u8, call: &Call) {}
            ))
            .contains("first")
        );
        assert!(
            refusal(parse_quote!(
                fn f(a: u8, Args(b): Args<T>) {}
            ))
            .contains("no other parameter")
        );
        assert!(
            refusal(parse_quote!(
                fn f((a, b): (u8, u8)) {}
            ))
            .contains("is a name")
        );
        assert!(
            refusal(parse_quote!(
                fn f(a: &str) {}
            ))
            .contains("owned")
        );
        assert!(
            refusal(parse_quote!(
                fn f(#[cfg(x)] a: u8) {}
            ))
            .contains("serde")
        );
    }
}
