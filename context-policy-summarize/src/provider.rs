//! A policy that lets the provider of the conversation compact it.

use std::fmt::Write;

use context_core::history::{
    Goal, HistoryView, Plan, PolicyKind, Proposal, SummaryError, SummaryTask,
};
use context_core::message::OpaqueBlock;
use context_core::model::{ProviderCompaction, StopReason};
use context_core::{Answer, CompactionPolicy, Part};
use serde::Deserialize;

use crate::policy::{check, plan};
use crate::prompt::CONTINUED_RULES;
use crate::{Summarize, SummaryCheckpoint};

const NAME: &str = "provider-compact";
/// The length of the longest instructions that a provider takes, in characters.
const MOST_INSTRUCTIONS: usize = 16_384;
/// The summary where the block of the provider has none that others can read.
const SEALED: &str = "[The messages here were compacted by the provider of the conversation, in a form that only it reads. \
Their text is not lost: it is stored, and can be read back with the tools for the history, if they are offered.]";

/// Lets the provider of the conversation compact its older part, and keeps the block that the
/// provider returns.
///
/// The same messages stay as with [`Summarize`], the same facts are carried, and the cut is undone
/// in the same way. A model of another provider is sent the provider's summary as text, if it is
/// one that can be read: Anthropic's is, OpenAI's is not. What is sealed for a provider is undone
/// when the conversation goes on with another one. Where the provider of the conversation makes no
/// compactions, or has refused one, a model writes a summary as [`Summarize`] asks for it.
///
/// The provider is sent the conversation up to the newest steps, which stay. The user's words that
/// stay word for word are covered by the block too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderCompact {
    summaries: Summarize,
}

impl ProviderCompact {
    /// Creates a policy whose cuts are those of [`Summarize::new`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what stays and is carried, and how a summary is requested where the provider makes no
    /// compaction. With a [role](Summarize::role) or a [focus](Summarize::focus), the provider is
    /// given instructions in place of its own.
    #[must_use]
    pub fn summaries(mut self, summaries: Summarize) -> Self {
        self.summaries = summaries;
        self
    }

    /// Returns the request to the provider.
    fn compaction(&self, goal: &Goal) -> ProviderCompaction {
        let compaction = ProviderCompaction::new();
        let (role, focus) = (self.summaries.own_role(), self.summaries.focus_for(goal));
        if role.is_none() && focus.is_none() {
            return compaction;
        }
        let mut text = String::from(
            "Summarise the conversation. The summary will stand in place of its messages. Do not go on with the task and call no tools.",
        );
        if let Some(role) = role {
            let _ = write!(text, "\n{role}");
        }
        let _ = write!(text, "\n\n{CONTINUED_RULES}");
        if let Some(focus) = focus {
            let _ = write!(text, "\n\nHeed this above all: {focus}");
        }
        compaction.instructions(text.chars().take(MOST_INSTRUCTIONS).collect::<String>())
    }
}

impl CompactionPolicy for ProviderCompact {
    fn name(&self) -> &'static str {
        NAME
    }

    fn kind(&self) -> PolicyKind {
        PolicyKind::Summarize
    }

    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal {
        match self.summaries.task(NAME, view, goal) {
            Ok(task) => Proposal::Summary(Box::new(task.provider(self.compaction(goal)))),
            Err(reason) => Proposal::nothing(reason),
        }
    }

    fn accept(
        &self,
        view: &HistoryView<'_>,
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Plan, SummaryError> {
        let Some(Compacted { block, summary }) = compaction_of(answer)? else {
            return self.summaries.accepted(NAME, view, task, answer);
        };
        check(NAME, view, task)?;
        let is_sealed = summary.is_none();
        // A text that can be read is counted like every text.
        let written = answer
            .usage
            .filter(|_| is_sealed)
            .map(|usage| usage.output.saturating_sub(usage.reasoning.unwrap_or(0)));
        let tokens = written.filter(|tokens| *tokens > 0);
        let summary = summary.unwrap_or_else(|| SEALED.to_owned());
        let checkpoint: SummaryCheckpoint = self.summaries.checkpoint(view, task, summary);
        let block = (block.clone(), is_sealed);
        plan(NAME, view, task, checkpoint.to_message_of_block(NAME, block, tokens))
    }
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    content: Option<String>,
    signature: Option<String>,
    encrypted_content: Option<String>,
}

/// A compaction in an answer.
struct Compacted<'a> {
    block: &'a OpaqueBlock,
    /// The summary, if others than the provider can read it.
    summary: Option<String>,
}

/// Returns the compaction in an answer. `None` if there is none, such as in a summary that a model
/// wrote.
fn compaction_of(answer: &Answer) -> Result<Option<Compacted<'_>>, SummaryError> {
    if let Some(error) = &answer.error {
        return Err(SummaryError::Failed(error.to_string()));
    }
    let blocks = answer.message.parts.iter().filter_map(|part| {
        let Part::Opaque(block) = part else { return None };
        let read = block.value.parse::<Block>().ok().filter(|read| read.kind == "compaction")?;
        Some((block, read))
    });
    let mut blocks = blocks.collect::<Vec<_>>();
    let Some((block, read)) = blocks.pop() else { return Ok(None) };
    let is_cut_off = matches!(answer.stop, Some(StopReason::Length | StopReason::ContextWindow));
    if is_cut_off || !answer.complete {
        return Err(SummaryError::CutOff);
    }
    let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    let is_whole = has(&read.encrypted_content) || (has(&read.content) && has(&read.signature));
    if !is_whole || !blocks.is_empty() {
        let missing =
            if is_whole { "a single compaction" } else { "the content of the compaction" };
        return Err(SummaryError::Malformed { missing: missing.to_owned() });
    }
    let summary = read.content.filter(|_| has(&read.signature));
    Ok(Some(Compacted { block, summary }))
}
