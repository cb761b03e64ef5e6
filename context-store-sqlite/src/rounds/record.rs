//! Commits to a round: one transaction, whose cost depends on what is written.

use std::collections::{HashMap, HashSet};

use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{
    Edge, FieldValue, RoundRef, TrajectoryNode, TrajectoryNodeKind, Version,
};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::checksums::rounds::{MESSAGE, VERSION, edge_sum, sum_of};
use crate::connections::Writer;
use crate::error::{Fault, Result};
use crate::rounds::addition;
use crate::rounds::node_tables::{TABLES, name};
use crate::rounds::plan::Plan;
use crate::rounds::refusal::{absent, damaged, refused};
use crate::rounds::row_values::{
    bind_head, bind_sealed, edge_values, link_values, measures_text, node_values, value_of,
    version_values, was_text,
};
use crate::sql::rounds as sql;
use crate::sql::run;
use crate::values::numbers::{count, signed};
use crate::values::rows::json_numbers;

/// Applies a commit if the round's revision is the expected one.
pub(crate) async fn record(writer: &mut Writer, commit: &RoundCommit) -> Result<RecordOutcome> {
    if addition::record(writer, commit).await? {
        return Ok(RecordOutcome::Applied);
    }
    let mut transaction = writer.begin().await?;
    let known = find(&mut transaction, &commit.head.round).await?;
    let actual = known.as_ref().map_or(0, |known| known.revision);
    let replayed = known.as_ref().is_some_and(|known| known.key == commit.key.as_str());
    let outcome = if replayed && actual == commit.head.revision {
        RecordOutcome::Replayed
    } else if actual != commit.expected {
        RecordOutcome::Conflict { actual }
    } else {
        let written = write(&mut transaction, known, commit).await;
        written.map_err(|fault| {
            if fault.is_refusal() {
                damaged("a node or an edge of the commit is stored already")
            } else {
                fault
            }
        })?;
        RecordOutcome::Applied
    };
    transaction.commit().await?;
    Ok(outcome)
}

/// A round before the commit.
struct StoredRound {
    no: i64,
    revision: u64,
    key: String,
    /// The number of the next node.
    next: u32,
    /// The position after the last edge.
    end: i64,
}

async fn find(connection: &mut SqliteConnection, round: &RoundRef) -> Result<Option<StoredRound>> {
    let RoundRef { agent, round } = round;
    let query = sqlx::query(sql::ROUND).bind(agent.user.as_str()).bind(agent.session.as_str());
    let rows = run(connection, query.bind(i64::from(agent.agent)).bind(i64::from(*round))).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (no, key, end) = (row.try_get(0)?, row.try_get(2)?, row.try_get(4)?);
    Ok(Some(StoredRound { no, revision: count(row.try_get(1)?)?, key, next: row.try_get(3)?, end }))
}

async fn write(
    connection: &mut SqliteConnection,
    known: Option<StoredRound>,
    commit: &RoundCommit,
) -> Result<()> {
    let plan = Plan::of(commit)?;
    let (no, end) = match known {
        Some(known) => {
            let kinds = kinds_of(connection, &known, &plan).await?;
            forget(connection, known.no, &plan, &kinds, commit.head.round.round).await?;
            change(connection, (known.no, &commit.head.round), &plan, &kinds).await?;
            write_head(connection, known.no, commit, plan.edges.len()).await?;
            (known.no, known.end)
        }
        None => {
            if let Some(ordinal) =
                plan.gone.iter().chain(plan.changed.iter().map(|(o, ..)| o)).next()
            {
                return Err(absent(*ordinal));
            }
            (create(connection, commit, plan.edges.len()).await?, 0)
        }
    };
    let nodes: Vec<&TrajectoryNode> = plan.fresh.nodes.iter().map(|node| &**node).collect();
    add_nodes(connection, no, &nodes, commit).await?;
    let edges: Vec<(i64, &Edge)> = (end..).zip(plan.edges).collect();
    for batch in TABLES.edges.batches(&edges) {
        let query = batch.query(|query, (position, edge)| {
            let values = edge_values(edge);
            let sum = edge_sum(&commit.head.round, *position, values.iter().cloned());
            let query = query.bind(no).bind(*position);
            values.into_iter().fold(query, |query, value| value.bind(query)).bind(sum)
        });
        run(connection, query).await?;
    }
    Ok(())
}

