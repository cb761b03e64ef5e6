//! The policy.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use context_core::history::{
    BoundaryKind, Edit, Goal, HistoryView, Plan, PlanError, PolicyKind, Proposal, ToolNames,
};
use context_core::{CompactionPolicy, Message, Part, Role};

use crate::candidates::{Candidates, candidates};
use crate::options::{Bound, KeepNewest, Tools};
use crate::shorten::{cleared_attachment, is_shortened, shorten, shorten_user_text};

/// Shortens old tool results to their beginning and end.
///
/// | | default |
/// |---|---|
/// | bound | 768 tokens of each result are shown, 70 percent of them from its beginning; with the note it has at most 32 more |
/// | kept whole | the four newest results, all results that the model has not answered yet, and pinned messages |
/// | tools | all but the [stateful](ToolNames::stateful) ones |
/// | media | in old results they are replaced by a note; media that the user attached stay |
/// | texts of the user | stay, unless [`user_texts`](Self::user_texts) sets a bound |
///
/// A shortened result is marked in its metadata (`shortened`: its tokens, the bound) and not
/// changed again, unless by a policy with a smaller bound. A spilled result (metadata `spilled`)
/// keeps the line that says where its whole text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Microcompact {
    bound: Bound,
    keep: KeepNewest,
    tools: Tools,
    protected: ToolNames,
    user_texts: Option<u64>,
    clears_attached: bool,
    when_cold: bool,
}

impl Default for Microcompact {
    fn default() -> Self {
        Self::new()
    }
}

impl Microcompact {
    /// Default number of tokens shown of a result.
    pub const BOUND: u64 = 768;
    /// Default number of the newest results that stay.
    pub const KEEP: usize = 4;

    /// Creates a policy with the defaults of the table.
    pub fn new() -> Self {
        Self {
            bound: Bound::Preview { tokens: Self::BOUND },
            keep: KeepNewest::Results(Self::KEEP),
            tools: Tools::All,
            protected: ToolNames::stateful(),
            user_texts: None,
            clears_attached: false,
            when_cold: false,
        }
    }

    /// Creates a policy that leaves only a note of old results of [repeatable](Tools::repeatable)
    /// tools, if they have more than 1,536 UTF-16 code units. The newest message with results
    /// stays.
    pub fn clearing() -> Self {
        const UNITS: usize = 1_536;
        Self { keep: KeepNewest::Messages(1), tools: Tools::repeatable(), ..Self::new() }
            .clear_above(UNITS)
    }

    /// Sets how many tokens of each result are shown.
    #[must_use]
    pub fn bound(mut self, tokens: u64) -> Self {
        self.bound = Bound::Preview { tokens };
        self
    }

    /// Replaces results that have more UTF-16 code units by a note.
    #[must_use]
    pub fn clear_above(mut self, units: usize) -> Self {
        self.bound = Bound::Clear { units };
        self
    }

    /// Sets how many of the newest results stay.
    #[must_use]
    pub fn keep_results(mut self, count: usize) -> Self {
        self.keep = KeepNewest::Results(count);
        self
    }

    /// Sets how many of the newest messages with results stay, however many results they hold.
    #[must_use]
    pub fn keep_messages(mut self, count: usize) -> Self {
        self.keep = KeepNewest::Messages(count);
        self
    }

    /// Sets the tools whose results are shortened.
    #[must_use]
    pub fn tools(mut self, tools: Tools) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the tools whose results are never changed, instead of the
    /// [stateful](ToolNames::stateful) ones.
    #[must_use]
    pub fn protect(mut self, tools: ToolNames) -> Self {
        self.protected = tools;
        self
    }

    /// Also shortens each text of the user that has more than this many tokens to its beginning and
    /// end, as results are, whether old or new: a pasted log or document, also of the newest
    /// request. So a text is sent in one form from its first request on, and the provider's prompt
    /// cache stays valid. Default: texts of the user stay.
    ///
    /// The stored message keeps the whole text, and the note names `read_messages`, the tool that
    /// reads it. Requests within the budget of the
    /// [user's words](HistoryView::user_words) and pinned messages stay whole, so the budget should
    /// be smaller than this bound. A request that was shortened does not push another one out of
    /// the budget, although it may fit now. Run the policy with every message to shorten texts as
    /// they arrive, for example with a trigger of one message.
    #[must_use]
    pub fn user_texts(mut self, tokens: u64) -> Self {
        self.user_texts = Some(tokens);
        self
    }

