//! Cases in TOML. A plain one must give the same text. Every one must be sound: a TOML parser reads
//! back the tree of the fragments, in order.
//!
//! The recordings come from a system with one number type, which writes whole numbers without a
//! fraction.

use context_runtime::{Fragment, FragmentData, Number, RenderOptions, renderer as by_name};
use toml::Value;

use crate::judge::Difference;
use crate::plain::{Plain, Rules, document};
use crate::render::Input;

pub(crate) fn check(input: &Input, expected: Option<&str>) -> Result<String, Difference> {
    let fragments: Vec<_> = input.fragments.iter().map(with_whole_numbers).collect();
    let toml = by_name("toml", RenderOptions::new().group(input.group))
        .ok_or_else(|| Difference::new("has a renderer", "toml", "none"))?;
    let ours =
        toml.render(&fragments).map_err(|error| Difference::new("renders", "a text", error))?;
    if let Some(expected) = expected.filter(|expected| *expected != ours) {
        return Err(Difference::new("equal", expected, ours));
    }
    let read = toml::from_str::<toml::Table>(&ours)
        .map_err(|error| Difference::new("parses as TOML", error, &ours))?;
    let wanted = match document(&fragments, Rules { group: input.group, untrusted: false }) {
        // TOML has no arrays at the top level.
        array @ Plain::Array(_) => Plain::Table(vec![("fragments".to_owned(), array)]),
        table => table,
    };
    let (read, wanted) = (plain(Value::Table(read)), sayable(wanted));
    if read != wanted {
        return Err(Difference::new("reads back as the same tree", format!("{wanted:?}"), &ours));
    }
    let equal = if expected.is_some() { "equal; " } else { "" };
    Ok(format!("{equal}sound: reads back as the same tree, order kept"))
}

fn with_whole_numbers(fragment: &Fragment) -> Fragment {
    match fragment.data() {
        Some(data) => fragment.clone().with_data(whole(data)),
        None => fragment.clone(),
    }
}

fn whole(data: &FragmentData) -> FragmentData {
    match data {
        FragmentData::Number(Number::Float(n)) if n.fract() == 0.0 && n.abs() < 1e15 => {
            (*n as i64).into()
        }
        FragmentData::Fragment(fragment) => with_whole_numbers(fragment).into(),
        FragmentData::List(list) => FragmentData::list(list.iter().map(whole)),
        FragmentData::Map(map) => {
            FragmentData::map(map.iter().map(|(key, value)| (key, whole(value))))
        }
        other => other.clone(),
    }
}

fn plain(value: Value) -> Plain {
    match value {
        Value::String(text) => Plain::Text(text),
        Value::Integer(n) => Plain::Number(n.into()),
        Value::Float(n) => Plain::Number(n.into()),
        Value::Boolean(value) => Plain::Bool(value),
        Value::Datetime(datetime) => {
            Plain::Text(format!("the date {datetime}, which nothing should write"))
        }
        Value::Array(items) => Plain::Array(items.into_iter().map(plain).collect()),
        Value::Table(table) => {
            Plain::Table(table.into_iter().map(|(key, value)| (key, plain(value))).collect())
        }
    }
}

/// TOML has no integers above `i64::MAX`. They are written as text.
fn sayable(plain: Plain) -> Plain {
    match plain {
        Plain::Number(Number::UInt(n)) => Plain::Text(n.to_string()),
        Plain::Array(items) => Plain::Array(items.into_iter().map(sayable).collect()),
        Plain::Table(entries) => {
            Plain::Table(entries.into_iter().map(|(key, value)| (key, sayable(value))).collect())
        }
        plain => plain,
    }
}
