//! A compaction policy of your own: what was looked up again is shown once, on `context-core`
//! alone.
//!
//! An agent reads the same file five times while it edits it. Four of the five results are out of
//! date, and yet they are sent with every call. This policy leaves a note in their place and keeps
//! the newest, so nothing that is still true is lost.
//!
//! Copy this package and change which parts give way to what. [`CompactionPolicy`] asks for two
//! calls: a name, and a [plan](CompactionPolicy::plan), which is data. [`Plan::new`] counts it and
//! refuses one that would part calls from their results, drop a request of the user or save
//! nothing. `tests/conformance.rs` proves the rest: that the policy is pure, honest and comes to an
//! end.
//!
//! A policy does not decide when it is asked, does not send or wait, and shortens all it can at
//! once: each change of an old message makes a provider read again all that follows it, so one
//! large change is cheaper than many small ones.
//!
//! To use it, make a stage of it:
//! `DefaultContextRuntime::builder().compaction([Stage::new(Superseded::by(["read_file"]))])`;
//! `tests/runtime.rs` does.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::collections::HashMap;
use std::sync::Arc;

use context_core::history::{BoundaryKind, Edit, Goal, HistoryView, Plan, Proposal, ToolNames};
use context_core::{CompactionPolicy, Message, Part, Role};

/// Leaves of the results of equal calls the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superseded {
    tools: ToolNames,
}

/// What a call asked for: the tool and the input, as the model wrote it.
type Asked<'a> = (&'a str, &'a str);
/// Where a result stands: its message, and its part there.
type Place = (usize, usize);

impl Superseded {
    /// The name of the policy.
    pub const NAME: &'static str = "superseded";

    /// For tools that only look: another call with the same input makes the result of the earlier
    /// one worthless. A failed call replaces nothing.
    pub fn by<N: AsRef<str>>(tools: impl IntoIterator<Item = N>) -> Self {
        Self { tools: ToolNames::new(tools) }
    }

    /// The results of which there is a newer one, oldest first, with the tool.
    fn stale<'a>(&self, messages: &'a [Arc<Message>]) -> Vec<(Place, &'a str)> {
        let mut calls: HashMap<&str, Asked<'_>> = HashMap::new();
        let mut newest: HashMap<Asked<'_>, Place> = HashMap::new();
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
            // Also so that a plan is made once: a note is no shorter than itself.
            if view.count(&short) < view.tokens(*at) {
                results += of_message.len();
                edits.push(Edit::replace(*at, short));
            }
        }
        if edits.is_empty() {
            return Proposal::nothing("nothing was looked up again");
        }
        let what = format!("{results} results superseded");
        Plan::new(Self::NAME, BoundaryKind::Microcompact, view, edits, what).into()
    }
}
