//! The prefix of a request, compared with the request before.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use context_core::history::BoundaryKind;
use context_core::model::{TokenCount, TokenCounter};
use context_core::{Message, MessageId};
use context_tokens::{CacheRules, Model};
use serde::Serialize;

use super::branch::Branch;
use super::session::Prepared;
use super::shown_history::{CutRecord, Shown};
use crate::display::grouped;

/// The lifetime of a cached prefix whose provider states none, as the runtime assumes it.
const UNKNOWN_LIFETIME: Duration = Duration::from_secs(300);

/// The reason why a request does not begin with the whole request before, or why the provider does
/// not have that one any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BreakCause {
    /// There was no request before.
    FirstRequest,
    /// The system prompt or the instructions changed.
    SystemPrompt,
    /// The tools or the answer format changed.
    Tools,
    /// The model or the provider changed.
    Model,
    /// A policy cut the history.
    Cut {
        /// The policy.
        policy: String,
        /// The request that made the cut. `None` for a cut between two requests.
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<usize>,
    },
    /// A cut was undone.
    Undo,
    /// A message has other content than before.
    Edit {
        /// The message.
        message: MessageId,
    },
    /// The requests are of two branches, which part at this message.
    Branch {
        /// The first message that only the later request has.
        message: MessageId,
    },
    /// The repair put another message there, such as a result in place of a missing one.
    Repair,
    /// The pause was longer than the provider keeps its cache.
    Pause {
        /// The seconds since the request before.
        seconds: u64,
        /// The seconds that an entry of the cache lives.
        lifetime: u64,
    },
    /// Another reason.
    Other,
}

impl fmt::Display for BreakCause {
    /// Writes a sentence for people, without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstRequest => f.write_str("it is the first request"),
            Self::SystemPrompt => f.write_str("the system prompt changed"),
            Self::Tools => f.write_str("the tools or the answer format changed"),
            Self::Model => f.write_str("it goes to another model"),
            Self::Cut { policy, request: Some(number) } => {
                write!(f, "{policy} cut the history in request {number}")
            }
            Self::Cut { policy, request: None } => {
                write!(f, "{policy} cut the history between two requests")
            }
            Self::Undo => f.write_str("a cut was undone"),
            Self::Edit { message } => write!(f, "message {message} was edited"),
            Self::Branch { message } => write!(f, "another branch begins at message {message}"),
            Self::Repair => f.write_str("the repair put another message there"),
            Self::Pause { seconds, lifetime } => {
                let (seconds, lifetime) = (grouped(*seconds), grouped(*lifetime));
                write!(
                    f,
                    "the pause of {seconds} seconds was longer than the {lifetime} seconds that the provider keeps its \
                     cache"
                )
            }
            Self::Other => f.write_str("the request begins in another way"),
        }
    }
}

/// The prefix that a request has in common with the request before.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PrefixReport {
    /// Whether the request begins with all of the request before.
    pub intact: bool,
    /// The tokens that both requests begin with.
    pub shared: u64,
    /// The tokens of them that the provider should have in its prompt cache.
    pub reused: u64,
    /// The tokens of the request before.
    pub before: u64,
    /// The tokens of this request that the provider had in its cache and has to read again.
    pub lost: u64,
    /// The cost of reading them again in US dollars, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_usd: Option<f64>,
    /// The first piece that is not as in the request before, as an index of
    /// [`pieces`](super::RequestReport::pieces). `None` if the prefix is intact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_at: Option<usize>,
    /// The message where the prefix broke: the one that was left out or changed. `None` if there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The reason why it broke, or why the provider has none of it in its cache. `None` if it is
    /// intact and cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<BreakCause>,
}

/// The result of a comparison, before it is told in pieces.
pub(super) struct Comparison {
    pub(super) prefix: PrefixReport,
    /// The number of messages of the request that are as in the one before. `None` if what precedes
    /// the messages differs.
    pub(super) shared: Option<usize>,
}

/// Compares requests of a replay.
pub(super) struct Comparer<'a> {
    pub(super) branch: &'a Branch,
    pub(super) cuts: &'a [CutRecord],
    pub(super) counter: &'a dyn TokenCounter,
    pub(super) model: Model<'a>,
    pub(super) provider: &'a str,
}

