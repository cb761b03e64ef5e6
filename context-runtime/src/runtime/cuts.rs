//! The cuts of a session: what was compacted, what was asked for, and when to stop.

use std::sync::Arc;

use context_core::history::{Compacted, HistoryView, SummaryError, SummaryTask};
use context_core::message::MessageHash;
use context_core::model::TokenCounter;
use context_core::runtime::Boundary;
use context_core::{Answer, CompactionPolicy, Message, Timestamp};

use super::boundary::boundary;
use super::chain::Beginning;

/// How many compactions in a row may come to little.
const FUTILE: u32 = 3;

/// The cuts of a session.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    applied: Option<Applied>,
    asked: Option<Asked>,
    /// How many compactions in a row came to little, and the request of the user they were for.
    futile: u32,
    request: Option<(String, MessageHash)>,
    /// Until when no summary is asked for.
    pause: Option<Timestamp>,
    /// Whether something was cut since the last request.
    pub(super) fresh: bool,
    /// Whether a summary failed and nobody was told yet.
    pub(super) failed: bool,
    /// How many tokens a summary left and how many were wanted, if that was fewer and nobody was
    /// told yet.
    pub(super) missed: Option<(u64, u64)>,
    /// What a summary that was taken does not have, if nobody was told yet.
    pub(super) weak: Option<String>,
}

/// A compaction that stands for the beginning of the history that is given.
#[derive(Debug)]
struct Applied {
    covered: Beginning,
    history: Compacted,
    boundaries: Vec<Boundary>,
}

impl Applied {
    /// Whether a history begins with what the compaction left.
    fn begins(&self, given: &[Arc<Message>]) -> bool {
        let left = &self.history.messages;
        let same = |(a, b): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(a, b) || a == b;
        given.len() >= left.len() && left.iter().zip(given).all(same)
    }
}

/// A summary that was asked for, and of which history.
#[derive(Debug)]
struct Asked {
    covered: Beginning,
    history: Compacted,
    boundaries: Vec<Boundary>,
    policy: &'static str,
    /// How many tokens the history should have.
    target: u64,
}

/// A history to be sent, and how it came out of the one that was given.
#[derive(Debug)]
pub(super) struct History {
    pub(super) messages: Vec<Arc<Message>>,
    /// For each message where it stood; nothing as long as all stand where they stood.
    pub(super) origins: Option<Vec<Option<usize>>>,
    /// What was given, once it is something else.
    pub(super) given: Option<Vec<Arc<Message>>>,
    /// The cuts that stand between both.
    pub(super) boundaries: Vec<Boundary>,
    /// Whether a plan is among them.
    pub(super) compacted: bool,
    /// Whether it was cut to a number of messages just now.
    pub(super) limited: bool,
}

impl History {
    fn untouched(messages: Vec<Arc<Message>>) -> Self {
        Self {
            messages,
            origins: None,
            given: None,
            boundaries: Vec::new(),
            compacted: false,
            limited: false,
        }
    }

    /// What was given.
    pub(super) fn given(&self) -> &[Arc<Message>] {
        self.given.as_deref().unwrap_or(&self.messages)
    }

    /// Puts another history in its place that was made of it.
    pub(super) fn replace(
        &mut self,
        made: Compacted,
        boundaries: impl IntoIterator<Item = Boundary>,
    ) {
        let origins = match &self.origins {
            Some(first) => made
                .origins
                .into_iter()
                .map(|at| at.and_then(|at| first.get(at).copied().flatten()))
                .collect(),
            None => made.origins,
        };
        self.origins = Some(origins);
        let former = std::mem::replace(&mut self.messages, made.messages);
        self.given.get_or_insert(former);
        self.boundaries.extend(boundaries);
    }

    /// It as somebody else would keep it.
    pub(super) fn as_compacted(&self) -> Compacted {
        let mut compacted = Compacted::untouched(&self.messages);
        if let Some(origins) = &self.origins {
            compacted.origins.clone_from(origins);
        }
        compacted
    }
}

impl Cuts {
    /// The history that a given one stands for: what was cut before stays cut, whether or not the
    /// caller keeps the compacted one.
    pub(super) fn history(&mut self, given: Vec<Arc<Message>>) -> History {
        let Some(applied) = &self.applied else { return History::untouched(given) };
        if !applied.covered.begins(&given) {
            // A caller that goes on with the compacted history may yet come back with the one
            // before.
            if !applied.begins(&given) {
                self.applied = None;
            }
            return History::untouched(given);
        }
        let covered = applied.covered.len();
        let mut messages = applied.history.messages.clone();
        messages.extend(given[covered..].iter().map(Arc::clone));
        let mut origins = applied.history.origins.clone();
        origins.extend((covered..given.len()).map(Some));
        let boundaries = applied.boundaries.clone();
        History {
            messages,
            origins: Some(origins),
            given: Some(given),
            boundaries,
            compacted: true,
            limited: false,
        }
    }

