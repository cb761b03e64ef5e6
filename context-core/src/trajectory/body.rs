//! The body of a node: a value for each field of its kind.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Field, FieldForm, TrajectoryError, TrajectoryNodeKind};
use crate::Json;
use crate::base::JsonMap;

/// The value of a field. `Debug` shows no content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldValue {
    /// Text.
    Text(Arc<str>),
    /// A boolean.
    Flag(bool),
    /// JSON, as it was written.
    Json(Json),
}

impl FieldValue {
    /// Returns the text, if this is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value as JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(&**text),
            Self::Flag(flag) => {
                Json::from_text(if *flag { "true" } else { "false" }).expect("a literal is JSON")
            }
            Self::Json(json) => json.clone(),
        }
    }

    /// Returns the length of the value in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Flag(_) => 1,
            Self::Json(json) => json.as_str().len(),
        }
    }

    /// Parses JSON as a value of this form. Returns `None` if the JSON has another form.
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
        // Most texts are empty, so all empty texts share one allocation.
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

/// The default values of fields, by kind, in table order. All nodes share them.
pub(super) static DEFAULTS: LazyLock<[Box<[Option<FieldValue>]>; TrajectoryNodeKind::ALL.len()]> =
    LazyLock::new(|| {
        let read = |field: &Field| {
            let json = Json::from_text(field.default?).expect("defaults are JSON");
            Some(FieldValue::read(field.form, &json).expect("defaults are of their form"))
        };
        TrajectoryNodeKind::ALL.map(|kind| kind.fields().iter().map(read).collect())
    });

/// The body of a node. [`TrajectoryNodeKind::fields`] defines the fields and their defaults.
///
/// ```
/// use context_core::trajectory::{NodeBody, TrajectoryNodeKind, TrajectoryError};
///
/// let script = NodeBody::script("SELECT 1", "sql").with("path", "check.sql")?;
/// assert_eq!((script.kind(), script.text("script_content")), (TrajectoryNodeKind::Script, "SELECT 1"));
/// assert!(NodeBody::script("SELECT 1", "sql").with("colour", "red").is_err()); // no such field
/// # Ok::<(), TrajectoryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBody {
    kind: TrajectoryNodeKind,
    /// In table order.
    values: Box<[FieldValue]>,
}

impl NodeBody {
    /// Creates a body from JSON values by field name. Refuses unknown fields, missing required
    /// fields, and values of another form.
    pub fn new(kind: TrajectoryNodeKind, fields: &JsonMap) -> Result<Self, TrajectoryError> {
        let mut values: Vec<Option<FieldValue>> = vec![None; kind.fields().len()];
        for (name, json) in fields {
            let (at, value) = read(kind, name, json)?;
            values[at] = Some(value);
        }
        Self::from_values(kind, values)
    }

    /// Creates a body from values in field order, as stores have them. `None` is replaced by the
    /// default.
    pub fn from_values(
        kind: TrajectoryNodeKind,
        values: impl IntoIterator<Item = Option<FieldValue>>,
    ) -> Result<Self, TrajectoryError> {
        let mut values = values.into_iter();
        let mut filled = Vec::with_capacity(kind.fields().len());
        for (field, default) in kind.fields().iter().zip(&DEFAULTS[kind as usize]) {
            let value = values.next().ok_or_else(|| wrong_number(kind, filled.len()))?;
            match value.or_else(|| default.clone()) {
                Some(value) if value.form() == field.form => filled.push(value),
                Some(_) => return Err(wrong_form(kind, field)),
                None => return Err(TrajectoryError::MissingField { kind, field: field.name }),
            }
        }
        match values.count() {
            0 => Ok(Self { kind, values: filled.into_boxed_slice() }),
            more => Err(wrong_number(kind, filled.len() + more)),
        }
    }

    fn of<const N: usize>(kind: TrajectoryNodeKind, first: [FieldValue; N]) -> Self {
        let remaining = kind.fields().len() - N;
        let values = first.into_iter().map(Some).chain(std::iter::repeat_n(None, remaining));
        Self::from_values(kind, values).expect("required fields come first")
    }

    /// Creates a query body: the user's question.
    pub fn query(text: impl Into<Arc<str>>) -> Self {
        Self::of(TrajectoryNodeKind::Query, [FieldValue::Text(text.into())])
    }

    /// Creates a state body: a conclusion.
    pub fn state(content: impl Into<Arc<str>>) -> Self {
        Self::of(TrajectoryNodeKind::State, [FieldValue::Text(content.into())])
    }

    /// Creates an action body: a tool name and its parameters, an object. The output is set later.
    pub fn action(name: impl Into<Arc<str>>, params: impl Into<Json>) -> Self {
        Self::of(
            TrajectoryNodeKind::Action,
            [FieldValue::Text(name.into()), FieldValue::Json(params.into().compact())],
        )
    }

