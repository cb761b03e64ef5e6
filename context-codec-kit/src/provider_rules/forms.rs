//! Schemas of JSON values, parsed from a small language, and their validation.
//!
//! ```text
//! text = {type: "text", text: str, cache_control?: cache | null}     an object with these keys and no other
//! content = str | [text | image]                                    one of them; a list
//! labels = {*: str}                                                 an object with any keys
//! tool = {type: "search", ...}                                      an object with other keys too
//! ```
//!
//! Keywords of the language: `str`, `int`, `num`, `bool`, `null`, `any`, `base64`. A line that
//! begins with `#` is a comment.

mod parser;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Rule;
use super::body_path::{BodyPath, Findings};
use super::values::any_base64;

/// Schemas that refer to each other by name.
#[derive(Debug)]
pub(super) struct Forms {
    forms: Vec<Form>,
    names: HashMap<String, usize>,
}

#[derive(Debug)]
enum Form {
    Any,
    Text,
    Int,
    Number,
    Bool,
    Null,
    Base64,
    Literal(String),
    List(Box<Form>),
    Map(Box<Form>),
    Object { keys: Vec<Key>, open: bool },
    OneOf(Vec<Form>),
    Named(usize),
}

#[derive(Debug)]
struct Key {
    name: String,
    needed: bool,
    form: Form,
}

impl Forms {
    /// Parses a file of schemas. The file is part of this crate, so errors panic.
    pub(super) fn read(text: &str) -> Self {
        parser::forms(text)
    }

    /// Checks a value against the schema of this name.
    pub(super) fn check(
        &self,
        name: &str,
        value: &Value,
        at: &BodyPath<'_>,
        findings: &mut Findings,
    ) {
        let form = self.names.get(name).expect("a form that the file has");
        self.walk(&self.forms[*form], value, at, findings);
    }

    fn walk(&self, form: &Form, value: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
        match form {
            Form::Named(index) => self.walk(&self.forms[*index], value, at, findings),
            Form::OneOf(forms) => self.one_of(forms, value, at, findings),
            Form::List(item) => match value {
                Value::Array(values) => {
                    for (i, value) in values.iter().enumerate() {
                        self.walk(item, value, &at.item(i), findings);
                    }
                }
                _ => wrong(form, value, at, findings),
            },
            Form::Map(each) => match value {
                Value::Object(map) => {
                    for (key, value) in map {
                        self.walk(each, value, &at.key(key), findings);
                    }
                }
                _ => wrong(form, value, at, findings),
            },
            Form::Object { keys, open } => match value {
                Value::Object(map) => self.object(keys, *open, map, at, findings),
                _ => wrong(form, value, at, findings),
            },
            _ if leaf_fits(form, value) => {}
            _ => wrong(form, value, at, findings),
        }
    }

    fn object(
        &self,
        keys: &[Key],
        open: bool,
        map: &Map<String, Value>,
        at: &BodyPath<'_>,
        findings: &mut Findings,
    ) {
        for key in keys {
            match map.get(&key.name) {
                Some(value) => self.walk(&key.form, value, &at.key(&key.name), findings),
                None if key.needed => {
                    findings.add(Rule::Missing, &at.key(&key.name), "must be there")
                }
                None => {}
            }
        }
        for key in map.keys().filter(|name| !open && !keys.iter().any(|key| key.name == **name)) {
            findings.add(Rule::UnknownKey, &at.key(key), "no key of this object");
        }
    }

    /// Checks a value against alternatives. If none matches, reports the errors of the closest one.
    fn one_of(&self, forms: &[Form], value: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
        let mut meant: Vec<&Form> =
            forms.iter().filter(|form| self.may_be_meant(form, value)).collect();
        match meant.len() {
            0 => {
                let kind = value.get("type").or_else(|| value.get("role"));
                let said =
                    kind.map_or_else(|| short(value), |kind| format!("an object of kind {kind}"));
                findings.add(Rule::Type, at, format!("{said} may not be here"));
            }
            1 => self.walk(meant.remove(0), value, at, findings),
            _ => {
                let tries = meant.into_iter().map(|form| {
                    let mut findings = Findings::default();
                    self.walk(form, value, at, &mut findings);
                    findings
                });
                if let Some(best) = tries.min_by_key(Findings::len) {
                    findings.append(best);
                }
            }
        }
    }

    /// Whether a value looks like this schema was intended: its JSON type matches, and the `type`
    /// and `role` of an object match.
    fn may_be_meant(&self, form: &Form, value: &Value) -> bool {
        match form {
            Form::Named(index) => self.may_be_meant(&self.forms[*index], value),
            Form::OneOf(forms) => forms.iter().any(|form| self.may_be_meant(form, value)),
            Form::List(_) => value.is_array(),
            Form::Map(_) => value.is_object(),
            Form::Object { keys, .. } => {
                let says = |key: &&Key| matches!(key.name.as_str(), "type" | "role");
                let fits = |key: &Key| match value.get(&key.name) {
                    Some(value) => self.may_be_meant(&key.form, value),
                    None => !key.needed,
                };
                value.is_object() && keys.iter().filter(says).all(fits)
            }
            _ => leaf_fits(form, value),
        }
    }
}

fn leaf_fits(form: &Form, value: &Value) -> bool {
    match form {
        Form::Any => true,
        Form::Text => value.is_string(),
        Form::Int => value.is_i64() || value.is_u64(),
        Form::Number => value.is_number(),
        Form::Bool => value.is_boolean(),
        Form::Null => value.is_null(),
        Form::Base64 => value.as_str().is_some_and(any_base64),
        Form::Literal(literal) => value.as_str() == Some(literal),
        _ => false,
    }
}

fn wrong(form: &Form, value: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    let expected = match form {
        Form::Text => "a string".into(),
        Form::Int => "a whole number".into(),
        Form::Number => "a number".into(),
        Form::Bool => "a boolean".into(),
        Form::Null => "null".into(),
        Form::Base64 => "Base64".into(),
        Form::Literal(literal) => format!("{literal:?}"),
        Form::List(_) => "a list".into(),
        _ => "an object".to_owned(),
    };
    findings.add(Rule::Type, at, format!("must be {expected}, found {}", short(value)));
}

fn short(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "a list".into(),
        _ => value.to_string().chars().take(60).collect(),
    }
}
