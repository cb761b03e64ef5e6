//! Assembling a request: its token counts, its prefix, the position of the recall, and the cache
//! breakpoints.

use std::ops::Range;
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::message::MessageHash;
use context_core::model::{Budget, TokenCount};
use context_core::runtime::{Breakdown, ModelContext, Prefix, PrepareInput};
use context_core::{Diagnostic, Message, Role, Timestamp};

use super::chain::ChainHash;
use super::count::Counting;
use super::parts::Parts;
use super::prefix::{self, Start};
use super::prompt::Prompt;
use super::repair::Repaired;
use super::session::{Fixed, Sent, Session};
use super::track::less;

/// A call in preparation.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) parts: &'a Parts,
    pub(super) counting: &'a Counting,
    pub(super) input: PrepareInput,
    pub(super) prompt: Prompt,
    pub(super) start: Start,
    pub(super) now: Timestamp,
}

/// The recall of the turn.
#[derive(Clone, Debug)]
pub(super) struct Recall {
    message: Arc<Message>,
    tokens: TokenCount,
}

impl Call<'_> {
    /// Returns the recall for the newest request.
    pub(super) fn recalled(
        &self,
        session: &Session,
        request: Option<MessageHash>,
    ) -> Option<Recall> {
        let known = session.recall.as_ref()?;
        let is_of = known.is_of(&self.input.turn_id, &request?);
        let message = known.message.as_ref().filter(|_| is_of)?;
        let tokens = self.counting.counter.count_shared(message);
        Some(Recall { message: Arc::clone(message), tokens })
    }

    /// Returns the tokens of the parts before the history. Counts again only if these parts
    /// changed.
    pub(super) fn fixed(&self, session: &mut Session) -> Fixed {
        let layout = (self.prompt.before_instructions, self.prompt.instructions);
        let known = session.fixed.as_ref();
        if let Some(known) = known.filter(|known| {
            known.start == self.start
                && known.layout == layout
                && known.model == self.counting.model
        }) {
            return known.clone();
        }
        let counter = &*self.counting.counter;
        let count =
            |texts: &[String]| texts.iter().map(|text| counter.count(text)).sum::<TokenCount>();
        let (instructions, all) = (count(self.prompt.instructions()), count(&self.prompt.parts));
        let mut request = context_core::ModelRequest::new(std::iter::empty::<Arc<Message>>());
        request.tools.clone_from(&self.input.tools);
        request.output.clone_from(&self.input.output);
        let counted = counter.count_request(&request);
        let fixed = Fixed {
            start: self.start,
            model: self.counting.model.clone(),
            layout,
            system: less(all, instructions),
            instructions,
            tools: counted.tools + counted.output,
        };
        session.fixed = Some(fixed.clone());
        fixed
    }

    /// Returns the last request if the provider may still have it in its cache.
    fn cached<'s>(&self, session: &'s Session) -> Option<&'s Sent> {
        let lifetime = i64::try_from(self.parts.cache_lifetime.as_micros()).unwrap_or(i64::MAX);
        session.sent.as_ref().filter(|sent| {
            let age = self.now.as_micros().saturating_sub(sent.at.as_micros());
            age < lifetime
                && sent.start == self.start
                && sent.model == self.counting.model
                && sent.provider == self.input.provider
        })
    }

    /// Returns how many messages of the history the provider may have in its cache. Messages after
    /// a recall are cached only together with that same recall.
    pub(super) fn warm(&self, session: &Session, recall: Option<&Recall>) -> usize {
        let Some(sent) = self.cached(session) else { return 0 };
        let kept = session.track.kept().min(sent.messages);
        let behind = session.track.newest_request().map_or(0, |at| at + 1);
        let now = recall.map(|recall| (behind, recall.message.hash()));
        match &sent.recall {
            then if *then == now => kept,
            Some((then, _)) => kept.min(*then).min(if now.is_some() { behind } else { usize::MAX }),
            None => kept.min(behind),
        }
    }
}

/// Returns the token counts of the request without the history.
pub(super) fn breakdown(call: &Call<'_>, fixed: &Fixed, recall: Option<&Recall>) -> Breakdown {
    let counting = call.counting;
    let apply = |count| counting.calibration.apply(count);
    let mut breakdown = Breakdown::default();
    breakdown.system = apply(fixed.system);
    breakdown.instructions = apply(fixed.instructions);
    breakdown.tools = apply(fixed.tools);
    breakdown.recall = apply(recall.map(|recall| recall.tokens).unwrap_or_default());
    breakdown.framing = apply(counting.counter.framing().request);
    breakdown
}

/// Hashes and token counts of the history that is sent.
struct Stable {
    messages: usize,
    chain: ChainHash,
    /// The hash of the first messages of it, as many as the last request had.
    shared: ChainHash,
    tokens: TokenCount,
    checkpoint: TokenCount,
}

