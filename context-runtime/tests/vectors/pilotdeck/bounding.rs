//! Groups `microcompact` and `microcompact_seed_era`: old tool results, shortened or cleared.
//!
//! Our policy has the recorded options: a number of newest messages with results stays, and only
//! the results of certain tools are changed. Both are judged by structure, because the text around
//! a preview is ours. Every case must be sound: no message is added or removed, every old result of
//! such a tool is within the bound and without media, its error flag stays, everything else is
//! unchanged, and a second pass has nothing to do. In a plain case the same results must change as
//! well. Our policy finds the tool of a result by position, never changes results that the model
//! has not answered, and keeps what a user attached.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use context_core::history::ToolNames;
use context_runtime::microcompact::{Microcompact, Tools};
use context_runtime::{
    Message, Part, Role, ToolResult,
    compaction::{Budget, CacheState, CompactionPolicy, Goal, HistoryView},
    model::TokenCounter,
};
use serde_json::Value;

use super::counting::O200k;
use super::cuts::applied;
use super::history::{shown, written};
use super::messages::{Inexpressible, Reader};
use super::options::{Options, Unknown};
use super::{Case, json};
use crate::encoding::items;
use crate::judge::{Difference, Outcome};

/// The recorded counter adds four tokens per message.
const COUNTER: O200k = O200k { message: 4 };
/// The tokens that a result may have above the bound, and the most that a note has.
const TOLERANCE: u64 = 32;
const NOTE: u64 = 64;

#[derive(Clone, Copy)]
enum Bound {
    Tokens(u64),
    Units(usize),
}

/// The options of the case.
struct CaseOptions {
    bound: Bound,
    keep: usize,
    tools: Tools,
    protected: ToolNames,
    idle: bool,
}

impl CaseOptions {
    fn of(case: &Case, seed_era: bool) -> Result<Option<Self>, Unknown> {
        let mut options = Options::of(case);
        if options.switched_off() {
            return Ok(None);
        }
        let bytes = options.number("trimToBytes");
        let bound = match (seed_era, options.number("trimToTokens"), bytes) {
            (true, _, bytes) => Bound::Units(bytes.map_or(1_536, |bytes| bytes as usize)),
            (false, Some(tokens), _) => Bound::Tokens(tokens),
            (false, None, Some(bytes)) => Bound::Tokens((bytes / 2).max(256)),
            (false, None, None) => Bound::Tokens(Microcompact::BOUND),
        };
        let keep =
            options.number("keepLatest").map_or(if seed_era { 1 } else { 4 }, |keep| keep as usize);
        let tools = options.names("compactable").map_or_else(Tools::repeatable, Tools::Only);
        let protected = options.names("protected").unwrap_or_else(|| match seed_era {
            true => ToolNames::default(),
            false => ToolNames::stateful(),
        });
        // The recorded function is passed the time and does not use it.
        let idle = options.number("idleMs").is_some() && case.is_suspect();
        options.number("nowMs");
        options.number("lastActivityMs");
        options.all_known()?;
        Ok(Some(Self { bound, keep, tools, protected, idle }))
    }

    fn policy(&self) -> Microcompact {
        let policy = match self.bound {
            Bound::Tokens(tokens) => Microcompact::new().bound(tokens),
            Bound::Units(units) => Microcompact::clearing().clear_above(units),
        };
        let policy = policy
            .keep_messages(self.keep)
            .tools(self.tools.clone())
            .protect(self.protected.clone());
        if self.idle { policy.when_cold() } else { policy }
    }

    fn apply(&self, given: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let mut goal = Goal::new(Budget::new(1 << 30, 0), 0, 0);
        // No time has passed.
        let mut cache = CacheState::default();
        cache.messages = if self.idle { given.len() } else { 0 };
        goal = goal.cache(cache);
        applied(given, self.policy().plan(&HistoryView::new(given, &COUNTER), &goal))
    }

    fn asks_for(&self, name: &str) -> bool {
        let options = match &self.tools {
            Tools::Only(names) => names.contains(name),
            _ => true,
        };
        options && !self.protected.contains(name)
    }

    /// Returns the old results as message and part.
    fn old(&self, given: &[Arc<Message>]) -> Vec<(usize, usize)> {
        let mut old = self.candidates(given);
        let mut messages: Vec<usize> = old.iter().map(|(message, _)| *message).collect();
        messages.dedup();
        let read = given.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
        let newest = messages.len().saturating_sub(self.keep);
        let end = messages.get(newest).copied().unwrap_or(usize::MAX).min(read);
        old.retain(|(message, _)| *message < end && !self.idle);
        old
    }

