//! The policy and its options.

use std::borrow::Cow;
use std::sync::Arc;

use context_core::history::{
    BoundaryKind, Edit, Goal, HistoryView, Plan, PolicyKind, Proposal, SummaryError, SummaryTask,
};
use context_core::{Answer, CompactionPolicy, Message};

use crate::carried::{self, CarriedFacts, CarriedTools};
use crate::checkpoint::SummaryCheckpoint;
use crate::cut::{Cut, shortened_request};
use crate::fit::{self, Frame};
use crate::instruction::instruction;
use crate::judge::judge;
use crate::prompt::{DECISIONS, REMAINING, ROLE, RULES, TASK};
use crate::{retained, sections};

const NAME: &str = "summarize";

/// Replaces the older part of a conversation with a checkpoint. See the [crate](crate) for what
/// stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summarize {
    summary: u64,
    window: Option<u64>,
    keep_latest: usize,
    role: Option<String>,
    focus: Option<String>,
    tools: CarriedTools,
}

impl Default for Summarize {
    fn default() -> Self {
        Self {
            summary: 4_000,
            window: None,
            keep_latest: 3,
            role: None,
            focus: None,
            tools: CarriedTools::default(),
        }
    }
}

impl Summarize {
    /// Creates a policy with summaries of at most 4,000 tokens, written by a model with the same
    /// window as the conversation's. At least three messages stay.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the largest number of tokens of a summary. It is never more than a quarter of the
    /// goal's history size, and at least 256.
    #[must_use]
    pub fn summary_tokens(mut self, tokens: u64) -> Self {
        self.summary = tokens;
        self
    }

    /// Sets the largest number of input tokens of the request for the summary. The default is the
    /// goal's window minus the summary or the reserve, whichever is larger.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets how many messages at the end stay even if they are larger than the goal allows, as long
    /// as they fit the window; whole groups only. The newest group always stays.
    #[must_use]
    pub fn keep_latest(mut self, messages: usize) -> Self {
        self.keep_latest = messages;
        self
    }

    /// Sets the role that the model is given in the prompt. The rules for writing a summary follow
    /// it, whatever the text. A blank text is left out.
    #[must_use]
    pub fn role(mut self, text: impl Into<String>) -> Self {
        self.role = Some(text.into());
        self
    }

    /// Sets instructions that the model should heed above all. Those of a compaction that was asked
    /// for ([`Goal::focus`]) follow them.
    #[must_use]
    pub fn focus(mut self, text: impl Into<String>) -> Self {
        self.focus = Some(text.into());
        self
    }

    /// Sets the tools whose calls become [`CarriedFacts`].
    #[must_use]
    pub fn carry(mut self, tools: CarriedTools) -> Self {
        self.tools = tools;
        self
    }

    /// Returns the largest number of tokens of a summary for this goal.
    fn summary_for(&self, goal: &Goal) -> u64 {
        self.summary_of(goal.history())
    }

    /// Returns the largest number of tokens of a summary within so many tokens.
    pub(crate) fn summary_of(&self, tokens: u64) -> u64 {
        self.summary.min(tokens / 4).max(256)
    }

    /// Returns the largest number of input tokens of a request.
    pub(crate) fn window_or(&self, default: u64) -> u64 {
        self.window.unwrap_or(default)
    }

