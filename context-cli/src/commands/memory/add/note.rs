//! Memories that the user states directly: facts and blocks.

use std::sync::Arc;

use context_runtime::memory::{
    Block, BlockEdit, Blocks, Cardinality, Facts, Statement, StatementOutcome, Trust,
};
use context_runtime::{Clock, Error, Store, memory::MemoryScope, store::MemorySource};

use super::super::{exactly, records_of};
use super::{Args, report, session};
use crate::app::{App, Outcome};
use crate::error::Failure;

/// The largest limit of a block, in characters.
const MOST_CHARS: usize = 32_000;

pub(super) async fn run(
    args: Args,
    scope: &MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    let store = app.store_or_new().await?;
    records_of(&*store)?;
    let clock: Arc<dyn Clock> = Arc::new(app.host.clone());
    match &args.block {
        Some(name) => block(&args, name, store, clock, scope, app).await,
        None => fact(&args, store, clock, scope, app).await,
    }
}

async fn fact(
    args: &Args,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    scope: &MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    let [subject, relation, object] = args.fact.as_slice() else {
        return Err(Failure::Usage("a fact has a subject, a relation and an object".to_owned()));
    };
    let cardinality = if args.one { Cardinality::One } else { Cardinality::Many };
    let said_at = args.at.unwrap_or_else(|| app.now());
    let mut statement = Statement::new(subject, relation, object, cardinality, said_at);
    (statement.from, statement.until) = (args.since, args.until);
    let in_session = session(args, scope, super::NO_SESSION);
    statement.source = match (&args.message, &args.in_session) {
        (Some(message), _) => Some(MemorySource::message(in_session, message.as_str())),
        (None, Some(_)) => Some(MemorySource::session(in_session)),
        (None, None) => None,
    };
    if statement.source.is_none() {
        statement.trust = Some(Trust::Program);
    }
    let facts = Facts::new(store, clock)?.scope_level(exactly(scope));
    let stated = facts.state(scope, std::slice::from_ref(&statement)).await?;
    let (ids, status) = match stated.into_iter().next() {
        Some(StatementOutcome::Stored(id)) => (vec![id], "added"),
        Some(StatementOutcome::Known(id)) => (vec![id], "there"),
        _ => (Vec::new(), "left_out"),
    };
    report(app, "fact", &ids, scope, statement.source.as_ref(), status)
}

async fn block(
    args: &Args,
    name: &str,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    scope: &MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    let blocks = Blocks::new(store, clock)?.others(MOST_CHARS, exactly(scope))?;
    let before = blocks.view(scope, name).await.ok();
    let edit = BlockEdit::Rewrite { text: args.text.join(" ") };
    let block = blocks.edit(scope, name, &edit, None).await.map_err(Error::from)?;
    let is_there = before.is_some_and(|before| before.version == block.version);
    let status = if is_there { "there" } else { "added" };
    report(app, "block", &[Block::id(name)], scope, None, status)
}
