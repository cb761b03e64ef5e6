//! Cases in TOON. Every one must equal the reference crate's output for the tree of the fragments,
//! and decode to that tree. A plain one must also give the recorded text.

use context_runtime::{Number, RenderOptions, renderer as by_name};
use serde_json::Value;

use crate::judge::Difference;
use crate::plain::{Plain, Rules, document};
use crate::render::Input;

pub(crate) fn check(input: &Input, expected: Option<&str>) -> Result<String, Difference> {
    let toon = by_name("toon", RenderOptions::new().group(input.group))
        .ok_or_else(|| Difference::new("has a renderer", "toon", "none"))?;
    let ours = toon
        .render(&input.fragments)
        .map_err(|error| Difference::new("renders", "a text", error))?;
    if let Some(expected) = expected.filter(|expected| *expected != ours) {
        return Err(Difference::new("equal", expected, ours));
    }
    let tree = json(&document(&input.fragments, Rules { group: input.group, untrusted: false }));
    let theirs = toon_format::encode_default(&tree)
        .map_err(|error| Difference::new("the reference writes it", "a text", error))?;
    if ours != theirs {
        return Err(Difference::new("equal to what the reference writes", theirs, ours));
    }
    let read: Value = toon_format::decode_default(&ours)
        .map_err(|error| Difference::new("decodes", error, &ours))?;
    if !same(&read, &tree) {
        return Err(Difference::new("decodes to the same tree", tree, ours));
    }
    Ok("sound: as the reference writes it, decodes to the same tree".into())
}

fn json(plain: &Plain) -> Value {
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

/// TOON has one number type.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