    pub(crate) fn focus_text(&self) -> Option<&str> {
        self.focus.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns the instructions that were set, and those of a compaction that was asked for.
    pub(crate) fn focus_for(&self, goal: &Goal) -> Option<String> {
        let given = [self.focus.as_deref(), goal.focus.as_deref()];
        let given: Vec<_> =
            given.into_iter().flatten().map(str::trim).filter(|text| !text.is_empty()).collect();
        (!given.is_empty()).then(|| given.join("\n"))
    }

    pub(crate) fn tools(&self) -> &CarriedTools {
        &self.tools
    }

    fn window_for(&self, goal: &Goal, summary: u64) -> u64 {
        let left = goal.budget.window.saturating_sub(goal.budget.reserve.max(summary));
        self.window_or(left)
    }

    fn role_text(&self) -> &str {
        self.own_role().unwrap_or(ROLE)
    }

    /// Returns the role that was set, unless it is blank.
    pub(crate) fn own_role(&self) -> Option<&str> {
        self.role.as_deref().filter(|role| !role.trim().is_empty())
    }

    /// Returns the checkpoint that an answer makes of the messages that a task covers.
    pub(crate) fn checkpoint(
        &self,
        view: &HistoryView<'_>,
        task: &SummaryTask,
        text: String,
    ) -> SummaryCheckpoint {
        let (covered, retained) = view.messages().split_at(task.covers.end);
        let before = view.structure().start().min(task.covers.end);
        let mut summary = text;
        let decisions = sections::take(&mut summary, DECISIONS);
        let tasks = sections::take(&mut summary, REMAINING);
        let mut checkpoint = SummaryCheckpoint { summary, ..SummaryCheckpoint::default() };
        for old in covered[..before].iter().filter_map(|message| SummaryCheckpoint::read(message)) {
            checkpoint.facts.extend(old.facts);
            checkpoint.messages = checkpoint.messages.saturating_add(old.messages);
            checkpoint.tokens = checkpoint.tokens.saturating_add(old.tokens);
        }
        let mut facts = CarriedFacts::default();
        facts.gather(&covered[before..], &self.tools);
        checkpoint.facts.extend(facts);
        checkpoint.facts.decide(decisions);
        checkpoint.facts.leave_open(tasks);
        if carried::has_todo(retained, &self.tools) {
            checkpoint.facts.todo = None;
        }
        let kept = task.keeps.iter().filter(|at| **at >= before && **at < task.covers.end);
        let (count, tokens) =
            kept.fold((0, 0_u64), |(count, sum), at| (count + 1, sum + view.tokens(*at)));
        let new = before..task.covers.end;
        checkpoint.messages = checkpoint.messages.saturating_add((new.len() - count) as u64);
        checkpoint.tokens =
            checkpoint.tokens.saturating_add(view.tokens_of(new).saturating_sub(tokens));
        checkpoint
    }
}

impl CompactionPolicy for Summarize {
    fn name(&self) -> &'static str {
        NAME
    }

    fn kind(&self) -> PolicyKind {
        PolicyKind::Summarize
    }

    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal {
        match self.task(NAME, view, goal) {
            Ok(task) => Proposal::Summary(Box::new(task)),
            Err(reason) => Proposal::nothing(reason),
        }
    }

    fn accept(
        &self,
        view: &HistoryView<'_>,
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Plan, SummaryError> {
        self.accepted(NAME, view, task, answer)
    }
}

impl Summarize {
    /// Returns the task of the policy with this name, or the reason why there is none.
    pub(crate) fn task(
        &self,
        policy: &'static str,
        view: &HistoryView<'_>,
        goal: &Goal,
    ) -> Result<SummaryTask, Cow<'static, str>> {
        if view.total() <= goal.history() {
            return Err("the history does not exceed its target".into());
        }
        let summary = self.summary_for(goal);
        let Some(cut) = Cut::find(view, goal, summary, self.keep_latest) else {
            return Err("there is nothing between the first request and the newest steps".into());
        };
        if cut.removed_tokens(view, cut.start..cut.end()) <= summary / 4 {
            return Err("what could be summarised is hardly larger than a summary".into());
        }
        let old = view.messages()[cut.checkpoints.clone()]
            .iter()
            .filter_map(|message| SummaryCheckpoint::read(message));
        let focus = self.focus_for(goal);
        let frame = Frame {
            system: [self.role_text(), RULES],
            task: TASK,
            focus: focus.as_deref(),
            previous: &old.map(|old| old.with_sections()).collect::<Vec<_>>().join("\n\n"),
            summary,
            window: self.window_for(goal, summary),
        };
        let Some((request, end)) = fit::fit(view, &cut, &frame) else {
            return Err("the window of the model that summarises is too small".into());
        };
        let removed_tokens = cut.removed_tokens(view, cut.checkpoints.clone())
            + cut.removed_tokens(view, cut.start..end);
        let given = (self.own_role(), focus.as_deref());
        let task = SummaryTask::new(policy, request, 0..end, removed_tokens)
            .keeping(cut.keeps(end))
            .instruction(instruction(view, (&cut, end), given, summary))
            .made_for(view);
        // Whether a plan can be applied does not depend on the model's answer, so it is checked
        // before the model is asked.
        let nothing_said = SummaryCheckpoint::default().to_message(policy);
        match Plan::new(policy, BoundaryKind::Compact, view, edits(view, &task, nothing_said), "") {
            Ok(_) => Ok(task),
            Err(error) => Err(error.to_string().into()),
        }
    }

