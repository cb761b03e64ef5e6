//! Reading rounds: one statement returns all rows of a range of rounds in any order, and this
//! module assembles them.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use context_core::trajectory::{
    AgentRef, Edge, FieldForm, FieldValue, MessageLink, NodeBody, NodeId, RoundHead, RoundRecord,
    RoundRef, TrajectoryError, TrajectoryNode, TrajectoryNodeKind, Version,
};
use context_core::{Json, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::checksums::rounds as checksums;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::sql::rounds as sql;
use crate::values::numbers::signed;
use crate::values::rows::text;

const BAD_HEAD: &str = "the head of a round cannot be read";
const BAD_NODE: &str = "a node of a round cannot be read";
const BAD_EDGE: &str = "an edge of a round cannot be read";
const BAD_VERSION: &str = "a version of a node cannot be read";
const BAD_MESSAGE: &str = "the message of a node cannot be read";

/// Returns the rounds of an agent, by number. Without a list of nodes, each has all nodes and
/// edges. With a list, each has only these nodes and no edges.
pub(crate) async fn load(
    session: &mut Session<'_>,
    agent: &AgentRef,
    rounds: &RangeInclusive<u32>,
    nodes: Option<&[i64]>,
) -> Result<Vec<RoundRecord>> {
    let query = session
        .query(&sql::LOAD)
        .bind(agent.user.as_str().as_bytes())
        .bind(agent.session.as_str().as_bytes())
        .bind(i64::from(agent.agent))
        .bind(i64::from(*rounds.start()))
        .bind(i64::from(*rounds.end()))
        .bind(nodes);
    let mut found: HashMap<i64, RoundRows> = HashMap::new();
    for row in session.all(query).await? {
        let round = agent.round(number(&row, 16, BAD_HEAD)?);
        found.entry(row.try_get(1)?).or_default().take(&round, &row)?;
    }
    let mut records = Vec::with_capacity(found.len());
    for rows in found.into_values() {
        records.push(if nodes.is_some() { rows.record()? } else { rows.into_record()? });
    }
    records.sort_unstable_by_key(|record| record.head.round.round);
    Ok(records)
}

/// Reads the head from two columns.
pub(crate) fn head(shown: &str, exact: Option<&[u8]>) -> Result<RoundHead> {
    match exact {
        Some(exact) => read(exact, BAD_HEAD),
        None => read(shown.as_bytes(), BAD_HEAD),
    }
}

fn read<T: DeserializeOwned>(json: &[u8], problem: &'static str) -> Result<T> {
    serde_json::from_slice(json).map_err(|_| Fault::Corrupt(problem, None))
}

/// Reads the number of a node or round.
pub(crate) fn number(row: &PgRow, column: usize, problem: &'static str) -> Result<u32> {
    u32::try_from(row.try_get::<i64, _>(column)?).map_err(|_| Fault::Corrupt(problem, None))
}

/// The parts of one round. The numbers of nodes refer to round 0 until the head is known.
#[derive(Default)]
struct RoundRows {
    head: Option<RoundHead>,
    /// The stored number of edges, versions and messages.
    dependent_rows: i64,
    nodes: Vec<(u32, TrajectoryNode)>,
    /// Each edge with its position.
    edges: Vec<(i64, u32, Edge)>,
    versions: Vec<(u32, Version)>,
    /// Each link with its position.
    messages: Vec<(u32, i64, MessageLink)>,
}

impl RoundRows {
    fn take(&mut self, round: &RoundRef, row: &PgRow) -> Result<()> {
        let row_kind = row.try_get::<i16, _>(0)?;
        checksums::check(row_kind, round, row)?;
        match row_kind {
            sql::HEAD => {
                self.head = Some(head(row.try_get(10)?, row.try_get(11)?)?);
                self.dependent_rows = row.try_get(2)?;
            }
            sql::EDGE => {
                let source = number(row, 2, BAD_EDGE)?;
                let target = NodeId::new(number(row, 4, BAD_EDGE)?, number(row, 5, BAD_EDGE)?);
                let name = match row.try_get::<Option<&[u8]>, _>(11)? {
                    Some(_) => text(row, 11)?,
                    None => row.try_get(6)?,
                };
                // The round of the source is known from the head only.
                self.edges.push((
                    row.try_get(3)?,
                    source,
                    Edge::new(NodeId::new(0, source), target, name),
                ));
            }
            sql::VERSION => self.versions.push((number(row, 2, BAD_VERSION)?, version(row)?)),
            sql::MESSAGE => {
                let link = MessageLink::new(text(row, 13)?, text(row, 14)?);
                self.messages.push((number(row, 2, BAD_MESSAGE)?, row.try_get(3)?, link));
            }
            row_kind => {
                self.nodes.push((number(row, 2, BAD_NODE)?, node(row, sql::kind(row_kind)?)?))
            }
        }
        Ok(())
    }

    /// Returns the record of the whole round. Returns an error if parts are missing.
    fn into_record(self) -> Result<RoundRecord> {
        let (dependent_rows, stored) =
            (self.edges.len() + self.versions.len() + self.messages.len(), self.dependent_rows);
        let record = self.record()?;
        if signed(record.nodes.len()) != i64::from(record.head.nodes) {
            return Err(Fault::Corrupt(
                "the number of nodes of a round differs from the number in its head",
                None,
            ));
        }
        if signed(dependent_rows) != stored {
            let problem = "the number of edges, versions and messages of a round differs from the stored number";
            return Err(Fault::Corrupt(problem, None));
        }
        Ok(record)
    }

    /// Returns the record of the parts that were read.
    fn record(mut self) -> Result<RoundRecord> {
        let head = self.head.ok_or(Fault::Corrupt(BAD_HEAD, None))?;
        let round = head.round.round;
        self.nodes.sort_unstable_by_key(|(ordinal, _)| *ordinal);
        self.edges.sort_unstable_by_key(|(position, ..)| *position);
        self.versions.sort_unstable_by_key(|(ordinal, version)| (*ordinal, version.number));
        self.messages.sort_unstable_by_key(|(ordinal, position, _)| (*ordinal, *position));
        let mut versions = self.versions.into_iter().peekable();
        let mut messages = self.messages.into_iter().peekable();
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (ordinal, mut node) in self.nodes {
            node.id = NodeId::new(round, ordinal);
            while let Some((_, mut version)) = versions.next_if(|(of, _)| *of == ordinal) {
                version.previous = node
                    .settle(&version.previous)
                    .map_err(|_| Fault::Corrupt(BAD_VERSION, None))?;
                node.versions.push(version);
            }
            while let Some((.., link)) = messages.next_if(|(of, ..)| *of == ordinal) {
                node.messages.push(link);
            }
            nodes.push(Arc::new(node));
        }
        if versions.next().is_some() || messages.next().is_some() {
            return Err(Fault::Corrupt(
                "a version or a message belongs to a node that does not exist",
                None,
            ));
        }
        let edges = self
            .edges
            .into_iter()
            .map(|(_, source, edge)| Edge { from: NodeId::new(round, source), ..edge });
        Ok(RoundRecord::new(head, nodes, edges.collect()))
    }
}

fn node(row: &PgRow, kind: TrajectoryNodeKind) -> Result<TrajectoryNode> {
    if let Some(exact) = row.try_get::<Option<&[u8]>, _>(11)? {
        return read(exact, BAD_NODE);
    }
    let bad = |_: TrajectoryError| Fault::Corrupt(BAD_NODE, None);
    let values: Vec<String> = row.try_get(12)?;
    let values = kind.fields().iter().zip(values).map(|(field, value)| match field.form {
        FieldForm::Text => Some(FieldValue::from(value)),
        FieldForm::Flag => Some(FieldValue::Flag(value == "true")),
        // A value that is not JSON counts as missing.
        _ => Json::from_text(value).ok().map(FieldValue::Json),
    });
    let body = NodeBody::from_values(kind, values).map_err(bad)?;
    let mut node =
        TrajectoryNode::new(NodeId::new(0, 0), row.try_get::<&str, _>(6)?, body, time(row)?);
    node.description = row.try_get::<&str, _>(7)?.into();
    node.author = row.try_get::<Option<&str>, _>(8)?.map(Into::into);
    node.measures = match row.try_get::<Option<&str>, _>(10)? {
        Some(measures) => read(measures.as_bytes(), BAD_NODE)?,
        None => None,
    };
    Ok(node)
}

fn version(row: &PgRow) -> Result<Version> {
    if let Some(exact) = row.try_get::<Option<&[u8]>, _>(11)? {
        return read(exact, BAD_VERSION);
    }
    Ok(Version {
        number: number(row, 3, BAD_VERSION)?,
        at: time(row)?,
        author: row.try_get::<Option<&str>, _>(8)?.map(Into::into),
        previous: read(row.try_get::<&str, _>(10)?.as_bytes(), BAD_VERSION)?,
    })
}

fn time(row: &PgRow) -> Result<Timestamp> {
    Ok(Timestamp::from_micros(row.try_get(9)?))
}