/// Returns the kinds of the nodes that are changed or removed. All of these must exist, and no
/// added node may exist.
async fn kinds_of(
    connection: &mut SqliteConnection,
    known: &StoredRound,
    plan: &Plan<'_>,
) -> Result<HashMap<u32, TrajectoryNodeKind>> {
    let there: HashSet<u32> = plan
        .gone
        .iter()
        .copied()
        .chain(plan.changed.iter().map(|(ordinal, ..)| *ordinal))
        .collect();
    // New nodes have new numbers. Any other number is looked up.
    let fresh = plan.fresh.nodes.iter().map(|node| node.id.ordinal);
    let doubtful: Vec<u32> =
        fresh.filter(|ordinal| *ordinal < known.next && !plan.gone.contains(ordinal)).collect();
    if there.is_empty() && doubtful.is_empty() {
        return Ok(HashMap::new());
    }
    let asked = json_numbers(there.iter().chain(&doubtful));
    let rows =
        run(connection, sqlx::query(TABLES.kinds_of.as_str()).bind(known.no).bind(asked)).await?;
    let mut kinds = HashMap::new();
    for row in rows {
        let (kind, ordinal): (i64, u32) = (row.try_get(0)?, row.try_get(1)?);
        kinds.insert(ordinal, TrajectoryNodeKind::ALL[kind as usize]);
    }
    if let Some(ordinal) = doubtful.iter().find(|ordinal| kinds.contains_key(ordinal)) {
        return Err(damaged(format!("node {ordinal} is stored already")));
    }
    match there.iter().find(|ordinal| !kinds.contains_key(ordinal)) {
        Some(ordinal) => Err(absent(*ordinal)),
        None => Ok(kinds),
    }
}

/// Deletes nodes and the edges from and to them.
async fn forget(
    connection: &mut SqliteConnection,
    no: i64,
    plan: &Plan<'_>,
    kinds: &HashMap<u32, TrajectoryNodeKind>,
    round: u32,
) -> Result<()> {
    if plan.gone.is_empty() {
        return Ok(());
    }
    let of_kinds: HashSet<TrajectoryNodeKind> =
        plan.gone.iter().filter_map(|ordinal| kinds.get(ordinal)).copied().collect();
    let gone = json_numbers(plan.gone.iter());
    let tables = of_kinds.iter().map(|kind| TABLES.of(*kind).remove.as_str());
    for statement in
        tables.chain([sql::FORGET_EDGES_FROM, sql::FORGET_VERSIONS, sql::FORGET_MESSAGES])
    {
        run(connection, sqlx::query(statement).bind(no).bind(&gone)).await?;
    }
    run(connection, sqlx::query(sql::FORGET_EDGES_TO).bind(no).bind(&gone).bind(i64::from(round)))
        .await?;
    Ok(())
}

/// Changes existing nodes and stores their earlier versions.
async fn change(
    connection: &mut SqliteConnection,
    (no, round): (i64, &RoundRef),
    plan: &Plan<'_>,
    kinds: &HashMap<u32, TrajectoryNodeKind>,
) -> Result<()> {
    let mut versions = Vec::with_capacity(plan.changed.len());
    for (ordinal, version, now) in &plan.changed {
        if plan.gone.contains(ordinal) {
            continue;
        }
        let kind = kinds.get(ordinal).ok_or_else(|| absent(*ordinal))?;
        let table = TABLES.of(*kind);
        table.blank.settle(&version.previous).map_err(refused)?;
        let now = table.blank.settle(now).map_err(refused)?;
        let mut fields: Vec<Option<&FieldValue>> = vec![None; kind.fields().len()];
        let (mut description, mut measures) = (None, None);
        for (name, value) in now.iter() {
            match (kind.field(name), value) {
                (Some(at), value) => fields[at] = Some(value),
                (None, FieldValue::Json(json)) => measures = Some(json.parse().unwrap_or_default()),
                (None, value) => description = value.as_text(),
            }
        }
        let query =
            sqlx::query(table.change.as_str()).bind(no).bind(i64::from(*ordinal)).bind(description);
        let query =
            query.bind(measures.is_some()).bind(measures_text(measures.flatten().as_ref())?);
        let values = fields.into_iter().map(value_of);
        run(connection, values.fold(query, |query, value| value.bind(query))).await?;
        table.sealed.seal(connection, no, round, Some(*ordinal)).await?;
        versions.push((*ordinal, *version));
    }
    add_versions(connection, (no, round), &versions).await
}

