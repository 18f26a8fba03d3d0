//! Tests of [`crate::question`].

use crate::question::{Body, Form, Kind, Question};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn form(schema: &Value) -> Form {
    let request = json!({"method": "elicitation/create", "params": {"message": "m", "requestedSchema": schema}});
    match Question::read("key", &request).expect("a question").body {
        Body::Form(form) => form,
        Body::Visit(page) => panic!("{page:?}"),
    }
}

fn kind(schema: Value) -> Kind {
    form(&json!({"type": "object", "properties": {"x": schema}}))
        .fields
        .remove(0)
        .kind
}

fn titles(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::One(choices) | Kind::Many(choices) => {
            choices.iter().map(|it| it.title.clone()).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn each_shape_of_the_specification_has_its_prompt() {
    assert_eq!(kind(json!({"type": "string"})), Kind::Text);
    assert_eq!(kind(json!({"type": "integer"})), Kind::Text);
    assert_eq!(kind(json!({"type": "boolean"})), Kind::YesNo);
    let titled = [
        json!({"type": "string", "enum": ["a", "b"], "enumNames": ["One", "Two"]}),
        json!({"type": "string", "oneOf": [{"const": "a", "title": "One"}, {"const": "b", "title": "Two"}]}),
    ];
    for schema in titled {
        let kind = kind(schema);
        assert!(matches!(kind, Kind::One(_)));
        assert_eq!(titles(&kind), ["One", "Two"]);
    }
    assert_eq!(
        titles(&kind(json!({"type": "string", "enum": ["a"]}))),
        ["a"]
    );
    for items in [
        json!({"enum": ["a", "b"]}),
        json!({"anyOf": [{"const": "a"}, {"const": "b", "title": "b"}]}),
    ] {
        let kind = kind(json!({"type": "array", "items": items}));
        assert!(matches!(kind, Kind::Many(_)));
        assert_eq!(titles(&kind), ["a", "b"]);
    }
}

#[test]
fn values_are_checked_against_their_field() {
    let form = form(
        &json!({"type": "object", "required": ["mail"], "properties": {
            "mail": {"type": "string", "format": "email", "title": "E-mail"},
            "age": {"type": "integer", "minimum": 18, "default": 20},
            "pin": {"type": "string", "format": "password", "maxLength": 4},
            "key": {"type": "string", "writeOnly": true},
            "bad": {"type": "integer", "default": "x"},
        }}),
    );
    let [mail, age, pin, key, bad] = form.fields.as_slice() else {
        panic!("{form:?}")
    };
    assert!(mail.required && !age.required && mail.title == "E-mail");
    assert_eq!(mail.value("a@example.com"), Ok(json!("a@example.com")));
    mail.value("a").expect_err("no address");
    assert_eq!(age.value("18"), Ok(json!(18)));
    assert!(
        age.value("17")
            .expect_err("too young")
            .contains("at least 18")
    );
    assert!(age.value("x").expect_err("no number").contains("integer"));
    assert_eq!(age.default, Some(json!(20)));
    assert!(pin.secret && key.secret && !mail.secret);
    assert!(!pin.value("12345").expect_err("too long").contains("12345"));
    assert_eq!(bad.default, None, "a default that does not fit is none");
    form.accept(Map::new()).expect_err("one is missing");
}

#[test]
fn a_page_is_shown_as_what_it_is() {
    for (url, host, doubted) in [
        ("https://example.com/page", "example.com", false),
        ("https://example.com@evil.test/", "evil.test", true),
        ("http://example.com", "example.com", true),
        ("https://ex\u{e4}mple.com/", "xn--exmple-cua.com", true),
        ("javascript:alert(1)", "none", true),
    ] {
        let request = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "", "url": url}});
        let Body::Visit(page) = Question::read("k", &request).expect("a question").body else {
            panic!("{url}")
        };
        assert_eq!(
            (page.host.as_str(), page.doubt.is_some()),
            (host, doubted),
            "{url}"
        );
    }
}

#[test]
fn what_was_not_offered_is_refused() {
    for request in [
        json!({"method": "sampling/createMessage", "params": {}}),
        json!({"method": "roots/list"}),
        json!({}),
        json!({"method": "elicitation/create", "params": {"mode": "voice"}}),
        json!({"method": "elicitation/create", "params": {"mode": "url", "url": "no url"}}),
        json!({"method": "elicitation/create", "params": {}}),
    ] {
        Question::read("k", &request).expect_err(&request.to_string());
    }
}

proptest! {
    #[test]
    fn nothing_shown_can_steer_a_terminal(text in "[\\x00-\\x{a0}]{0,20}") {
        let request = json!({"method": "elicitation/create", "params": {
            "message": text,
            "requestedSchema": {"properties": {&text: {
                "type": "string", "title": text, "description": text, "enum": [text], "format": text,
            }}},
        }});
        let question = Question::read(&text, &request).expect("a question");
        let mut shown = question.describe() + &question.message;
        if let Body::Form(form) = &question.body {
            let field = &form.fields[0];
            shown += &field.title;
            shown += field.description.as_deref().unwrap_or_default();
            shown += &titles(&field.kind).concat();
        }
        prop_assert!(!shown.contains(|char: char| char.is_control() && char != '\n' && char != '\t'), "{:?}", shown);
    }
}
