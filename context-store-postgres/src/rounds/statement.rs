//! The statement that writes a commit to a round, assembled from the parts that the commit has.
//!
//! The nodes of a kind are in the table of that kind, whose columns are the fields that
//! [`TrajectoryNodeKind::fields`] lists. This module writes them into statements, and
//! [`read`](crate::rounds::read) reads them back.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use context_core::trajectory::{
    Changes, Edge, MessageLink, RoundHead, RoundRef, TrajectoryNode, TrajectoryNodeKind, Version,
};
use sqlx::postgres::{PgArguments, PgHasArrayType};
use sqlx::{Arguments, AssertSqlSafe, Encode, Postgres, Type};

use crate::checksums::rounds as checksums;
use crate::connections::Statement;
use crate::error::Result;
use crate::rounds::expressions::{cast, edges_at_nodes, of_nodes, set_sum};
use crate::rounds::rows::{ChangeRow, NodeRow, VersionRow, printed};
use crate::values::display;
use crate::values::numbers::{signed, signed_count};

/// A statement and its parameters. A `#` in its text stands for the schema.
pub(crate) struct CommitStatement {
    text: String,
    arguments: PgArguments,
    parameters: usize,
    /// Expressions that count rows that must exist.
    counts: String,
}

impl CommitStatement {
    pub(crate) fn new() -> Self {
        Self {
            text: String::from("WITH "),
            arguments: PgArguments::default(),
            parameters: 0,
            counts: String::from("0"),
        }
    }

    /// Returns the statement.
    pub(crate) fn build(self, prefix: &str) -> Statement {
        // Only names of tables and columns and numbers of parameters are inserted.
        sqlx::query_with(AssertSqlSafe(self.text.replace('#', prefix)), self.arguments)
    }

    fn bind<'t, T: Encode<'t, Postgres> + Type<Postgres>>(&mut self, value: T) -> Result<usize> {
        self.arguments.add(value).map_err(sqlx::Error::Encode)?;
        self.parameters += 1;
        Ok(self.parameters)
    }

    /// Adds parameters to a list of function arguments.
    fn list<'t, T>(&mut self, list: &mut String, form: &str, values: Vec<T>) -> Result<()>
    where
        T: PgHasArrayType + Type<Postgres>,
        Vec<T>: Encode<'t, Postgres> + Type<Postgres>,
    {
        let number = self.bind(values)?;
        let comma = if list.is_empty() { "" } else { ", " };
        let _ = write!(list, "{comma}${number}::{form}[]");
        Ok(())
    }