    /// Which beginning of the history that is given the cuts stand for.
    pub(super) fn covered(&self) -> Option<&Beginning> {
        self.applied.as_ref().map(|applied| &applied.covered)
    }

    /// Remembers a history that plans were applied to, and what was given for it.
    pub(super) fn keep(&mut self, history: &History, covered: Beginning) {
        self.fresh = true;
        self.applied = Some(Applied {
            covered,
            history: history.as_compacted(),
            boundaries: history.boundaries.clone(),
        });
    }

    /// Remembers that a summary of a history was asked for, which was made of `history`, and that
    /// of what was given.
    pub(super) fn ask(
        &mut self,
        (history, covered): (&History, Beginning),
        of: Compacted,
        before: Vec<Boundary>,
        (task, target): (&SummaryTask, u64),
    ) {
        let mut asked = History {
            messages: history.messages.clone(),
            origins: history.origins.clone(),
            given: None,
            boundaries: history.boundaries.clone(),
            compacted: true,
            limited: false,
        };
        asked.replace(of, before);
        let (boundaries, compacted) = (asked.boundaries.clone(), asked.as_compacted());
        self.asked =
            Some(Asked { covered, history: compacted, boundaries, policy: task.policy, target });
    }

    /// Takes the answer to a summary that was asked for. What was said since stays behind it.
    pub(super) fn accept(
        &mut self,
        messages: &[Arc<Message>],
        (task, answer): (&SummaryTask, &Answer),
        policy: &dyn CompactionPolicy,
        counter: &dyn TokenCounter,
    ) -> Result<Compacted, SummaryError> {
        let asked = self.asked.as_ref().filter(|asked| asked.policy == task.policy);
        let asked = asked.ok_or(SummaryError::NotAsked)?;
        if !asked.covered.begins(messages) {
            return Err(SummaryError::Stale);
        }
        let view = HistoryView::new(&asked.history.messages, counter);
        let plan = policy.accept(&view, task, answer)?;
        let history = asked.history.apply(&plan)?;
        self.count(plan.before, plan.after);
        let Some(asked) = self.asked.take() else { return Err(SummaryError::NotAsked) };
        self.missed = (plan.after > asked.target).then_some((plan.after, asked.target));
        self.weak = weakness(&history.messages);
        let mut boundaries = asked.boundaries;
        boundaries.push(boundary(&plan, history.messages.len()));
        self.applied = Some(Applied { covered: asked.covered, history, boundaries });
        (self.fresh, self.pause, self.failed) = (true, None, false);
        Ok(self.history(messages.to_vec()).as_compacted())
    }

    /// A summary failed: none is asked for until then.
    pub(super) fn pause(&mut self, until: Timestamp) {
        (self.pause, self.failed) = (Some(until), true);
    }

    /// Whether a summary may be asked for.
    pub(super) fn may_ask(&self, now: Timestamp) -> bool {
        self.pause.is_none_or(|until| now >= until)
    }

    /// Takes note of the newest request of the user: a new one begins a new count.
    pub(super) fn requested(&mut self, turn: &str, request: Option<MessageHash>) {
        let Some(request) = request else { return };
        if self.request.as_ref().is_none_or(|(known, hash)| known != turn || *hash != request) {
            self.request = Some((turn.to_owned(), request));
            self.futile = 0;
        }
    }

    /// Takes note of a compaction from so many tokens to so many.
    pub(super) fn count(&mut self, before: u64, after: u64) {
        let came_to_much = before.saturating_sub(after).saturating_mul(10) >= before;
        self.futile = if came_to_much { 0 } else { self.futile + 1 };
    }

    /// Whether compaction goes round in circles.
    pub(super) fn is_stopped(&self) -> bool {
        self.futile >= FUTILE
    }
}

/// What the checkpoint of a history should have and does not.
#[cfg(feature = "summarize")]
fn weakness(messages: &[Arc<Message>]) -> Option<String> {
    let checkpoint = context_policy_summarize::Checkpoint::read(messages.first()?)?;
    checkpoint.is_weak().then(|| checkpoint.missing.join(", "))
}

/// Of what another policy wrote nothing is known.
#[cfg(not(feature = "summarize"))]
fn weakness(_: &[Arc<Message>]) -> Option<String> {
    None
}
