//! Members of a request, read strictly, with refusals that say what is wrong with them.
//!
//! Invariant: what is read can be read in one way only. A key is there once, at any depth, since one
//! reader takes the first and another the last; so what the host checks is what a guest sees.

use super::envelope::read_text;
use super::error::RpcError;
use super::json::is_object;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// Most of a key that is told of, bytes.
const KEY_SHOWN: usize = 128;

/// Reads a member that must be an object.
///
/// # Errors
/// `-32602`: another kind of value, a key that is there twice, a number or a text that cannot be read.
pub fn object(member: &str, value: &RawValue) -> Result<Map<String, Value>, RpcError> {
    if !is_object(value) {
        return Err(refusal(format_args!("\"{member}\" must be an object")));
    }
    match serde_json::from_str(value.get()) {
        Ok(Unique(Value::Object(object))) => Ok(object),
        Ok(_) => Err(refusal(format_args!("\"{member}\" must be an object"))),
        Err(error) => Err(refusal(format_args!("\"{member}\": {error}"))),
    }
}

/// Reads a member that must be a string.
///
/// # Errors
/// `-32602`: another kind of value, or an escape that is no character.
pub fn string<'a>(member: &str, value: &'a RawValue) -> Result<Cow<'a, str>, RpcError> {
    read_text(value).map_err(|error| {
        if value.get().starts_with('"') {
            refusal(format_args!("\"{member}\": {error}"))
        } else {
            refusal(format_args!("\"{member}\" must be a string"))
        }
    })
}

fn refusal(what: fmt::Arguments<'_>) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: {what}"))
}

/// A value whose every key is there once.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            match object.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(members.next_value::<Unique>()?.0);
                }
                Entry::Occupied(place) => {
                    let key = place.key();
                    let key = &key[..key.floor_char_boundary(KEY_SHOWN)];
                    return Err(A::Error::custom(format_args!("duplicate key {key:?}")));
                }
            }
        }
        Ok(Value::Object(object))
    }
}

/// Any value that can be read: no number is out of range, no text has half a character. Nothing of it
/// is kept.
pub(super) struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadableVisitor)
    }
}

struct ReadableVisitor;

impl<'de> Visitor<'de> for ReadableVisitor {
    type Value = Readable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
        while items.next_element::<Readable>()?.is_some() {}
        Ok(Readable)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Readable, A::Error> {
        while members.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(Readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Map<String, Value>, String> {
        let raw = serde_json::from_str(text).unwrap();
        object("arguments", raw).map_err(|error| error.message.into_owned())
    }

    #[test]
    fn a_key_that_is_there_twice_is_named_at_any_depth() {
        for (text, named) in [
            (r#"{"number":5000,"number":5}"#, "\"number\""),
            (r#"{"a":[{"b":{"c":1,"d":2,"c":3}}]}"#, "\"c\""),
            (r#"{"a":1,"\u0061":2}"#, "\"a\""),
        ] {
            let error = read(text).unwrap_err();
            let wanted = format!("\"arguments\": duplicate key {named}");
            assert!(error.contains(&wanted), "{error}");
        }
        let long = "x".repeat(100_000);
        let error = read(&format!(r#"{{"{long}":1,"{long}":1}}"#)).unwrap_err();
        assert!(error.len() < 300, "{error}");
        assert!(read(r#"{"a":{"k":1},"b":{"k":1}}"#).is_ok());
    }

    #[test]
    fn what_cannot_be_read_is_no_wrong_kind() {
        for (text, reason) in [
            (r#"{"a":1e400}"#, "out of range"),
            (r#"{"a":"\ud800"}"#, "escape"),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.contains(reason) && !error.contains("object"),
                "{error}"
            );
            assert!(serde_json::from_str::<Readable>(text).is_err());
        }
        assert!(read("[]").unwrap_err().ends_with("must be an object"));
        let name = serde_json::from_str(r#""\udc00""#).unwrap();
        let error = string("name", name).unwrap_err().message;
        assert!(
            error.contains("\"name\": ") && error.contains("surrogate"),
            "{error}"
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_has_no_key_twice_is_read_as_ever(value in value()) {
            let text = format!(r#"{{"v":{value}}}"#);
            let expected: Map<String, Value> = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read(&text).unwrap(), expected);
            prop_assert!(serde_json::from_str::<Readable>(&text).is_ok());
        }
    }
}