    /// Accepts a summary for the policy with this name.
    pub(crate) fn accepted(
        &self,
        policy: &'static str,
        view: &HistoryView<'_>,
        task: &SummaryTask,
        answer: &Answer,
    ) -> Result<Plan, SummaryError> {
        check(policy, view, task)?;
        let judged = judge(answer)?;
        let mut checkpoint = self.checkpoint(view, task, judged.text);
        checkpoint.missing = judged.missing;
        plan(policy, view, task, checkpoint.to_message(policy))
    }
}

/// Refuses a task of another policy, or for another history.
pub(crate) fn check(
    policy: &'static str,
    view: &HistoryView<'_>,
    task: &SummaryTask,
) -> Result<(), SummaryError> {
    match () {
        () if task.policy != policy || task.covers.start != 0 => Err(SummaryError::NotAsked),
        () if !task.is_current(view) => Err(SummaryError::Stale),
        () => Ok(()),
    }
}

/// Returns the plan that puts a checkpoint in the place of the messages that a task covers.
pub(crate) fn plan(
    policy: &'static str,
    view: &HistoryView<'_>,
    task: &SummaryTask,
    checkpoint: Message,
) -> Result<Plan, SummaryError> {
    let (summary, replaced) = (view.count(&checkpoint), removed_tokens(view, task));
    if summary >= replaced {
        return Err(SummaryError::TooLarge { summary, replaced });
    }
    let count = task.covers.len() - task.keeps.iter().filter(|at| task.covers.contains(at)).count();
    let description = format!("{count} messages into a checkpoint");
    Ok(Plan::new(policy, BoundaryKind::Compact, view, edits(view, task, checkpoint), description)?)
}

/// Returns how many of the tokens that a task covers are removed.
fn removed_tokens(view: &HistoryView<'_>, task: &SummaryTask) -> u64 {
    let kept = task.keeps.iter().filter(|at| task.covers.contains(at)).map(|at| view.tokens(*at));
    view.tokens_of(task.covers.clone()).saturating_sub(kept.sum())
}

/// Returns the edits: the checkpoint in front, the covered messages removed except those that stay,
/// and the changes of messages that stay.
fn edits(view: &HistoryView<'_>, task: &SummaryTask, checkpoint: Message) -> Vec<Edit> {
    // Inserted next to the old checkpoint rather than replacing it: a message that replaces exactly
    // one other would be taken for the same message.
    let front = view.structure().system;
    let mut edits = vec![Edit::new(front..front, vec![Arc::new(checkpoint)])];
    let first = shortened_request(view);
    let largest = task.request.max_output_tokens.unwrap_or(u64::MAX);
    let mut at = 0;
    for keep in task.keeps.iter().copied().filter(|keep| task.covers.contains(keep)) {
        edits.extend((at < keep).then(|| Edit::remove(at..keep)));
        let short = (first == Some(keep))
            .then(|| retained::shortened(view, &view.messages()[keep], largest));
        edits.extend(short.flatten().map(|short| Edit::replace(keep, short)));
        at = keep + 1;
    }
    edits.extend((at < task.covers.end).then(|| Edit::remove(at..task.covers.end)));
    edits.extend(retained::without_signed_thoughts(view, task.covers.end..view.messages().len()));
    edits
}
