//! A custom compaction policy: it keeps only the newest result of a repeated lookup, and depends on
//! `context-core` alone.
//!
//! An agent may read the same file five times while it edits it. Four of the five results are
//! outdated, but are still sent with every call. This policy replaces them with a note and keeps
//! the newest, so that nothing current is lost.
//!
//! Copy this package and change what is replaced. [`CompactionPolicy`] requires two calls: a name,
//! and a [plan](CompactionPolicy::plan), which is data. [`Plan::new`] counts the plan's tokens. It
//! refuses a plan that separates calls from their results, drops a request of the user or saves
//! nothing. `tests/conformance.rs` checks the rest: that the policy is pure, correct and
//! terminates.
//!
//! A policy does not decide when it is called, and does not send or wait. It shortens as much as it
//! can at once: each change of an old message makes a provider read everything after it again, so
//! one large change is cheaper than many small ones.
//!
//! To use the policy, turn it into a stage:
//! `DefaultContextRuntime::builder().compaction([Stage::new(Superseded::by(["read_file"]))])`, as
//! in `tests/runtime.rs`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::collections::HashMap;
use std::sync::Arc;

use context_core::history::{BoundaryKind, Edit, Goal, HistoryView, Plan, Proposal, ToolNames};
use context_core::{CompactionPolicy, Message, Part, Role};

/// A policy that keeps only the newest of the results of equal calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superseded {
    tools: ToolNames,
}

/// The tool and the input of a call, as the model wrote them.
type CallKey<'a> = (&'a str, &'a str);
/// The position of a result: the index of its message, and of its part there.
type ResultPosition = (usize, usize);

impl Superseded {
    /// The name of the policy.
    pub const NAME: &'static str = "superseded";

    /// Creates a policy for read-only tools: another call with the same input makes the earlier
    /// result worthless. A failed call replaces nothing.
    pub fn by<N: AsRef<str>>(tools: impl IntoIterator<Item = N>) -> Self {
        Self { tools: ToolNames::new(tools) }
    }

    /// Returns the results for which there is a newer one, oldest first, with the tool.
    fn stale<'a>(&self, messages: &'a [Arc<Message>]) -> Vec<(ResultPosition, &'a str)> {
        let mut calls: HashMap<&str, CallKey<'_>> = HashMap::new();
        let mut newest: HashMap<CallKey<'_>, ResultPosition> = HashMap::new();
        let mut stale = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            for (part_at, part) in message.parts.iter().enumerate() {
                match part {
                    Part::ToolCall(call) if message.role == Role::Assistant => {
                        calls.insert(&call.id, (&call.name, call.input.as_written()));
                    }
                    Part::ToolResult(result) if !result.is_error => {
                        let asked = calls.get(result.call_id.as_str());
                        let Some(asked) = asked.filter(|(tool, _)| self.tools.contains(tool))
                        else {
                            continue;
                        };
                        let earlier = newest.insert(*asked, (at, part_at));
                        stale.extend(earlier.map(|place| (place, asked.0)));
                    }
                    _ => {}
                }
            }
        }
        stale.sort_unstable();
        stale
    }
}

impl CompactionPolicy for Superseded {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn plan(&self, view: &HistoryView<'_>, _goal: &Goal) -> Proposal {
        let stale = self.stale(view.messages());
        let (mut edits, mut results) = (Vec::new(), 0);
        for of_message in stale.chunk_by(|((one, _), _), ((other, _), _)| one == other) {
            let [((at, _), _), ..] = of_message else { continue };
            let mut short = Message::clone(&view.messages()[*at]);
            for ((_, part), tool) in of_message {
                if let Part::ToolResult(result) = &mut short.parts[*part] {
                    result.output = vec![Part::text(format!(
                        "[superseded: {tool} was called again with this input]"
                    ))];
                }
            }
            // This also ensures that a plan is made once, since a note is not shorter than itself.
            if view.count(&short) < view.tokens(*at) {
                results += of_message.len();
                edits.push(Edit::replace(*at, short));
            }
        }
        if edits.is_empty() {
            return Proposal::nothing("nothing was looked up again");
        }
        let description = format!("{results} results superseded");
        Plan::new(Self::NAME, BoundaryKind::Microcompact, view, edits, description).into()
    }
}
