//! What a node holds: a value for each field of its kind.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Field, FieldForm, NodeKind, TrajectoryError};
use crate::Json;
use crate::base::JsonMap;

/// What a field of a node holds. `Debug` shows no content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldValue {
    /// Text.
    Text(Arc<str>),
    /// Yes or no.
    Flag(bool),
    /// JSON, as it was written.
    Json(Json),
}

impl FieldValue {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(&**text),
            Self::Flag(flag) => {
                Json::from_text(if *flag { "true" } else { "false" }).expect("a literal is JSON")
            }
            Self::Json(json) => json.clone(),
        }
    }

    /// How many bytes it is long.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Flag(_) => 1,
            Self::Json(json) => json.as_str().len(),
        }
    }

    /// What JSON is as a field of this form; nothing if it is of another.
    pub(super) fn read(form: FieldForm, json: &Json) -> Option<Self> {
        match form {
            FieldForm::Text => json.parse::<String>().ok().map(|text| Self::Text(text.into())),
            FieldForm::Flag => json.parse().ok().map(Self::Flag),
            FieldForm::Json => Some(Self::Json(json.compact())),
        }
    }

    fn form(&self) -> FieldForm {
        match self {
            Self::Text(_) => FieldForm::Text,
            Self::Flag(_) => FieldForm::Flag,
            Self::Json(_) => FieldForm::Json,
        }
    }
}

impl fmt::Debug for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            other => write!(f, "{} bytes of {}", other.bytes(), other.form().as_str()),
        }
    }
}

impl Serialize for FieldValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Json(json) => json.serialize(serializer),
        }
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        // Most texts of most nodes are empty, and all empty ones are one.
        Self::Text(if text.is_empty() { Arc::default() } else { text.into() })
    }
}

impl From<String> for FieldValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for FieldValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<Json> for FieldValue {
    fn from(json: Json) -> Self {
        Self::Json(json.compact())
    }
}

impl From<serde_json::Value> for FieldValue {
    fn from(value: serde_json::Value) -> Self {
        Self::Json(value.into())
    }
}

/// What fields hold that are not given, by kind, in the order of the table. All nodes share them.
static DEFAULTS: LazyLock<[Box<[Option<FieldValue>]>; NodeKind::ALL.len()]> = LazyLock::new(|| {
    let read = |field: &Field| {
        let json = Json::from_text(field.default?).expect("defaults are JSON");
        Some(FieldValue::read(field.form, &json).expect("defaults are of their form"))
    };
    NodeKind::ALL.map(|kind| kind.fields().iter().map(read).collect())
});

/// What a node holds. Fields and their meaning are in [`NodeKind::fields`]; those not given are
/// what the table says.
///
/// ```
/// use context_core::trajectory::{NodeBody, NodeKind, TrajectoryError};
///
/// let script = NodeBody::script("SELECT 1", "sql").with("path", "check.sql")?;
/// assert_eq!((script.kind(), script.text("script_content")), (NodeKind::Script, "SELECT 1"));
/// assert!(NodeBody::script("SELECT 1", "sql").with("colour", "red").is_err()); // no such field
/// # Ok::<(), TrajectoryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBody {
    kind: NodeKind,
    /// In the order of the table.
    values: Box<[FieldValue]>,
}

impl NodeBody {
    /// A node of this kind, from JSON by name. Refuses unknown fields, missing ones, and those of
    /// another form.
    pub fn new(kind: NodeKind, fields: &JsonMap) -> Result<Self, TrajectoryError> {
        let mut values: Vec<Option<FieldValue>> = vec![None; kind.fields().len()];
        for (name, json) in fields {
            let (at, value) = read(kind, name, json)?;
            values[at] = Some(value);
        }
        Self::complete(kind, values)
    }

    /// A node of this kind, from values in the order of its fields, as stores have them; none
    /// stands for what the table says.
    pub fn from_values(
        kind: NodeKind,
        values: impl IntoIterator<Item = Option<FieldValue>>,
    ) -> Result<Self, TrajectoryError> {
        let values: Vec<_> = values.into_iter().collect();
        if values.len() != kind.fields().len() {
            let what = format!("a {kind} of {} fields", values.len());
            return Err(TrajectoryError::Damaged { what });
        }
        for (field, value) in kind.fields().iter().zip(&values) {
            if value.as_ref().is_some_and(|value| value.form() != field.form) {
                return Err(wrong_form(kind, field));
            }
        }
        Self::complete(kind, values)
    }

    fn complete(kind: NodeKind, values: Vec<Option<FieldValue>>) -> Result<Self, TrajectoryError> {
        let defaults = DEFAULTS[kind as usize].iter();
        let filled =
            kind.fields().iter().zip(values).zip(defaults).map(|((field, value), default)| {
                let value = value.or_else(|| default.clone());
                value.ok_or(TrajectoryError::MissingField { kind, field: field.name })
            });
        Ok(Self { kind, values: filled.collect::<Result<_, _>>()? })
    }

    fn of<const N: usize>(kind: NodeKind, first: [FieldValue; N]) -> Self {
        let rest = kind.fields().len() - N;
        let values = first.into_iter().map(Some).chain(std::iter::repeat_n(None, rest));
        Self::complete(kind, values.collect()).expect("what must be given stands first")
    }

    /// A question.
    pub fn query(text: impl Into<Arc<str>>) -> Self {
        Self::of(NodeKind::Query, [FieldValue::Text(text.into())])
    }