    /// Also clears media that the user attached, if the goal is not met without it. Media of the
    /// newest request stay.
    #[must_use]
    pub fn clear_attached(mut self) -> Self {
        self.clears_attached = true;
        self
    }

    /// Acts only when the provider's cache is cold, as after a pause: then changing old messages
    /// costs nothing. The policy does not measure time; the goal's [cache](Goal::cache) says
    /// whether the cache is cold.
    #[must_use]
    pub fn when_cold(mut self) -> Self {
        self.when_cold = true;
        self
    }

    fn is_included(&self, name: Option<&str>) -> bool {
        self.tools.contains(name) && !name.is_some_and(|name| self.protected.contains(name))
    }
}

impl CompactionPolicy for Microcompact {
    fn name(&self) -> &'static str {
        "microcompact"
    }

    fn kind(&self) -> PolicyKind {
        PolicyKind::Shorten
    }

    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal {
        if self.when_cold && goal.cache.messages > 0 {
            return Proposal::nothing("the provider's cache is warm");
        }
        let candidates = candidates(view.messages(), self.keep, |name| self.is_included(name));
        if candidates.positions.is_empty() && self.user_texts.is_none() {
            return Proposal::nothing("no result is old enough");
        }
        let mut pass = Pass {
            view,
            whole: view_of_whole_requests(view),
            bound: self.bound,
            edits: BTreeMap::new(),
            cut: 0,
            cleared: 0,
            texts: 0,
        };
        pass.results(&candidates);
        if self.clears_attached {
            pass.attached(candidates.end, goal);
        }
        if let Some(tokens) = self.user_texts {
            pass.user_texts(tokens);
        }
        match pass.plan(self.name()) {
            Ok(plan) => Proposal::Plan(plan),
            Err(PlanError::Grows { .. }) => Proposal::nothing("every old result is short"),
            Err(error) => Proposal::nothing(error.to_string()),
        }
    }
}

/// Returns a view in which no shortened message fits into the budget of the user's words, if there
/// is any. In `view` a shortened request may fit and push out a whole one. If that one were
/// shortened for it, each pass would shorten another request.
fn view_of_whole_requests<'v>(view: &HistoryView<'v>) -> Option<HistoryView<'v>> {
    let (messages, budget) = (view.messages(), view.user_words_budget());
    if !messages.iter().any(|message| is_shortened(message)) {
        return None;
    }
    let counts =
        messages.iter().enumerate().map(|(position, message)| match is_shortened(message) {
            true => budget.saturating_add(1),
            false => view.tokens(position),
        });
    Some(HistoryView::counted(messages, counts, view.counter()).user_words(budget))
}

/// The changes collected during one run.
struct Pass<'a, 'v> {
    view: &'a HistoryView<'v>,
    /// The same messages, none of the shortened ones in the budget of the user's words.
    whole: Option<HistoryView<'v>>,
    bound: Bound,
    edits: BTreeMap<usize, Arc<Message>>,
    cut: usize,
    cleared: usize,
    /// The texts of the user that were shortened.
    texts: usize,
}

impl Pass<'_, '_> {
    fn results(&mut self, candidates: &Candidates) {
        for positions in candidates.positions.chunk_by(|one, other| one.0 == other.0) {
            if let [(position, _), ..] = positions {
                self.message(*position, positions.iter().map(|(_, part)| *part));
            }
        }
    }

    /// Shortens results of one message.
    fn message(&mut self, position: usize, positions: impl Iterator<Item = usize>) {
        if self.view.anchors().is_verbatim(position) {
            return;
        }
        let message = &self.view.messages()[position];
        let framing = self.view.counter().framing();
        let around = framing.message.tokens().saturating_add(framing.call.tokens());
        // For a message with a single result the result's size is known; for any other the
        // message's size is an upper limit.
        let all = self.view.tokens(position).saturating_sub(around);
        let alone = message.parts.len() == 1;
        let mut shorter: Vec<(usize, Part)> = Vec::new();
        let (mut cut, mut cleared) = (0, 0);
        for at in positions {
            let Some(Part::ToolResult(result)) = message.parts.get(at) else { continue };
            let known = match self.bound {
                Bound::Preview { tokens } if all <= tokens => Some(all),
                _ => alone.then_some(all),
            };
            if let Some(outcome) = shorten(result, known, self.bound, self.view) {
                cut += usize::from(outcome.is_cut);
                cleared += usize::from(!outcome.is_cut);
                shorter.push((at, Part::ToolResult(outcome.result)));
            }
        }
        if self.replace(position, shorter) {
            (self.cut, self.cleared) = (self.cut + cut, self.cleared + cleared);
        }
    }

