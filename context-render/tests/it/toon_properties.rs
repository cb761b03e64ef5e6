//! Properties for every tree written as TOON: the output equals that of the `toon-format` crate for
//! the same tree, and that crate reads the tree back.

use context_conformance::renderer::{assert_reads_back, assert_renders_soundly, fragments};
use context_core::fragment::Number;
use context_core::{BoxError, Fragment, Renderer};
use context_render::ToonRenderer;
use proptest::prelude::*;
use serde_json::Value;

use crate::plain::{Plain, Rules, document};
use crate::rows::alike;

/// Returns the tree in the crate's form: TOON has no form for NaN and infinities.
pub(crate) fn json(plain: &Plain) -> Value {
    match plain {
        Plain::Bool(value) => Value::from(*value),
        Plain::Number(Number::Int(n)) => Value::from(*n),
        Plain::Number(Number::UInt(n)) => Value::from(*n),
        Plain::Number(Number::Float(n)) => Value::from(*n),
        Plain::Text(text) => Value::from(text.as_str()),
        Plain::Array(items) => items.iter().map(json).collect(),
        Plain::Table(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
    }
}

/// Returns whether two trees are equal. TOON has one kind of number, and rows have the columns in
/// the order of the first row.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64()))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

pub(crate) fn expected(fragments: &[Fragment], rules: Rules) -> Value {
    json(&document(fragments, rules))
}

/// Compares with the crate's output, for all fragments together and for each alone, and reads it
/// back.
pub(crate) fn check(fragments: &[Fragment], rules: Rules) {
    let toon = ToonRenderer::new().group(rules.group).untrusted(rules.untrusted);
    let all = std::iter::once(fragments);
    for fragments in all.chain(fragments.iter().map(std::slice::from_ref)) {
        let text = toon.render(fragments).expect("fragments of data");
        let expected_json = expected(fragments, rules);
        assert_eq!(text, toon_format::encode_default(&expected_json).expect("encodes"));
        let read =
            toon_format::decode_default(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(same(&read, &expected_json), "{text}\n{expected_json}\n{read}");
    }
}

/// Returns all values of a document, without its keys.
fn texts(prompt: &str) -> Result<Vec<String>, BoxError> {
    let read: Value = toon_format::decode_default(prompt)?;
    let (mut values, mut texts) = (vec![&read], Vec::new());
    while let Some(value) = values.pop() {
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(map) => values.extend(map.values()),
            Value::String(text) => texts.push(text.clone()),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => texts.push(Number::from(float).to_string()),
                _ => texts.push(number.to_string()),
            },
            other => texts.push(other.to_string()),
        }
    }
    Ok(texts)
}

#[test]
fn the_contract_is_kept() {
    for toon in [ToonRenderer::new(), ToonRenderer::new().group(true)] {
        // The format prescribes that every level is indented.
        assert_renders_soundly(&toon);
        assert_reads_back(&toon, &texts);
    }
}

proptest! {
    #[test]
    fn any_tree_is_as_the_crate_writes_it(fragments in fragments(), group: bool, untrusted: bool) {
        check(&fragments, Rules { group, untrusted });
    }

    #[test]
    fn rows_are_as_the_crate_writes_them(fragments in alike(), group: bool) {
        check(&fragments, Rules { group, untrusted: false });
    }
}