    /// Adds the row `r` of the round: it is updated if the round has the expected revision, or
    /// inserted if the round is new. `added` is the number of new edges, versions and messages.
    /// `removed` are the numbers of removed nodes, whose edges, versions and messages are removed
    /// too.
    pub(crate) fn head(
        &mut self,
        head: &RoundHead,
        key: &str,
        create: bool,
        (added, removed): (usize, &[i64]),
    ) -> Result<()> {
        let agent = &head.round.agent;
        let json = printed(head);
        let shown = display::json(&json);
        let exact = (shown != json).then_some(json.as_bytes());
        self.bind(agent.user.as_str().as_bytes())?;
        self.bind(agent.session.as_str().as_bytes())?;
        self.bind(i64::from(agent.agent))?;
        self.bind(i64::from(head.round.round))?;
        self.bind(signed_count(head.revision))?;
        self.bind(key.as_bytes())?;
        self.bind(head.state.as_str())?;
        self.bind(&*display::text(&head.title))?;
        self.bind(i64::from(head.nodes))?;
        self.bind(head.created_at.as_micros())?;
        self.bind(head.updated_at.as_micros())?;
        self.bind(&*shown)?;
        self.bind(exact)?;
        self.bind(&checksums::head(&head.round, key.as_bytes(), &shown, exact)[..])?;
        self.bind(signed(added))?;
        if create {
            self.text.push_str(
                "r AS (
                   INSERT INTO #trajectory_round (user_id, session, agent, round, revision, key, state, title, nodes, created_at,
                     updated_at, head, exact, sum, beside)
                   VALUES ($1, $2, $3::bigint, $4::bigint, $5, $6, $7, $8, $9, $10, $11, $12::text::json, $13, $14, $15)
                   ON CONFLICT DO NOTHING RETURNING no)",
            );
            return Ok(());
        }
        let mut less = String::new();
        if !removed.is_empty() {
            let removed_parameter = self.bind(removed)?;
            for (table, around) in [
                ("version", of_nodes(removed_parameter)),
                ("message", of_nodes(removed_parameter)),
                ("edge", edges_at_nodes("$4".to_owned(), removed_parameter)),
            ] {
                let _ = write!(
                    less,
                    " - (SELECT count(*) FROM #trajectory_{table} n WHERE n.round = t.no AND {around})"
                );
            }
        }
        let _ = write!(
            self.text,
            "r AS (
               UPDATE #trajectory_round t SET revision = $5, key = $6, state = $7, title = $8, nodes = $9, created_at = $10,
                 updated_at = $11, head = $12::text::json, exact = $13, sum = $14, beside = t.beside + $15{less}
               WHERE user_id = $1 AND session = $2 AND agent = $3::bigint AND round = $4::bigint AND revision = $5 - 1
               RETURNING no)"
        );
        Ok(())
    }

    /// Adds the row `r` of a round whose number is known.
    pub(crate) fn of_round(&mut self, no: i64) -> Result<()> {
        let number = self.bind(no)?;
        let _ = write!(self.text, "r AS (SELECT ${number}::bigint AS no)");
        Ok(())
    }

    /// Adds rows of nodes.
    pub(crate) fn nodes<'n>(
        &mut self,
        round: &RoundRef,
        nodes: impl Iterator<Item = &'n Arc<TrajectoryNode>> + Clone,
    ) -> Result<()> {
        for kind in TrajectoryNodeKind::ALL {
            let rows: Vec<NodeRow<'_>> = nodes
                .clone()
                .filter(|node| node.kind() == kind)
                .map(|node| NodeRow::of(node))
                .collect();
            if rows.is_empty() {
                continue;
            }
            let mut lists = String::new();
            self.list(&mut lists, "bigint", rows.iter().map(|row| row.ordinal).collect())?;
            self.list(&mut lists, "text", rows.iter().map(|row| &*row.label).collect())?;
            self.list(&mut lists, "text", rows.iter().map(|row| &*row.description).collect())?;
            self.list(&mut lists, "bigint", rows.iter().map(|row| row.created_at).collect())?;
            self.list(&mut lists, "text", rows.iter().map(|row| row.author.as_deref()).collect())?;
            self.list(
                &mut lists,
                "text",
                rows.iter().map(|row| row.measures.as_deref()).collect(),
            )?;
            self.list(&mut lists, "bytea", rows.iter().map(|row| row.exact.as_deref()).collect())?;
            self.list(&mut lists, "bytea", rows.iter().map(|row| row.sums(round, kind)).collect())?;
            let (mut columns, mut names, mut values) =
                (String::new(), String::new(), String::new());
            for (at, field) in kind.fields().iter().enumerate() {
                self.list(&mut lists, "text", rows.iter().map(|row| &*row.fields[at]).collect())?;
                let _ = write!(columns, ", \"{}\"", field.name);
                let _ = write!(names, ", f{at}");
                let _ = write!(values, ", i.f{at}{}", cast(field.form));
            }
            let table = kind.lower();
            let _ = write!(
                self.text,
                ", add_{table} AS (
                   INSERT INTO #trajectory_{table}
                     (round, ordinal, label, description, created_at, author, measures, exact, sum{columns})
                   SELECT r.no, i.ordinal, i.label, i.description, i.created_at, i.author, i.measures::json, i.exact, i.sum{values}
                   FROM r CROSS JOIN unnest({lists})
                     i (ordinal, label, description, created_at, author, measures, exact, sum{names}))"
            );
        }
        Ok(())
    }

    /// Adds new values of nodes whose kind is unknown: an update for every kind that has these
    /// fields, limited to rows whose columns show the whole node. Returns false if a column cannot
    /// show one of the new values.
    pub(crate) fn changes<'c>(
        &mut self,
        round: &RoundRef,
        changes: impl Iterator<Item = (u32, &'c Changes)> + Clone,
    ) -> Result<bool> {
        for kind in TrajectoryNodeKind::ALL {
            let rows: Vec<ChangeRow<'_>> = changes
                .clone()
                .filter_map(|(ordinal, changes)| ChangeRow::of(kind, ordinal, changes))
                .collect();
            if rows.iter().any(|row| !row.shown) {
                return Ok(false);
            }
            if rows.is_empty() {
                continue;
            }
            let mut lists = String::new();
            self.list(&mut lists, "bigint", rows.iter().map(|row| row.ordinal).collect())?;
            self.list(
                &mut lists,
                "text",
                rows.iter().map(|row| row.description.as_deref()).collect(),
            )?;
            self.list(
                &mut lists,
                "text",
                rows.iter().map(|row| row.measures.as_deref()).collect(),
            )?;
            let (mut names, mut sets, mut sums) =
                (String::new(), String::new(), String::from("n.sum"));
            let of = |value: Option<&str>, ordinal: i64, column: &str| {
                value.map(|value| {
                    checksums::part((round, kind, ordinal), column, Some(value)).to_vec()
                })
            };
            for (at, column) in ["description", "measures"].into_iter().enumerate() {
                let value = |row: &ChangeRow<'_>| {
                    let value = if at == 0 { &row.description } else { &row.measures };
                    of(value.as_deref(), row.ordinal, column)
                };
                self.list(&mut lists, "bytea", rows.iter().map(value).collect())?;
                let _ = write!(names, ", {column}_sum");
                set_sum(&mut sums, &format!("{column}_sum"), at);
            }
            for (at, field) in kind.fields().iter().enumerate() {
                if rows.iter().all(|row| row.fields[at].is_none()) {
                    continue;
                }
                self.list(
                    &mut lists,
                    "text",
                    rows.iter().map(|row| row.fields[at].as_deref()).collect(),
                )?;
                let changed =
                    rows.iter().map(|row| of(row.fields[at].as_deref(), row.ordinal, field.name));
                self.list(&mut lists, "bytea", changed.collect())?;
                let (name, cast) = (field.name, cast(field.form));
                let _ = write!(names, ", f{at}, s{at}");
                set_sum(&mut sums, &format!("s{at}"), at + 2);
                let _ = write!(sets, ", \"{name}\" = coalesce(i.f{at}{cast}, n.\"{name}\")");
            }
            let table = kind.lower();
            let _ = write!(
                self.text,
                ", set_{table} AS (
                   UPDATE #trajectory_{table} n SET description = coalesce(i.description, n.description),
                     measures = coalesce(i.measures::json, n.measures), sum = {sums}{sets}
                   FROM r, unnest({lists}) i (ordinal, description, measures{names})
                   WHERE n.round = r.no AND n.ordinal = i.ordinal AND n.exact IS NULL RETURNING 1)"
            );
            let _ = write!(self.counts, " + (SELECT count(*) FROM set_{table})");
        }
        Ok(true)
    }

    /// Removes the rows of nodes of any kind.
    pub(crate) fn remove_nodes(&mut self, ordinals: &[i64]) -> Result<()> {
        if ordinals.is_empty() {
            return Ok(());
        }
        let removed_parameter = self.bind(ordinals)?;
        for kind in TrajectoryNodeKind::ALL {
            let table = kind.lower();
            let _ = write!(
                self.text,
                ", cut_{table} AS (DELETE FROM #trajectory_{table} n USING r
                     WHERE n.round = r.no AND n.ordinal = ANY(${removed_parameter}::bigint[]) RETURNING 1)"
            );
            let _ = write!(self.counts, " + (SELECT count(*) FROM cut_{table})");
        }
        Ok(())
    }

    /// Removes edges, versions and messages of nodes of a round of this number.
    pub(crate) fn remove_around(&mut self, round: u32, ordinals: &[i64]) -> Result<()> {
        if ordinals.is_empty() {
            return Ok(());
        }
        let (removed_parameter, round) = (self.bind(ordinals)?, self.bind(i64::from(round))?);
        for (table, around) in [
            ("version", of_nodes(removed_parameter)),
            ("message", of_nodes(removed_parameter)),
            ("edge", edges_at_nodes(format!("${round}"), removed_parameter)),
        ] {
            let _ = write!(
                self.text,
                ", cut_{table} AS (DELETE FROM #trajectory_{table} n USING r WHERE n.round = r.no AND {around})"
            );
        }
        Ok(())
    }

    /// Adds new edges after all existing ones. Their positions begin with the revision of the
    /// commit.
    pub(crate) fn edges(&mut self, head: &RoundHead, edges: &[Edge]) -> Result<()> {
        /// A commit has fewer changes than this.
        const EDGES: i64 = 1 << 14;
        if edges.is_empty() {
            return Ok(());
        }
        let first = signed_count(head.revision).saturating_mul(EDGES);
        let names: Vec<Cow<'_, str>> = edges.iter().map(|edge| display::text(&edge.name)).collect();
        let exact = edges
            .iter()
            .zip(&names)
            .map(|(edge, shown)| (**shown != *edge.name).then(|| edge.name.as_bytes()));
        let exact: Vec<Option<&[u8]>> = exact.collect();
        let mut sums = Vec::with_capacity(edges.len());
        for (((position, edge), name), exact) in (first..).zip(edges).zip(&names).zip(&exact) {
            let target = (edge.to.round.into(), edge.to.ordinal.into());
            let source = edge.from.ordinal.into();
            sums.push(
                checksums::edge(&head.round, position, source, target, name, *exact).to_vec(),
            );
        }
        let mut lists = String::new();
        self.list(&mut lists, "bigint", (first..).take(edges.len()).collect())?;
        self.list(
            &mut lists,
            "bigint",
            edges.iter().map(|edge| i64::from(edge.from.ordinal)).collect(),
        )?;
        self.list(
            &mut lists,
            "bigint",
            edges.iter().map(|edge| i64::from(edge.to.round)).collect(),
        )?;
        self.list(
            &mut lists,
            "bigint",
            edges.iter().map(|edge| i64::from(edge.to.ordinal)).collect(),
        )?;
        self.list(&mut lists, "text", names.iter().map(|name| &**name).collect())?;
        self.list(&mut lists, "bytea", exact)?;
        self.list::<Vec<u8>>(&mut lists, "bytea", sums)?;
        let _ = write!(
            self.text,
            ", add_edge AS (
               INSERT INTO #trajectory_edge (round, position, source, target_round, target, name, exact, sum)
               SELECT r.no, i.* FROM r CROSS JOIN unnest({lists}) i)"
        );
        Ok(())
    }

    /// Adds earlier versions of nodes.
    pub(crate) fn versions<'v>(
        &mut self,
        round: &RoundRef,
        versions: impl Iterator<Item = (u32, &'v Version)>,
    ) -> Result<()> {
        let rows: Vec<VersionRow<'_>> =
            versions.map(|(ordinal, version)| VersionRow::of(ordinal, version)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let mut lists = String::new();
        self.list(&mut lists, "bigint", rows.iter().map(|row| row.ordinal).collect())?;
        self.list(
            &mut lists,
            "bigint",
            rows.iter().map(|row| i64::from(row.version.number)).collect(),
        )?;
        self.list(
            &mut lists,
            "bigint",
            rows.iter().map(|row| row.version.at.as_micros()).collect(),
        )?;
        self.list(&mut lists, "text", rows.iter().map(|row| row.author.as_deref()).collect())?;
        self.list(&mut lists, "text", rows.iter().map(|row| &*row.was).collect())?;
        self.list(&mut lists, "bytea", rows.iter().map(|row| row.exact.as_deref()).collect())?;
        self.list(&mut lists, "bytea", rows.iter().map(|row| row.sum(round)).collect())?;
        let _ = write!(
            self.text,
            ", add_version AS (
               INSERT INTO #trajectory_version (round, ordinal, number, at, author, was, exact, sum)
               SELECT r.no, i.ordinal, i.number, i.at, i.author, i.was::json, i.exact, i.sum
               FROM r CROSS JOIN unnest({lists}) i (ordinal, number, at, author, was, exact, sum))"
        );
        Ok(())
    }

    /// Adds the links of new nodes to messages.
    pub(crate) fn messages<'n>(
        &mut self,
        round: &RoundRef,
        nodes: impl Iterator<Item = &'n Arc<TrajectoryNode>>,
    ) -> Result<()> {
        let links: Vec<(i64, i64, &MessageLink)> = nodes
            .flat_map(|node| {
                (0..).zip(&node.messages).map(|(at, link)| (i64::from(node.id.ordinal), at, link))
            })
            .collect();
        if links.is_empty() {
            return Ok(());
        }
        let user = self.bind(round.agent.user.as_str().as_bytes())?;
        let sum = |(ordinal, at, link): &(i64, i64, &MessageLink)| {
            let (chat, message) = (link.chat.as_str().as_bytes(), link.message.as_str().as_bytes());
            checksums::message(round, (*ordinal, *at), chat, message).to_vec()
        };
        let mut lists = String::new();
        self.list(&mut lists, "bigint", links.iter().map(|(ordinal, ..)| *ordinal).collect())?;
        self.list(&mut lists, "bigint", links.iter().map(|(_, at, _)| *at).collect())?;
        self.list(
            &mut lists,
            "bytea",
            links.iter().map(|(.., link)| link.chat.as_str().as_bytes()).collect(),
        )?;
        self.list(
            &mut lists,
            "bytea",
            links.iter().map(|(.., link)| link.message.as_str().as_bytes()).collect(),
        )?;
        self.list(&mut lists, "bytea", links.iter().map(sum).collect())?;
        let _ = write!(
            self.text,
            ", add_message AS (
               INSERT INTO #trajectory_message (round, ordinal, position, user_id, chat, message, sum)
               SELECT r.no, i.ordinal, i.position, ${user}, i.chat, i.message, i.sum
               FROM r CROSS JOIN unnest({lists}) i (ordinal, position, chat, message, sum))"
        );
        Ok(())
    }

    /// Ends the statement, which returns a row if the round exists. It fails with a division by
    /// zero if fewer nodes existed than required.
    pub(crate) fn end(&mut self, nodes: usize) -> Result<()> {
        let nodes = self.bind(signed(nodes))?;
        let _ = write!(
            self.text,
            " SELECT r.no, 1 / (CASE WHEN {} = ${nodes}::bigint THEN 1 ELSE 0 END) FROM r",
            self.counts
        );
        Ok(())
    }
}