    /// Replaces these parts, if that saves tokens.
    fn replace(&mut self, position: usize, shorter: Vec<(usize, Part)>) -> bool {
        if shorter.is_empty() {
            return false;
        }
        let message = self.edits.get(&position).unwrap_or(&self.view.messages()[position]);
        let mut shorter = shorter.into_iter().peekable();
        let parts = message.parts.iter().enumerate().map(|(at, part)| {
            match shorter.next_if(|(index, _)| *index == at) {
                Some((_, part)) => part,
                None => part.clone(),
            }
        });
        let parts = parts.collect();
        let changed =
            Arc::new(Message { role: message.role, parts, metadata: message.metadata.clone() });
        let saves = self.view.count_shared(&changed) < self.view.tokens(position);
        if saves {
            self.edits.insert(position, changed);
        }
        saves
    }

    /// Returns whether a message of the user stays unchanged.
    fn is_verbatim(&self, position: usize) -> bool {
        let mut views = std::iter::once(self.view).chain(&self.whole);
        views.any(|view| view.anchors().is_verbatim(position))
    }

    /// Clears media that the user attached before `end`, if the goal is not met yet.
    fn attached(&mut self, end: usize, goal: &Goal) {
        let saved = self.edits.iter().map(|(at, message)| {
            self.view.tokens(*at).saturating_sub(self.view.count_shared(message))
        });
        let left = self.view.total().saturating_sub(saved.sum());
        if goal.excess(left) == 0 {
            return;
        }
        let newest = self.view.structure().requests.last().copied().unwrap_or(end);
        let before: Range<usize> = 0..end.min(newest);
        for position in before {
            let message = &self.view.messages()[position];
            let stays = self.is_verbatim(position);
            if message.role != Role::User || stays || self.edits.contains_key(&position) {
                continue;
            }
            let parts = message.parts.iter().enumerate();
            let notes: Vec<_> = parts
                .filter_map(|(at, part)| Some((at, cleared_attachment(part, self.view)?)))
                .collect();
            let count = notes.len();
            if self.replace(position, notes) {
                self.cleared += count;
            }
        }
    }

    /// Shortens texts of the user that have more tokens.
    fn user_texts(&mut self, tokens: u64) {
        for position in 0..self.view.messages().len() {
            let message = self.edits.get(&position).unwrap_or(&self.view.messages()[position]);
            let is_short = self.view.tokens(position) <= tokens;
            if is_short || !message.is_request() || self.is_verbatim(position) {
                continue;
            }
            let shorter = message.parts.iter().enumerate().filter_map(|(at, part)| match part {
                Part::Text(text) => {
                    Some((at, Part::Text(shorten_user_text(text, tokens, self.view)?)))
                }
                _ => None,
            });
            let shorter: Vec<_> = shorter.collect();
            let count = shorter.len();
            if self.replace(position, shorter) {
                self.texts += count;
            }
        }
    }

    fn plan(self, name: &'static str) -> Result<Plan, PlanError> {
        let counts = [
            (self.cut, "result", "shortened"),
            (self.texts, "user text", "shortened"),
            (self.cleared, "place", "cleared of media"),
        ];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        let summary: Vec<_> =
            counts.map(|(count, subject, outcome)| counted_text(count, subject, outcome)).collect();
        let edits =
            self.edits.into_iter().map(|(position, message)| Edit::replace(position, message));
        Plan::new(name, BoundaryKind::Microcompact, self.view, edits.collect(), summary.join(", "))
    }
}

fn counted_text(count: usize, subject: &str, outcome: &str) -> String {
    format!("{count} {subject}{} {outcome}", if count == 1 { "" } else { "s" })
}