impl Stable {
    fn of(session: &Session, call: &Call<'_>, repaired: &Repaired) -> Self {
        let messages = repaired.messages.len();
        let before = session.sent.as_ref().map_or(0, |sent| sent.messages.min(messages));
        let checkpoints = checkpoints(&repaired.messages);
        let counter = &*call.counting.counter;
        if repaired.is_same() {
            let track = &session.track;
            return Self {
                messages,
                chain: track.chain(messages),
                shared: track.chain(before),
                tokens: track.tokens(messages),
                checkpoint: less(track.tokens(checkpoints.end), track.tokens(checkpoints.start)),
            };
        }
        let mut chain = ChainHash::default();
        let mut shared = chain;
        for (at, message) in repaired.messages.iter().enumerate() {
            chain = chain.then(&message.hash());
            if at + 1 == before {
                shared = chain;
            }
        }
        let tokens = counter.count_messages(&repaired.messages);
        let checkpoint = counter.count_messages(&repaired.messages[checkpoints]);
        Self { messages, chain, shared, tokens, checkpoint }
    }
}

/// Returns the positions of the checkpoints: at the front, after leading system messages.
fn checkpoints(messages: &[Arc<Message>]) -> Range<usize> {
    let system = messages.iter().take_while(|message| message.role == Role::System).count();
    let checkpoints =
        messages[system..].iter().take_while(|message| message.is_checkpoint()).count();
    system..system + checkpoints
}

/// The intermediate results of an input, before its messages are assembled.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) repaired: Repaired,
    pub(super) recall: Option<Recall>,
    pub(super) fixed: Fixed,
    /// Does not include the history.
    pub(super) breakdown: Breakdown,
    pub(super) budget: Budget,
    /// Whether a compaction took place since the last request.
    pub(super) cut: bool,
}

/// Fills in the messages and everything that depends on them, and records the request.
pub(super) fn messages(
    call: Call<'_>,
    session: &mut Session,
    made: Made,
    context: &mut ModelContext,
) {
    let Made { repaired, recall, fixed, mut breakdown, budget, cut } = made;
    let stable = Stable::of(session, &call, &repaired);
    let apply = |count| call.counting.calibration.apply(count);
    breakdown.checkpoint = apply(stable.checkpoint);
    breakdown.history = apply(less(stable.tokens, stable.checkpoint));
    let warm = call.warm(session, recall.as_ref());
    let is_cached = call.cached(session).is_some();
    let front = fixed.system + fixed.instructions + fixed.tools;
    let reused = if is_cached { apply(front + session.track.tokens(warm)).tokens() } else { 0 };

    let before = session.sent.take();
    let intact = before.as_ref().is_none_or(|before| {
        before.start == call.start
            && before.messages <= stable.messages
            && before.chain == stable.shared
    });
    context.prefix = Prefix::default();
    context.prefix.hash = call.start.with(stable.chain);
    context.prefix.shared = before.as_ref().map(|_| call.start.with(stable.shared));
    context.prefix.intact = intact;
    context.prefix.reused = reused;
    context.metadata.insert("prefix_hash", serde_json::Value::from(context.prefix.hash.as_str()));
    if !intact && !cut {
        context.diagnostics.push(Diagnostic::new(
            DiagnosticCode::PrefixChanged,
            Severity::Warning,
            "prefix",
            "the request does not begin as the one before it: the provider's cache is lost from the change on",
        ));
    }
    let total = breakdown.total();
    if total.tokens() > budget.input() {
        context.diagnostics.push(Diagnostic::new(
            DiagnosticCode::ContextOverflow,
            Severity::Error,
            "messages",
            format!("the request has {} tokens, {} fit", total.tokens(), budget.input()),
        ));
    }

    let request = session.track.newest_request().and_then(|at| repaired.position(at));
    context.messages = repaired.messages;
    let mut place = None;
    if let (Some(recall), Some(request)) = (&recall, request) {
        // The recall stands after the request. The messages up to and including the request are
        // then the same with and without it, as is the prefix of the next turn, and all calls of
        // this turn have the recall at the same position.
        context.messages.insert(request + 1, Arc::clone(&recall.message));
        place = Some(request + 1);
    }
    if prefix::wants_marks(&call.input.provider) {
        let end =
            before.as_ref().filter(|_| intact).and_then(|before| before.messages.checked_sub(1));
        let end =
            end.map(|end| if place.is_some_and(|place| end >= place) { end + 1 } else { end });
        context.cache_breakpoints = prefix::marks(context.messages.len(), request, place, end);
    }

    let framing = call.counting.counter.framing().request;
    let recalled = recall.as_ref().map(|recall| recall.tokens).unwrap_or_default();
    let hash = recall.as_ref().map(|recall| recall.message.hash());
    session.sent = Some(Sent {
        at: call.now,
        provider: call.input.provider.clone(),
        model: call.counting.model.clone(),
        start: call.start,
        messages: stable.messages,
        chain: stable.chain,
        recall: place.zip(hash),
        added: apply(less(stable.tokens, session.track.tokens(session.track.len()))).tokens(),
        estimate: front + stable.tokens + recalled + framing,
        budget,
    });
    session.track.sent();
    context.model = call.counting.model.clone();
    context.system_prompt = call.prompt.joined();
    context.system_prompt_parts = call.prompt.parts;
    context.tools = call.input.tools;
    context.tool_choice = call.input.tool_choice;
    context.output = call.input.output;
    context.max_output_tokens = Some(budget.reserve);
    context.budget = Some(budget);
    context.breakdown = breakdown;
}