    /// Creates a response body.
    pub fn response(text: impl Into<Arc<str>>) -> Self {
        Self::of(TrajectoryNodeKind::Response, [FieldValue::Text(text.into())])
    }

    /// Creates a knowledge body from a sort and the content.
    pub fn knowledge(sort: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self::of(
            TrajectoryNodeKind::Knowledge,
            [FieldValue::Text(sort.into()), FieldValue::Text(content.into())],
        )
    }

    /// Creates a tool body from the tool's parameters and return value.
    pub fn tool(params: impl Into<Json>, returns: impl Into<Json>) -> Self {
        let both = [params.into(), returns.into()];
        Self::of(TrajectoryNodeKind::Tool, both.map(|json| FieldValue::Json(json.compact())))
    }

    /// Creates a table body from the path of its file.
    pub fn table(path: impl Into<Arc<str>>) -> Self {
        Self::of(TrajectoryNodeKind::Table, [FieldValue::Text(path.into())])
    }

    /// Creates a column body from the name of its table. The label of the node names the column.
    pub fn column(table: impl Into<Arc<str>>) -> Self {
        Self::of(TrajectoryNodeKind::Column, [FieldValue::Text(table.into())])
    }

    /// Creates a file body.
    pub fn file(path: impl Into<Arc<str>>) -> Self {
        Self::of(TrajectoryNodeKind::File, [FieldValue::Text(path.into())])
    }

    /// Creates a script body from a program and its language.
    pub fn script(content: impl Into<Arc<str>>, language: impl Into<Arc<str>>) -> Self {
        Self::of(
            TrajectoryNodeKind::Script,
            [FieldValue::Text(content.into()), FieldValue::Text(language.into())],
        )
    }

    /// Creates a skill body from the path of its folder.
    pub fn skill(path: impl Into<Arc<str>>) -> Self {
        Self::of(TrajectoryNodeKind::Skill, [FieldValue::Text(path.into())])
    }

    /// Sets the value of a field.
    pub fn with(
        mut self,
        name: &str,
        value: impl Into<FieldValue>,
    ) -> Result<Self, TrajectoryError> {
        let (at, value) = accept(self.kind, name, value.into())?;
        self.values[at] = value;
        Ok(self)
    }

    /// Returns the kind.
    pub fn kind(&self) -> TrajectoryNodeKind {
        self.kind
    }

    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.kind.field(name).map(|at| &self.values[at])
    }

    /// Returns the text of a field. Empty if the field does not exist or is not text.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(FieldValue::as_text).unwrap_or_default()
    }

    /// Returns the most descriptive text: the question, the conclusion, the tool name, the path,
    /// and so on.
    pub fn headline(&self) -> &str {
        match self.kind {
            TrajectoryNodeKind::Knowledge => self.text("knowledge_content"),
            kind => kind.fields().first().map_or("", |field| self.text(field.name)),
        }
    }

    /// Returns fields and values, in table order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Field, &FieldValue)> {
        self.kind.fields().iter().zip(&self.values)
    }

    /// Returns the total length of all values in bytes.
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

fn wrong_number(kind: TrajectoryNodeKind, fields: usize) -> TrajectoryError {
    TrajectoryError::Damaged { damage: format!("a {kind} of {fields} fields") }
}

fn wrong_form(kind: TrajectoryNodeKind, field: &'static Field) -> TrajectoryError {
    TrajectoryError::WrongForm { kind, field: field.name, expected: field.form.as_str() }
}

fn field_index(kind: TrajectoryNodeKind, name: &str) -> Result<usize, TrajectoryError> {
    kind.field(name).ok_or_else(|| TrajectoryError::UnknownField { kind, field: name.into() })
}

/// Parses the JSON value of a named field. Returns the field's index and value.
fn read(
    kind: TrajectoryNodeKind,
    name: &str,
    json: &Json,
) -> Result<(usize, FieldValue), TrajectoryError> {
    let at = field_index(kind, name)?;
    let field = &kind.fields()[at];
    match FieldValue::read(field.form, json) {
        Some(value) => Ok((at, value)),
        None if json.as_str() == "null" => {
            Err(TrajectoryError::MissingField { kind, field: field.name })
        }
        None => Err(wrong_form(kind, field)),
    }
}

/// Converts a value to the form of the named field. Text is accepted as JSON, too.
pub(super) fn accept(
    kind: TrajectoryNodeKind,
    name: &str,
    value: FieldValue,
) -> Result<(usize, FieldValue), TrajectoryError> {
    let at = field_index(kind, name)?;
    let field = &kind.fields()[at];
    match (field.form, value) {
        // Compacted, as a store returns it.
        (FieldForm::Json, FieldValue::Json(json)) => Ok((at, FieldValue::Json(json.compact()))),
        (form, value) if value.form() == form => Ok((at, value)),
        (FieldForm::Json, value) => Ok((at, FieldValue::Json(value.to_json()))),
        (_, FieldValue::Json(json)) => read(kind, name, &json),
        _ => Err(wrong_form(kind, field)),
    }
}