    /// Returns the results of the selected tools, matched to calls by position.
    fn candidates(&self, given: &[Arc<Message>]) -> Vec<(usize, usize)> {
        let mut calls: HashMap<&str, (usize, VecDeque<&str>)> = HashMap::new();
        let mut found = Vec::new();
        for (at, message) in given.iter().enumerate() {
            for (place, part) in message.parts.iter().enumerate() {
                match part {
                    Part::ToolCall(call) => {
                        let of_id = calls.entry(&call.id).or_default();
                        if of_id.0 != at {
                            *of_id = (at, VecDeque::new());
                        }
                        of_id.1.push_back(&call.name);
                    }
                    Part::ToolResult(result) => {
                        let of_id = calls.get_mut(result.call_id.as_str()).map(|(_, names)| names);
                        let name = of_id.and_then(|names| match names.len() {
                            0 | 1 => names.front().copied(),
                            _ => names.pop_front(),
                        });
                        if name.is_some_and(|name| self.asks_for(name)) {
                            found.push((at, place));
                        }
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

pub(super) fn judge(case: &Case, seed_era: bool) -> Outcome {
    let options = match CaseOptions::of(case, seed_era) {
        Ok(options) => options,
        Err(Unknown(what)) => {
            return Outcome::Skipped(format!("an option that is not known: {what}"));
        }
    };
    let reader = Reader { by_tag: true, references: true };
    let given = match reader.decode(items(case.input(), "messages")) {
        Ok(decoded) => decoded.messages,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let ours = options.as_ref().map_or_else(|| given.clone(), |options| options.apply(&given));
    let fault = |rule: &str| Difference::new(rule, shown(case.output()), written(&ours));
    let sound = options.as_ref().map_or(Ok(()), |options| sound(options, &given, &ours));
    if let Err(rule) = sound {
        return Outcome::Failed(fault(rule));
    }
    let changed = changed(&given, &ours);
    let recorded = json(case.output());
    let as_many = recorded["rewritten"].as_u64().is_none_or(|count| count == changed.len() as u64);
    let same = as_many
        && recorded["toolCallIds"].as_array().is_none_or(|ids| {
            let ours = changed.iter().map(|result| Some(result.call_id.as_str()));
            ids.iter().map(Value::as_str).eq(ours)
        });
    Outcome::of(match (same, case.is_suspect()) {
        (true, true) => {
            Ok("sound, and the same results; when is not the policy's business".to_owned())
        }
        (true, false) => Ok("the same results, within the bound".to_owned()),
        (false, true) => {
            Ok("sound: every old result within the bound and without media, all else as it was"
                .to_owned())
        }
        (false, false) => Err(fault("the same results")),
    })
}

fn results(messages: &[Arc<Message>]) -> impl Iterator<Item = &ToolResult> {
    messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    })
}

fn changed<'a>(given: &[Arc<Message>], ours: &'a [Arc<Message>]) -> Vec<&'a ToolResult> {
    results(given)
        .zip(results(ours))
        .filter(|(given, ours)| given != ours)
        .map(|(_, ours)| ours)
        .collect()
}

fn sound(
    options: &CaseOptions,
    given: &[Arc<Message>],
    ours: &[Arc<Message>],
) -> Result<(), &'static str> {
    if given.len() != ours.len() {
        return Err("no message comes or goes");
    }
    let old = options.old(given);
    for (at, (before, after)) in given.iter().zip(ours).enumerate() {
        if before.parts.len() != after.parts.len() || before.role != after.role {
            return Err("no part comes or goes");
        }
        for (place, parts) in before.parts.iter().zip(&after.parts).enumerate() {
            match parts {
                (Part::ToolResult(before), Part::ToolResult(after))
                    if old.contains(&(at, place)) =>
                {
                    bounded(options.bound, before, after)?
                }
                (before, after) if before != after => {
                    return Err("nothing but old results changes");
                }
                _ => {}
            }
        }
    }
    if options.apply(ours) == ours { Ok(()) } else { Err("a second pass has nothing to do") }
}

fn bounded(bound: Bound, before: &ToolResult, after: &ToolResult) -> Result<(), &'static str> {
    if before.call_id != after.call_id || before.is_error != after.is_error {
        return Err("id and error flag stay");
    }
    if !after.output.iter().all(|part| matches!(part, Part::Text(_))) {
        return Err("no media in an old result");
    }
    let tokens: u64 = after.output.iter().map(|part| COUNTER.count_part(part).tokens()).sum();
    let within = match bound {
        Bound::Tokens(most) => tokens <= most.saturating_add(TOLERANCE).max(NOTE),
        Bound::Units(most) => {
            let units = |part: &Part| match part {
                Part::Text(text) => text.text.encode_utf16().count(),
                _ => 0,
            };
            after.output.iter().map(units).sum::<usize>() <= most || tokens <= NOTE
        }
    };
    if within { Ok(()) } else { Err("within the bound") }
}
