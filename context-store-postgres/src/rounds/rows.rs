//! Nodes, their changes and earlier versions as columns. If columns cannot show all of a value, it
//! is also stored in exact form.

use std::borrow::Cow;

use context_core::trajectory::{
    Changes, FieldForm, FieldValue, Measures, RoundRef, TrajectoryNode, TrajectoryNodeKind, Version,
};
use serde::Serialize;

use crate::checksums::rounds as checksums;
use crate::values::display;

/// Serializes a value as JSON.
pub(crate) fn printed(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts, numbers and times print as JSON")
}

/// A node as the columns of its table.
pub(crate) struct NodeRow<'a> {
    pub(crate) ordinal: i64,
    pub(crate) label: Cow<'a, str>,
    pub(crate) description: Cow<'a, str>,
    pub(crate) created_at: i64,
    pub(crate) author: Option<Cow<'a, str>>,
    pub(crate) measures: Option<Cow<'a, str>>,
    /// The node without its rows in other tables, if the columns cannot show all of it.
    pub(crate) exact: Option<Vec<u8>>,
    pub(crate) fields: Vec<Cow<'a, str>>,
}

impl<'a> NodeRow<'a> {
    pub(crate) fn of(node: &'a TrajectoryNode) -> Self {
        let mut all_shown = true;
        let label = displayed(&mut all_shown, display::text(&node.label), &node.label);
        let description =
            displayed(&mut all_shown, display::text(&node.description), &node.description);
        let author = node
            .author
            .as_deref()
            .map(|author| displayed(&mut all_shown, display::text(author), author));
        let measures = node.measures.as_ref().map(|measures| {
            let json = printed(measures);
            Cow::Owned(displayed(&mut all_shown, display::json(&json), &json).into_owned())
        });
        let values = node.body.iter().map(|(_, value)| field(value, &mut all_shown)).collect();
        let exact = (!all_shown).then(|| {
            let mut node = node.clone();
            node.versions.clear();
            node.messages.clear();
            printed(&node).into_bytes()
        });
        Self {
            ordinal: i64::from(node.id.ordinal),
            label,
            description,
            created_at: node.created_at.as_micros(),
            author,
            measures,
            exact,
            fields: values,
        }
    }

    /// Returns the checksums of its columns.
    pub(crate) fn sums(&self, round: &RoundRef, kind: TrajectoryNodeKind) -> Vec<u8> {
        let place = (round, kind, self.ordinal);
        let (author, exact) = (self.author.as_deref(), self.exact.as_deref());
        let mut all = checksums::node(place, &self.label, self.created_at, author, exact).to_vec();
        all.extend(checksums::part(place, "description", Some(&self.description)));
        all.extend(checksums::part(place, "measures", self.measures.as_deref()));
        for (field, value) in kind.fields().iter().zip(&self.fields) {
            all.extend(checksums::part(place, field.name, Some(value)));
        }
        all
    }
}

/// Returns the shown form of a text, and records whether it equals the text.
fn displayed<'a>(all: &mut bool, shown: Cow<'a, str>, whole: &str) -> Cow<'a, str> {
    *all &= *shown == *whole;
    shown
}

/// Returns a value of a field as the text of its column.
fn field<'a>(value: &'a FieldValue, all_shown: &mut bool) -> Cow<'a, str> {
    match value {
        FieldValue::Text(text) => displayed(all_shown, display::text(text), text),
        FieldValue::Flag(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        FieldValue::Json(json) => displayed(all_shown, display::json(json.as_str()), json.as_str()),
        other => Cow::Owned(other.to_json().as_str().to_owned()),
    }
}

/// New values of a node as the columns of a table.
pub(crate) struct ChangeRow<'a> {
    pub(crate) ordinal: i64,
    pub(crate) description: Option<Cow<'a, str>>,
    pub(crate) measures: Option<Cow<'a, str>>,
    pub(crate) fields: Vec<Option<Cow<'a, str>>>,
    /// Whether the columns show all of them.
    pub(crate) shown: bool,
}

impl<'a> ChangeRow<'a> {
    /// Returns the row, or `None` if a node of this kind cannot have these changes.
    pub(crate) fn of(kind: TrajectoryNodeKind, ordinal: u32, changes: &'a Changes) -> Option<Self> {
        let mut row = Self {
            ordinal: i64::from(ordinal),
            description: None,
            measures: None,
            fields: vec![None; kind.fields().len()],
            shown: true,
        };
        for (name, value) in changes.iter() {
            match kind.field(name) {
                Some(at) => {
                    let value = of_form(kind.fields()[at].form, value)?;
                    row.fields[at] = Some(match value {
                        Cow::Borrowed(value) => field(value, &mut row.shown),
                        Cow::Owned(value) => Cow::Owned(field(&value, &mut row.shown).into_owned()),
                    });
                }
                None if name == Measures::FIELD => {
                    row.measures = Some(field(value, &mut row.shown))
                }
                None if name == "description" => {
                    let value = of_form(FieldForm::Text, value)?;
                    row.description = Some(Cow::Owned(field(&value, &mut row.shown).into_owned()));
                }
                None => return None,
            }
        }
        Some(row)
    }
}

/// Converts a value to the form of its field. A value that was read from JSON is a JSON value.
fn of_form(form: FieldForm, value: &FieldValue) -> Option<Cow<'_, FieldValue>> {
    Some(match (form, value) {
        (FieldForm::Text, FieldValue::Text(_))
        | (FieldForm::Flag, FieldValue::Flag(_))
        | (FieldForm::Json, FieldValue::Json(_)) => Cow::Borrowed(value),
        (FieldForm::Json, value) => Cow::Owned(FieldValue::Json(value.to_json())),
        (FieldForm::Text, FieldValue::Json(json)) => Cow::Owned(FieldValue::from(json.to_text()?)),
        (FieldForm::Flag, FieldValue::Json(json)) => {
            Cow::Owned(FieldValue::Flag(json.parse().ok()?))
        }
        _ => return None,
    })
}

/// An earlier version of a node, as the columns of its table.
pub(crate) struct VersionRow<'a> {
    pub(crate) ordinal: i64,
    pub(crate) version: &'a Version,
    pub(crate) author: Option<Cow<'a, str>>,
    pub(crate) was: String,
    /// The version in exact form, if the columns cannot show all of it.
    pub(crate) exact: Option<Vec<u8>>,
}

impl<'a> VersionRow<'a> {
    pub(crate) fn of(ordinal: u32, version: &'a Version) -> Self {
        let mut all_shown = true;
        let author = version
            .author
            .as_deref()
            .map(|author| displayed(&mut all_shown, display::text(author), author));
        let json = printed(&version.previous);
        let was = displayed(&mut all_shown, display::json(&json), &json).into_owned();
        let exact = (!all_shown).then(|| printed(version).into_bytes());
        Self { ordinal: i64::from(ordinal), version, author, was, exact }
    }

    /// Returns its checksum.
    pub(crate) fn sum(&self, round: &RoundRef) -> Vec<u8> {
        let place = (self.ordinal, i64::from(self.version.number));
        let at = self.version.at.as_micros();
        checksums::version(
            round,
            place,
            at,
            self.author.as_deref(),
            &self.was,
            self.exact.as_deref(),
        )
        .to_vec()
    }
}
