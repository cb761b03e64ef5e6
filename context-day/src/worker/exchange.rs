//! One request of a turn, and its reply.

use context_runtime::model::Usage;
use context_runtime::tokens::ModelTable;
use context_runtime::{Clock, ModelContext, Turn, TurnError, provider};
use context_simulator::{ProviderFault, ReplyContent, Served, SimulatedReply};

use super::{OpenTurn, Outcome, PreviousRequest, Proceed, Worker};
use crate::expected::Entry;
use crate::failure::{DayFailure, Invariant};
use crate::providers::{Outgoing, usage_of};
use crate::texts::text;

/// The tokens from which on providers cache, and some more for what the cache cannot split.
const LEAST_CACHED: u64 = 1_200;
/// The time for which providers keep a request in their cache, in microseconds.
const CACHED_FOR: i64 = 300_000_000;

impl Worker {
    /// Gives the results of open calls, and sends the next request.
    pub(super) async fn proceed(
        &mut self,
        turn: &mut Turn<'_>,
        open: &mut OpenTurn,
        proceed: Proceed,
        outcome: &mut Outcome,
    ) {
        let mut calls = turn.tool_calls();
        if proceed.unanswered {
            calls.pop();
        }
        for (call, marker) in calls.iter().zip(&proceed.results) {
            turn.result(call.result(text(*marker, proceed.result_words)));
            open.results.push(Entry::new(*marker, false));
        }
        match turn.next().await {
            Ok(Some(request)) => {
                outcome.acknowledged.append(&mut open.pending);
                outcome.acknowledged.append(&mut open.results);
                outcome.wait = request.wait;
                let body = as_sent(request.body().as_str(), self.vendor().codec, proceed.events);
                let is_cut = is_cut(&request.context);
                let cached = self.cached(is_cut);
                let outgoing = Outgoing {
                    vendor: self.vendor,
                    body: &body,
                    user: self.slot.user,
                    fault: proceed.fault,
                    events: proceed.events,
                    first: open.first,
                    newest: open.newest,
                    cached,
                };
                open.is_hit |= proceed.fault.is_some();
                let Some((reply, served)) = self.providers.send(&outgoing, proceed.pieces) else {
                    return;
                };
                outcome.note = format!("{} of {} tokens", reply.status, served.input.unwrap_or(0));
                self.charge(open, &reply, &served, proceed.events);
                let answer = Entry::new(proceed.answer, false);
                match proceed.fault {
                    None if reply.status < 400 => open.pending.push(answer),
                    _ => outcome.doubtful.push(answer),
                }
                self.previous = (served.is_answered() && served.input.is_some()).then(|| {
                    let tokens = served.input.unwrap_or_default();
                    PreviousRequest { tokens, at: self.now(), in_turn: true, is_cut }
                });
                if let Err(error) = hand_over(turn, &reply, self.vendor().codec).await {
                    outcome.is_open = false;
                    outcome.error = Some((error.to_string(), open.is_hit));
                }
            }
            Ok(None) => {
                outcome.acknowledged.append(&mut open.pending);
                outcome.is_open = false;
            }
            Err(error) => {
                let is_limit = matches!(error, TurnError::Limit { .. });
                outcome.is_open = false;
                outcome.error = Some((error.to_string(), is_limit || open.is_hit));
            }
        }
        let rest = turn.report().usage.total().saturating_sub(self.most_charged(open));
        if rest > 0 {
            let text = format!("a turn reports {rest} tokens more than were charged");
            outcome.failure = Some(DayFailure::new(Invariant::Costs, text));
        }
    }

    /// The most tokens that the turn can have used so far.
    fn most_charged(&self, open: &OpenTurn) -> u64 {
        let summaries = self.summaries().total();
        open.charged.total() + summaries
    }

    /// Returns the tokens that the provider should have in its cache.
    fn cached(&self, is_cut: bool) -> Option<u64> {
        let previous = self.previous.filter(|previous| previous.tokens >= LEAST_CACHED)?;
        let is_kept = self.now() - previous.at < CACHED_FOR;
        // What was recalled for a question goes with the next one.
        let is_same = previous.in_turn || !self.vendor().memory;
        (is_kept && !is_cut && is_same).then_some(previous.tokens)
    }

    fn now(&self) -> i64 {
        self.clock.now().as_micros()
    }

    fn charge(&self, open: &mut OpenTurn, reply: &SimulatedReply, served: &Served, events: bool) {
        let is_whole = !reply.is_broken
            && !events
            && !matches!(served.fault, Some(ProviderFault::FailsMidway { .. }));
        let usage = match is_whole {
            true => usage_of(served),
            // Of an answer that broke off, the provider reports a part.
            false => reported(reply, self.vendor().codec).unwrap_or_default(),
        };
        open.charged += usage;
        open.usd += self.price(&usage);
    }

    pub(super) fn price(&self, usage: &Usage) -> f64 {
        let model = ModelTable::builtin().model(self.vendor().model);
        model.cost(usage).map_or(0.0, |cost| cost.amount)
    }
}

/// Whether something was left out of a request that was in the one before.
fn is_cut(context: &ModelContext) -> bool {
    context.plans.iter().any(|plan| plan.applied) || context.rewrite.is_some()
}

/// Returns the usage that the events of a reply report, as far as they arrived.
fn reported(reply: &SimulatedReply, codec: &str) -> Option<Usage> {
    let ReplyContent::Events(events) = &reply.content else { return None };
    let mut stream = provider(codec).ok()?.answer_stream();
    for event in events {
        stream.push(event).ok()?;
    }
    stream.finish().usage
}

/// Returns the body as a program sends it: one that wants events says so, except where another
/// address is for that, and asks for their usage.
fn as_sent(body: &str, codec: &str, events: bool) -> String {
    let asks = match codec {
        "openai" => r#","stream":true,"stream_options":{"include_usage":true}}"#,
        "gemini" => "}",
        _ => r#","stream":true}"#,
    };
    match body.strip_suffix('}').filter(|_| events) {
        Some(body) => format!("{body}{asks}"),
        None => body.to_owned(),
    }
}

/// Hands a reply to a turn as a program does.
async fn hand_over(
    turn: &mut Turn<'_>,
    reply: &SimulatedReply,
    codec: &str,
) -> Result<(), TurnError> {
    match &reply.content {
        ReplyContent::Body(body) if !reply.is_broken => turn.received(reply.status, body),
        ReplyContent::Body(_) => {
            let codec = provider(codec)?;
            turn.answered(reply.read(&*codec));
        }
        ReplyContent::Events(events) => {
            for event in events {
                turn.event(event).await?;
            }
            turn.events_ended();
        }
        // A reply of another kind is none.
        _ => turn.events_ended(),
    }
    Ok(())
}
