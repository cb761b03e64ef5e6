//! The values of the rows of a round, in the order of their columns, and their checksums.

use context_core::store::RoundCommit;
use context_core::trajectory::{
    Edge, FieldValue, Measures, MessageLink, RoundHead, RoundRef, TrajectoryNode, Version,
};

use crate::checksums::Value;
use crate::checksums::rounds::{head_sum, rows_of};
use crate::error::{Fault, Result};
use crate::rounds::refusal::damaged;
use crate::sql::Statement;
use crate::values::numbers::signed;

/// Converts the value of a field.
pub(crate) fn value_of(value: Option<&FieldValue>) -> Value<'_> {
    match value {
        Some(FieldValue::Flag(flag)) => i64::from(*flag).into(),
        Some(FieldValue::Json(json)) => json.as_str().into(),
        other => other.and_then(FieldValue::as_text).into(),
    }
}

/// Returns measures as JSON.
pub(crate) fn measures_text(measures: Option<&Measures>) -> Result<Option<String>> {
    measures.map(serde_json::to_string).transpose().map_err(not_json)
}

fn not_json(_: serde_json::Error) -> Fault {
    damaged("a value cannot be written as JSON")
}

/// Returns the earlier values of a version as JSON.
pub(crate) fn was_text(version: &Version) -> Result<String> {
    serde_json::to_string(&version.previous).map_err(not_json)
}

/// Returns the columns of a version's row after the number of its round.
pub(crate) fn version_values<'v>(
    ordinal: u32,
    version: &'v Version,
    was: &'v str,
) -> [Value<'v>; 5] {
    let Version { number, at, author, .. } = version;
    [
        i64::from(ordinal).into(),
        i64::from(*number).into(),
        at.as_micros().into(),
        author.as_deref().into(),
        was.into(),
    ]
}

/// Returns the columns of a node's row after the number of its round.
pub(crate) fn node_values<'v>(
    node: &'v TrajectoryNode,
    measures: Option<&'v str>,
) -> impl Iterator<Item = Value<'v>> {
    let common: [Value<'v>; 6] = [
        i64::from(node.id.ordinal).into(),
        (&*node.label).into(),
        (&*node.description).into(),
        node.created_at.as_micros().into(),
        node.author.as_deref().into(),
        measures.into(),
    ];
    common.into_iter().chain(node.body.iter().map(|(_, value)| value_of(Some(value))))
}

/// Returns the columns of an edge's row after its position.
pub(crate) fn edge_values(edge: &Edge) -> [Value<'_>; 4] {
    [
        i64::from(edge.from.ordinal).into(),
        i64::from(edge.to.round).into(),
        i64::from(edge.to.ordinal).into(),
        (&*edge.name).into(),
    ]
}

/// Returns the columns of a link's row that its checksum covers.
pub(crate) fn link_values(ordinal: u32, position: usize, link: &MessageLink) -> [Value<'_>; 4] {
    [
        i64::from(ordinal).into(),
        signed(position).into(),
        link.chat.as_str().into(),
        link.message.as_str().into(),
    ]
}

/// Binds the values of a row of a round and their checksum.
pub(crate) fn bind_sealed<'q>(
    query: Statement<'q>,
    table: &str,
    round: &RoundRef,
    values: impl IntoIterator<Item = Value<'q>>,
) -> Statement<'q> {
    let (mut query, mut sum) = (query, rows_of(table, round));
    for value in values {
        sum = value.add_to(sum);
        query = value.bind(query);
    }
    query.bind(i64::from(sum.value()))
}

/// Binds the columns of a round's row that every commit writes, with their checksum.
pub(crate) fn bind_head<'q>(
    query: Statement<'q>,
    commit: &'q RoundCommit,
) -> Result<Statement<'q>> {
    let RoundHead { revision, state, title, nodes, created_at, updated_at, .. } = &commit.head;
    let revision =
        i64::try_from(*revision).map_err(|_| damaged("the round has too many commits"))?;
    let query = query.bind(revision).bind(commit.key.as_str()).bind(state.as_str()).bind(&**title);
    let query =
        query.bind(i64::from(*nodes)).bind(created_at.as_micros()).bind(updated_at.as_micros());
    let head = serde_json::to_string(&commit.head).map_err(not_json)?;
    let sum = head_sum(&head, commit.key.as_str());
    Ok(query.bind(head).bind(sum))
}