impl Comparer<'_> {
    /// Compares a request with the one before it.
    pub(super) fn compare(&self, before: Option<&Prepared>, now: &Prepared) -> Comparison {
        let Some(before) = before else {
            let prefix =
                PrefixReport { cause: Some(BreakCause::FirstRequest), ..PrefixReport::default() };
            return Comparison { prefix, shared: None };
        };
        let (was, is) = (&before.context.request, &now.context.request);
        let mut prefix = PrefixReport {
            before: before.context.breakdown.total().tokens(),
            ..Default::default()
        };
        let front = if was.system != is.system {
            Some(BreakCause::SystemPrompt)
        } else if was.tools != is.tools || was.output != is.output {
            Some(BreakCause::Tools)
        } else {
            None
        };
        let same = |(a, b): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(a, b) || a == b;
        let messages = match front {
            Some(_) => 0,
            None => was.messages.iter().zip(&is.messages).take_while(same).count(),
        };
        prefix.intact = front.is_none() && messages == was.messages.len();
        let breakdown = &now.context.breakdown;
        if front.is_none() {
            let outside = breakdown.system + breakdown.instructions + breakdown.tools;
            prefix.shared = (outside + self.count(&is.messages[..messages])).tokens();
        }
        let lifetime = self.lifetime(before);
        let pause = now.at.as_micros().saturating_sub(before.at.as_micros());
        let pause = Duration::from_micros(u64::try_from(pause).unwrap_or(0));
        let is_cached = lifetime.is_some_and(|lifetime| pause < lifetime);
        prefix.reused = if is_cached { prefix.shared } else { 0 };
        if !prefix.intact {
            let cause = || self.cause(before, now, messages);
            prefix.cause = Some(front.clone().unwrap_or_else(cause));
            prefix.message = self.message_at(before, now, messages);
        }
        match lifetime {
            Some(lifetime) if !is_cached && prefix.shared > 0 => {
                let (seconds, lifetime) = (pause.as_secs(), lifetime.as_secs());
                prefix.cause = Some(BreakCause::Pause { seconds, lifetime });
                prefix.lost = prefix.shared;
            }
            Some(_) if !prefix.intact => {
                let had: HashSet<_> = was.messages.iter().map(Arc::as_ptr).collect();
                let again = is.messages[messages..].iter();
                let again = again.filter(|message| had.contains(&Arc::as_ptr(message)));
                let again: TokenCount = again.map(|it| self.counter.count_shared(it)).sum();
                prefix.lost = again.tokens();
            }
            _ => {}
        }
        Comparison { prefix, shared: front.is_none().then_some(messages) }
    }

    /// Returns how long the provider keeps a request in its cache. `None` if it keeps none.
    fn lifetime(&self, before: &Prepared) -> Option<Duration> {
        let rules = self.model.cache_rules();
        if rules.as_ref().is_some_and(|rules| !self.is_cached(rules, before)) {
            return None;
        }
        let usual = rules.and_then(|rules| rules.usual_lifetime()).map(|usual| usual.duration());
        Some(before.context.request.cache_lifetime.or(usual).unwrap_or(UNKNOWN_LIFETIME))
    }

    fn is_cached(&self, rules: &CacheRules, request: &Prepared) -> bool {
        let has_entry = rules.automatic || writes_marks(self.provider);
        rules.is_supported()
            && has_entry
            && request.context.breakdown.total().tokens() >= rules.minimum
    }

    fn count(&self, messages: &[Arc<Message>]) -> TokenCount {
        self.counter.count_messages(messages)
    }

    /// Returns why the messages at a position differ.
    fn cause(&self, before: &Prepared, now: &Prepared, at: usize) -> BreakCause {
        let new = self.cuts.get(before.cuts..now.cuts).unwrap_or_default();
        let was = before.context.request.messages.get(at).and_then(|it| shown(before, it));
        let is = now.context.request.messages.get(at).and_then(|it| shown(now, it));
        let removed = was
            .and_then(|was| was.stored)
            .and_then(|stored| new.iter().rev().find(|record| record.removed.contains(&stored)));
        let made = is
            .and_then(|is| self.cuts.get(is.cut? as usize))
            .filter(|record| new.iter().any(|new| std::ptr::eq(new, *record)));
        if let Some(record) = removed.or(made).or(new.first()) {
            return match record.cut.kind {
                BoundaryKind::Undo => BreakCause::Undo,
                _ => BreakCause::Cut {
                    policy: record.cut.name().to_owned(),
                    request: record.cut.request,
                },
            };
        }
        match (was.and_then(|was| was.stored), is.and_then(|is| is.stored)) {
            (Some(was), Some(is)) if was == is => match self.id(is) {
                Some(message) => BreakCause::Edit { message },
                None => BreakCause::Other,
            },
            _ => BreakCause::Repair,
        }
    }

    /// Returns the message where the requests part.
    fn message_at(&self, before: &Prepared, now: &Prepared, at: usize) -> Option<MessageId> {
        let stored = |prepared: &Prepared| {
            shown(prepared, prepared.context.request.messages.get(at)?)?.stored
        };
        self.id(stored(before).or_else(|| stored(now))?)
    }

    fn id(&self, position: u32) -> Option<MessageId> {
        self.branch.chain.get(position as usize).map(|node| node.id.clone())
    }
}

/// Whether a provider is told what to write to its cache, at a price.
pub(super) fn writes_marks(provider: &str) -> bool {
    provider.split('-').next() == Some("anthropic")
}

/// Returns the entry of a message that is sent as it is shown.
fn shown<'p>(prepared: &'p Prepared, message: &Arc<Message>) -> Option<&'p Shown> {
    prepared.entries.iter().find(|shown| Arc::ptr_eq(&shown.message, message))
}
