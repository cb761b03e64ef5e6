//! `memory quarantine`, `memory release`, `memory quarantined`: memories that are kept and not
//! recalled.

use context_runtime::memory::{
    Episodic, MemoryProvider, MemoryReview, MemoryScope, Quarantine, QuarantineTarget, Trust,
};
use context_runtime::store::MemoryId;
use context_runtime::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::source_args::SourceArgs;
use super::{episodic, records_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::{clean, time};

/// Take memories out of recall, and keep them.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("target").required(true).args(["id", "message", "from_session", "speaker", "trust"]))]
#[command(after_help = "\
Examples:
  context memory quarantine --from-session support-7 --reason 'a poisoned page was read'
  context memory quarantine --message m4 --in support-7
  context memory quarantine --trust foreign --project travel
  context memory quarantine --speaker mallory
  context memory quarantine --id 3f01d18de1ea430c0c7eae7a31f4f34b

Memories in quarantine are kept and not recalled, also those that are added later. It holds within
the scope: for a user alone, in all their scopes; --id names a memory of exactly the scope, and takes
a fact out as a whole. `context memory quarantined` lists quarantines, `context memory list` marks
their memories, `context memory release` ends one, and `context memory forget` deletes memories
in quarantine too.")]
pub(super) struct Args {
    /// This memory
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
    /// The memories of this speaker
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,
    /// The memories of this class: foreign, model, user or program
    #[arg(long, value_name = "CLASS")]
    trust: Option<Trust>,
    /// The reason, for people
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Recall memories again.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory quarantined                      shows the ids
  context memory release 5d0e1c3b8f7a49628d1f0c2b7e6a9d34
  context memory release 5d0e1c3b8f7a49628d1f0c2b7e6a9d34 --project travel

Ends quarantines that are filed under exactly the named scope.")]
pub(super) struct ReleaseArgs {
    /// The quarantines
    #[arg(required = true, value_name = "ID")]
    id: Vec<String>,
}

/// List quarantines, newest first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory quarantined
  context memory quarantined --project travel --json

Lists the quarantines that are visible from the scope, each with its target, time and reason.")]
pub(super) struct ListArgs {}

/// JSON record of a quarantine.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MemoryQuarantineRecord<'a> {
    v: u32,
    /// The id, for `memory release`.
    #[schemars(with = "String")]
    id: MemoryId,
    #[schemars(with = "serde_json::Value")]
    scope: &'a MemoryScope,
    /// The memories: an `id`, a `source`, a `speaker` or a class of `trust`.
    #[schemars(with = "serde_json::Value")]
    target: &'a QuarantineTarget,
    reason: &'a str,
    at: String,
}

/// JSON record of `memory release`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MemoryReleaseRecord<'a> {
    v: u32,
    id: &'a str,
    #[schemars(with = "serde_json::Value")]
    scope: &'a MemoryScope,
    /// Whether there was such a quarantine.
    released: bool,
}

/// Returns the review of the memories of a provider.
pub(super) fn review_of(memory: &Episodic) -> Result<&dyn MemoryReview, Failure> {
    let none = || Error::new(ErrorKind::Unsupported, "memory", "these memories have no review");
    Ok(memory.review().ok_or_else(none)?)
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let Args { id, source, speaker, trust, reason } = args;
    let target = match (id, source.source(), speaker, trust) {
        (Some(id), ..) => QuarantineTarget::Id(id.into()),
        (_, Some(source), ..) => QuarantineTarget::Source(source),
        (_, _, Some(speaker), _) => QuarantineTarget::Speaker(speaker),
        (.., trust) => QuarantineTarget::Trust(trust.unwrap_or(Trust::Foreign)),
    };
    let store = app.store_to_write().await?;
    records_of(&*store)?;
    let memory = episodic(&store, &scope)?;
    let quarantine = Quarantine::new(scope, target, reason, app.now());
    review_of(&memory)?.quarantine(&quarantine).await?;
    write(&mut app.out, &quarantine)?;
    Ok(Outcome::Success)
}

pub(super) async fn release(
    args: ReleaseArgs,
    scope: MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    records_of(&*store)?;
    let memory = episodic(&store, &scope)?;
    let mut outcome = Outcome::Success;
    for id in &args.id {
        let released = review_of(&memory)?.release(&scope, &id.as_str().into()).await?;
        if app.out.is_json() {
            app.out.record(&MemoryReleaseRecord { v: 1, id, scope: &scope, released })?;
        } else if released {
            let done = app.out.paint(Style::Green, "released").to_string();
            app.out.line(format_args!("{done} {}", clean(id)))?;
        } else {
            app.out.note(format_args!(
                "no quarantine {} is filed under {}; `context memory quarantined` lists them",
                clean(id),
                clean(&scope.to_string())
            ));
        }
        if !released {
            outcome = Outcome::Findings;
        }
    }
    Ok(outcome)
}

pub(super) async fn list(
    _args: ListArgs,
    scope: MemoryScope,
    app: &mut App,
) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    records_of(&*store)?;
    let memory = episodic(&store, &scope)?;
    let quarantines = review_of(&memory)?.quarantined(&scope).await?;
    quarantines.iter().try_for_each(|quarantine| write(&mut app.out, quarantine))?;
    if quarantines.is_empty() {
        app.out.note("no memory is in quarantine");
    }
    Ok(Outcome::Success)
}

fn write(out: &mut Output, quarantine: &Quarantine) -> Result<(), Failure> {
    let Quarantine { scope, target, reason, at, .. } = quarantine;
    let id = quarantine.id();
    if out.is_json() {
        let at = time(*at);
        return out.record(&MemoryQuarantineRecord { v: 1, id, scope, target, reason, at });
    }
    let target = match target {
        QuarantineTarget::Id(id) => format!("memory {id}"),
        QuarantineTarget::Source(source) => match &source.message {
            Some(message) => format!("message {message} of session {}", source.session),
            None => format!("session {}", source.session),
        },
        QuarantineTarget::Speaker(speaker) => format!("speaker {speaker}"),
        QuarantineTarget::Trust(trust) => format!("class {trust}"),
        _ => "a target of a newer program".to_owned(),
    };
    let head = out.paint(Style::Bold, clean(&target)).to_string();
    let at = out.paint(Style::Dim, out.when(*at)).to_string();
    let named = out.paint(Style::Yellow, clean(id.as_str())).to_string();
    out.line(format_args!("{head} · {at} · {} · {named}", clean(&scope.to_string())))?;
    if reason.is_empty() { Ok(()) } else { out.line(format_args!("    {}", clean(reason))) }
}