    /// A conclusion.
    pub fn state(content: impl Into<Arc<str>>) -> Self {
        Self::of(NodeKind::State, [FieldValue::Text(content.into())])
    }

    /// An action: the name of a tool and what it is called with, an object. Its output is to come.
    pub fn action(name: impl Into<Arc<str>>, params: impl Into<Json>) -> Self {
        Self::of(
            NodeKind::Action,
            [FieldValue::Text(name.into()), FieldValue::Json(params.into().compact())],
        )
    }

    /// An answer.
    pub fn response(text: impl Into<Arc<str>>) -> Self {
        Self::of(NodeKind::Response, [FieldValue::Text(text.into())])
    }

    /// A piece of knowledge, and of which sort it is.
    pub fn knowledge(sort: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self::of(
            NodeKind::Knowledge,
            [FieldValue::Text(sort.into()), FieldValue::Text(content.into())],
        )
    }

    /// A tool: what it takes and what it returns.
    pub fn tool(params: impl Into<Json>, returns: impl Into<Json>) -> Self {
        let both = [params.into(), returns.into()];
        Self::of(NodeKind::Tool, both.map(|json| FieldValue::Json(json.compact())))
    }

    /// A table in a file.
    pub fn table(path: impl Into<Arc<str>>) -> Self {
        Self::of(NodeKind::Table, [FieldValue::Text(path.into())])
    }

    /// A column of a table, which is named by its label.
    pub fn column(table: impl Into<Arc<str>>) -> Self {
        Self::of(NodeKind::Column, [FieldValue::Text(table.into())])
    }

    /// A file.
    pub fn file(path: impl Into<Arc<str>>) -> Self {
        Self::of(NodeKind::File, [FieldValue::Text(path.into())])
    }

    /// A program and its language.
    pub fn script(content: impl Into<Arc<str>>, language: impl Into<Arc<str>>) -> Self {
        Self::of(
            NodeKind::Script,
            [FieldValue::Text(content.into()), FieldValue::Text(language.into())],
        )
    }

    /// A skill: the folder it is in.
    pub fn skill(path: impl Into<Arc<str>>) -> Self {
        Self::of(NodeKind::Skill, [FieldValue::Text(path.into())])
    }

    /// With another value of a field.
    pub fn with(
        mut self,
        name: &str,
        value: impl Into<FieldValue>,
    ) -> Result<Self, TrajectoryError> {
        let (at, value) = accept(self.kind, name, value.into())?;
        self.values[at] = value;
        Ok(self)
    }

    /// The kind.
    pub fn kind(&self) -> NodeKind {
        self.kind
    }

    /// One value.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.kind.field(name).map(|at| &self.values[at])
    }

    /// The text of a field; empty if there is no such field, or it is no text.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(FieldValue::as_text).unwrap_or_default()
    }

    /// The text that says most of it: the question, the conclusion, the name of the tool, the path,
    /// and so on.
    pub fn headline(&self) -> &str {
        match self.kind {
            NodeKind::Knowledge => self.text("knowledge_content"),
            kind => kind.fields().first().map_or("", |field| self.text(field.name)),
        }
    }

    /// Fields and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Field, &FieldValue)> {
        self.kind.fields().iter().zip(&self.values)
    }

    /// How many bytes it has together.
    pub fn bytes(&self) -> usize {
        self.values.iter().map(FieldValue::bytes).sum()
    }

    pub(super) fn replace(&mut self, at: usize, value: FieldValue) -> FieldValue {
        std::mem::replace(&mut self.values[at], value)
    }
}

impl Serialize for NodeBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.values.len()))?;
        for (field, value) in self.iter() {
            map.serialize_entry(field.name, value)?;
        }
        map.end()
    }
}

fn wrong_form(kind: NodeKind, field: &'static Field) -> TrajectoryError {
    TrajectoryError::WrongForm { kind, field: field.name, expected: field.form.as_str() }
}

fn place(kind: NodeKind, name: &str) -> Result<usize, TrajectoryError> {
    kind.field(name).ok_or_else(|| TrajectoryError::UnknownField { kind, field: name.into() })
}

/// A value read from JSON, and which field's it is.
fn read(kind: NodeKind, name: &str, json: &Json) -> Result<(usize, FieldValue), TrajectoryError> {
    let at = place(kind, name)?;
    let field = &kind.fields()[at];
    match FieldValue::read(field.form, json) {
        Some(value) => Ok((at, value)),
        None if json.as_str() == "null" => {
            Err(TrajectoryError::MissingField { kind, field: field.name })
        }
        None => Err(wrong_form(kind, field)),
    }
}

/// A value of the right form for a field: text is also JSON.
pub(super) fn accept(
    kind: NodeKind,
    name: &str,
    value: FieldValue,
) -> Result<(usize, FieldValue), TrajectoryError> {
    let at = place(kind, name)?;
    let field = &kind.fields()[at];
    match (field.form, value) {
        // As it comes back from a store.
        (FieldForm::Json, FieldValue::Json(json)) => Ok((at, FieldValue::Json(json.compact()))),
        (form, value) if value.form() == form => Ok((at, value)),
        (FieldForm::Json, value) => Ok((at, FieldValue::Json(value.to_json()))),
        (_, FieldValue::Json(json)) => read(kind, name, &json),
        _ => Err(wrong_form(kind, field)),
    }
}