async fn add_versions<'v>(
    connection: &mut SqliteConnection,
    (no, round): (i64, &RoundRef),
    versions: &[(u32, &'v Version)],
) -> Result<()> {
    let text = |version: &(u32, &'v Version)| was_text(version.1).map(|was| (*version, was));
    let versions = versions.iter().map(text).collect::<Result<Vec<_>>>()?;
    for batch in TABLES.versions.batches(&versions) {
        let query = batch.query(|query, ((ordinal, version), was)| {
            bind_sealed(query.bind(no), VERSION, round, version_values(*ordinal, version, was))
        });
        run(connection, query).await?;
    }
    Ok(())
}

/// Adds nodes, with one statement for several nodes of a kind.
async fn add_nodes(
    connection: &mut SqliteConnection,
    no: i64,
    nodes: &[&TrajectoryNode],
    commit: &RoundCommit,
) -> Result<()> {
    let round = &commit.head.round;
    let mut of_kind: [Vec<(&TrajectoryNode, Option<String>)>; TrajectoryNodeKind::ALL.len()] =
        Default::default();
    for node in nodes {
        of_kind[node.kind() as usize].push((*node, measures_text(node.measures.as_deref())?));
    }
    for (kind, nodes) in TrajectoryNodeKind::ALL.into_iter().zip(&of_kind) {
        for batch in TABLES.of(kind).add.batches(nodes) {
            let query = batch.query(|query, (node, measures)| {
                let values = node_values(node, measures.as_deref());
                bind_sealed(query.bind(no), &name(kind), round, values)
            });
            run(connection, query).await?;
        }
    }
    let versions: Vec<(u32, &Version)> = nodes
        .iter()
        .flat_map(|node| node.versions.iter().map(|version| (node.id.ordinal, version)))
        .collect();
    add_versions(connection, (no, round), &versions).await?;
    let messages: Vec<_> = nodes
        .iter()
        .flat_map(|node| node.messages.iter().enumerate().map(|link| (node.id, link)))
        .collect();
    let user = commit.head.round.agent.user.as_str();
    for batch in TABLES.messages.batches(&messages) {
        let query = batch.query(|query, (id, (position, link))| {
            let [ordinal, position, chat, message] = link_values(id.ordinal, *position, link);
            let values = [&ordinal, &position, &chat, &message].map(Clone::clone);
            let sum = sum_of(MESSAGE, round, values);
            let query = position.bind(ordinal.bind(query.bind(no))).bind(user);
            message.bind(chat.bind(query)).bind(sum)
        });
        run(connection, query).await?;
    }
    Ok(())
}

/// Creates a round that will have this many edges.
async fn create(
    connection: &mut SqliteConnection,
    commit: &RoundCommit,
    edges: usize,
) -> Result<i64> {
    let RoundRef { agent, round } = &commit.head.round;
    let query =
        sqlx::query(sql::CREATE_ROUND).bind(agent.user.as_str()).bind(agent.session.as_str());
    let query = query.bind(i64::from(agent.agent)).bind(i64::from(*round));
    let rows = run(connection, bind_head(query, commit)?.bind(signed(edges))).await?;
    let row = rows.first().ok_or(Fault::Corrupt("a round was not created", None))?;
    Ok(row.try_get(0)?)
}

/// Writes the head of a round that gains this many edges.
async fn write_head(
    connection: &mut SqliteConnection,
    no: i64,
    commit: &RoundCommit,
    edges: usize,
) -> Result<()> {
    let query = bind_head(sqlx::query(sql::WRITE_ROUND).bind(no), commit)?;
    run(connection, query.bind(signed(edges))).await?;
    Ok(())
}
