//! The kinds of nodes, and the table of their fields. All code that stores, shows or checks nodes
//! uses this table.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::TrajectoryError;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TrajectoryNodeKind {
    /// The user's question, which starts a round.
    Query,
    /// A conclusion: a step of reasoning.
    State,
    /// A tool call.
    Action,
    /// An answer.
    Response,
    /// A piece of knowledge.
    Knowledge,
    /// A tool that was found or made.
    Tool,
    /// A table of data.
    Table,
    /// A column of a table.
    Column,
    /// A file.
    File,
    /// A program that was written.
    Script,
    /// A folder with instructions for a kind of task.
    Skill,
}

/// The form of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldForm {
    /// Text.
    Text,
    /// A boolean.
    Flag,
    /// Any JSON.
    Json,
}

impl FieldForm {
    /// Returns a human-readable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Flag => "true or false",
            Self::Json => "JSON",
        }
    }
}

/// A field of a kind of nodes.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// The name, which is also the column name in databases.
    pub name: &'static str,
    /// The form of the value.
    pub form: FieldForm,
    /// The default value as JSON. `None` if the field is required.
    pub default: Option<&'static str>,
    /// Alternative names that older programs have written.
    pub aliases: &'static [&'static str],
}

const fn field(name: &'static str, form: FieldForm, default: Option<&'static str>) -> Field {
    Field { name, form, default, aliases: &[] }
}

const fn text(name: &'static str) -> Field {
    field(name, FieldForm::Text, None)
}

const fn text_or_empty(name: &'static str) -> Field {
    field(name, FieldForm::Text, Some("\"\""))
}

const fn json_or(name: &'static str, default: &'static str) -> Field {
    field(name, FieldForm::Json, Some(default))
}

const fn with_aliases(mut field: Field, aliases: &'static [&'static str]) -> Field {
    field.aliases = aliases;
    field
}

const QUERY: &[Field] =
    &[text("query"), json_or("additional_files", "[]"), text_or_empty("raw_user_query")];
const STATE: &[Field] = &[
    with_aliases(text("content"), &["state"]),
    text_or_empty("reasoning_content"),
    text_or_empty("goal"),
    text_or_empty("belief"),
    text_or_empty("action_history"),
    text_or_empty("current_status"),
    text_or_empty("available_actions"),
    text_or_empty("feedback"),
    with_aliases(text_or_empty("uncertainty"), &["uncentainty"]),
];
const ACTION: &[Field] = &[
    text("action"),
    json_or("params", "{}"),
    json_or("output", "\"Pending\""),
    field("success", FieldForm::Flag, Some("false")),
];
const RESPONSE: &[Field] = &[text("response"), text_or_empty("reasoning_content")];
const KNOWLEDGE: &[Field] = &[text("knowledge_type"), text("knowledge_content")];
const TOOL: &[Field] = &[json_or("tool_params", "{}"), json_or("tool_returns", "{}")];
const TABLE: &[Field] = &[text("path"), text_or_empty("path_backup")];
const COLUMN: &[Field] =
    &[text("from_table"), json_or("values", "null"), json_or("supplementary_schemas", "{}")];
const FILE: &[Field] = &[text("path"), text_or_empty("source"), text_or_empty("path_backup")];
const SCRIPT: &[Field] = &[
    text("script_content"),
    text("script_type"),
    text_or_empty("path"),
    json_or("related_data_list", "[]"),
    text_or_empty("path_backup"),
];
const SKILL: &[Field] = &[text("path")];

impl TrajectoryNodeKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 11] = [
        Self::Query,
        Self::State,
        Self::Action,
        Self::Response,
        Self::Knowledge,
        Self::Tool,
        Self::Table,
        Self::Column,
        Self::File,
        Self::Script,
        Self::Skill,
    ];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::State => "State",
            Self::Action => "Action",
            Self::Response => "Response",
            Self::Knowledge => "Knowledge",
            Self::Tool => "Tool",
            Self::Table => "Table",
            Self::Column => "Column",
            Self::File => "File",
            Self::Script => "Script",
            Self::Skill => "Skill",
        }
    }

    /// Returns the name in lower case. It is the prefix of generated labels and the name of the
    /// database table.
    pub const fn lower(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::State => "state",
            Self::Action => "action",
            Self::Response => "response",
            Self::Knowledge => "knowledge",
            Self::Tool => "tool",
            Self::Table => "table",
            Self::Column => "column",
            Self::File => "file",
            Self::Script => "script",
            Self::Skill => "skill",
        }
    }

    /// Parses a kind in either spelling.
    pub fn from_name(name: &str) -> Result<Self, TrajectoryError> {
        let known =
            Self::ALL.into_iter().find(|kind| kind.as_str() == name || kind.lower() == name);
        known.ok_or_else(|| TrajectoryError::UnknownKind { name: name.into() })
    }

    /// Returns whether the kind is a computation (query, state, action, response) rather than data.
    pub const fn is_computation(self) -> bool {
        matches!(self, Self::Query | Self::State | Self::Action | Self::Response)
    }

    /// Returns the fields, in order.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Query => QUERY,
            Self::State => STATE,
            Self::Action => ACTION,
            Self::Response => RESPONSE,
            Self::Knowledge => KNOWLEDGE,
            Self::Tool => TOOL,
            Self::Table => TABLE,
            Self::Column => COLUMN,
            Self::File => FILE,
            Self::Script => SCRIPT,
            Self::Skill => SKILL,
        }
    }

    /// Returns the index of the field with this name or alias.
    pub fn field(self, name: &str) -> Option<usize> {
        self.fields().iter().position(|field| field.name == name || field.aliases.contains(&name))
    }
}

impl fmt::Display for TrajectoryNodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for TrajectoryNodeKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TrajectoryNodeKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::from_name(&name).map_err(serde::de::Error::custom)
    }
}
