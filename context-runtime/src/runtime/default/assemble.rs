//! Assembling a request: its token counts, its prefix, the position of the recall, and the cache
//! breakpoints.

use std::sync::Arc;
use std::time::Duration;

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::Structure;
use context_core::message::MessageHash;
use context_core::model::{Budget, CacheMarks, TokenCount};
use context_core::runtime::{Breakdown, ModelContext, Prefix, PrepareInput};
use context_core::{Diagnostic, Message, ModelRequest, Timestamp};

use super::clearing::Cleared;
use super::count::Counting;
use super::fingerprint::ChainHash;
use super::index::less;
use super::parts::Parts;
use super::prefix::{self, PromptHash};
use super::prompt_cache::ChosenLifetime;
use super::readable;
use super::repair::Repaired;
use super::session::{ReportedRequest, SentRequest, Session, StaticTokens};
use crate::runtime::prompt::Prompt;

/// A call in preparation.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) parts: &'a Parts,
    pub(super) counting: &'a Counting,
    pub(super) input: PrepareInput,
    pub(super) prompt: Prompt,
    pub(super) prompt_hash: PromptHash,
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
        let message = session.recalls.get(&self.input.turn.id, &request?)?.message.as_ref()?;
        let counter = &*self.counting.counter;
        let mut tokens = counter.count_shared(message);
        if !self.parts.recall_place.is_message() {
            tokens = less(tokens, counter.framing().message);
        }
        Some(Recall { message: Arc::clone(message), tokens })
    }

    /// Returns the tokens of the parts before the history. Counts again only if these parts
    /// changed.
    pub(super) fn static_tokens(&self, session: &mut Session) -> StaticTokens {
        let layout = (self.prompt.before_instructions, self.prompt.instructions);
        let known = session.static_tokens.as_ref();
        if let Some(known) = known.filter(|known| {
            known.prompt_hash == self.prompt_hash
                && known.layout == layout
                && known.model == self.counting.model
        }) {
            return known.clone();
        }
        let counter = &*self.counting.counter;
        let count =
            |texts: &[String]| texts.iter().map(|text| counter.count(text)).sum::<TokenCount>();
        let (instructions, all) = (count(self.prompt.instructions()), count(&self.prompt.parts));
        let mut request = ModelRequest::default();
        request.tools.clone_from(&self.input.request.tools);
        request.output.clone_from(&self.input.request.output);
        let counted = counter.count_request(&request);
        let static_tokens = StaticTokens {
            prompt_hash: self.prompt_hash,
            model: self.counting.model.clone(),
            layout,
            system: less(all, instructions),
            instructions,
            tools: counted.tools + counted.output,
        };
        session.static_tokens = Some(static_tokens.clone());
        static_tokens
    }

    /// Returns the newest request with a report that this one begins with. The provider's count is
    /// then the base, and only the messages behind it are estimated.
    fn base(&self, session: &Session) -> Option<ReportedRequest> {
        let begins = |sent: &&SentRequest| {
            sent.prompt_hash == self.prompt_hash
                && sent.model == self.counting.model
                && sent.messages <= session.index.kept()
        };
        session.sent.as_ref().filter(begins)?.base
    }

    /// Returns by how much the provider's count of the base exceeds its estimate.
    pub(super) fn reported_excess(&self, session: &Session) -> i64 {
        self.base(session).map_or(0, |base| {
            let estimate = self.counting.calibration.apply(base.estimate).tokens();
            base.tokens as i64 - estimate as i64
        })
    }

    /// Returns the last request if this one has the same prompt and goes to the same cache.
    fn same_prompt<'s>(&self, session: &'s Session) -> Option<&'s SentRequest> {
        session.sent.as_ref().filter(|sent| {
            sent.prompt_hash == self.prompt_hash
                && sent.model == self.counting.model
                && sent.provider == self.input.provider
        })
    }

    /// Returns the last request if the provider may still have it in its cache.
    fn cached<'s>(&self, session: &'s Session) -> Option<&'s SentRequest> {
        let idle = self.idle(session)?;
        self.same_prompt(session).filter(|sent| idle < sent.lifetime)
    }

    /// Returns the time until the provider forgets the last request. `None` if it is not known, and
    /// if the request is not cached.
    pub(super) fn expires_in(&self, session: &Session) -> Option<Duration> {
        let until = self.cached(session)?.cached_until?;
        let left = until.as_micros().saturating_sub(self.now.as_micros());
        u64::try_from(left).ok().map(Duration::from_micros)
    }

    /// Returns the time since the last request of the chat.
    pub(super) fn idle(&self, session: &Session) -> Option<Duration> {
        let sent = session.sent.as_ref()?;
        let since = self.now.as_micros().saturating_sub(sent.at.as_micros());
        Some(Duration::from_micros(u64::try_from(since).unwrap_or(0)))
    }

    /// Returns how many messages of the history the provider may have in its cache. Messages that
    /// contain or follow a recall are cached only together with that same recall.
    pub(super) fn warm(&self, session: &Session, recall: Option<&Recall>) -> usize {
        self.cached(session).map_or(0, |sent| self.shared(session, sent, recall))
    }

    /// Returns the tokens that this request has in common with the last one, whether the provider
    /// still has them in its cache or not.
    pub(super) fn shared_tokens(
        &self,
        session: &Session,
        front: TokenCount,
        recall: Option<&Recall>,
    ) -> u64 {
        let Some(sent) = self.same_prompt(session) else { return 0 };
        let messages = self.shared(session, sent, recall);
        self.counting.calibration.apply(front + session.index.tokens(messages)).tokens()
    }

    /// Returns how many messages of the history this request has in common with the last one.
    fn shared(&self, session: &Session, sent: &SentRequest, recall: Option<&Recall>) -> usize {
        let kept = session.index.kept().min(sent.messages);
        let kept = session.newly_cleared.map_or(kept, |at| kept.min(at));
        let place = self.parts.recall_place;
        let stable = session.index.newest_request().map_or(0, |at| place.stable(at));
        let now = recall.map(|recall| (stable, recall.message.hash()));
        sent.shared(kept, now.as_ref())
    }
}

/// Returns the token counts of the request without the history.
pub(super) fn breakdown(
    call: &Call<'_>,
    static_tokens: &StaticTokens,
    recall: Option<&Recall>,
) -> Breakdown {
    let counting = call.counting;
    let apply = |count| counting.calibration.apply(count);
    let mut breakdown = Breakdown::default();
    breakdown.system = apply(static_tokens.system);
    breakdown.instructions = apply(static_tokens.instructions);
    breakdown.tools = apply(static_tokens.tools);
    breakdown.recall = apply(recall.map(|recall| recall.tokens).unwrap_or_default());
    breakdown.framing = apply(counting.counter.framing().request);
    breakdown
}

/// Hashes and token counts of the history that is sent.
struct PrefixStats {
    messages: usize,
    chain: ChainHash,
    /// The hash of the first messages of it, as many as the last request had.
    shared: ChainHash,
    tokens: TokenCount,
    checkpoint: TokenCount,
}

impl PrefixStats {
    fn of(session: &Session, call: &Call<'_>, repaired: &Repaired) -> Self {
        let messages = repaired.messages.len();
        let before = session.sent.as_ref().map_or(0, |sent| sent.messages.min(messages));
        let checkpoints = Structure::front(&repaired.messages);
        let counter = &*call.counting.counter;
        if repaired.is_same() {
            let index = &session.index;
            return Self {
                messages,
                chain: index.chain(messages),
                shared: index.chain(before),
                tokens: index.tokens(messages),
                checkpoint: less(index.tokens(checkpoints.end), index.tokens(checkpoints.start)),
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

/// The parts that a request is assembled from.
#[derive(Debug)]
pub(super) struct RequestParts {
    pub(super) repaired: Repaired,
    pub(super) recall: Option<Recall>,
    pub(super) static_tokens: StaticTokens,
    /// Does not include the history.
    pub(super) breakdown: Breakdown,
    pub(super) budget: Budget,
    pub(super) lifetime: ChosenLifetime,
    /// Whether a compaction took place since the last request.
    pub(super) cut: bool,
    /// The results that the provider clears of the request.
    pub(super) cleared: Cleared,
}

/// Positions in the messages of an assembled request.
#[derive(Clone, Debug, Default)]
pub(super) struct SentPositions {
    /// The message after which the provider's cache entry of the request before ends.
    pub(super) cached_end: Option<usize>,
    /// The recall, if it is a message of its own.
    pub(super) recall: Option<usize>,
    /// The messages with media.
    pub(super) with_media: Vec<usize>,
}

/// Fills in the messages and everything that depends on them, and records the request.
pub(super) fn messages(
    call: Call<'_>,
    session: &mut Session,
    request_parts: RequestParts,
    context: &mut ModelContext,
) -> SentPositions {
    let RequestParts { repaired, recall, static_tokens, mut breakdown, .. } = request_parts;
    let RequestParts { budget, lifetime, cut, cleared, .. } = request_parts;
    let stats = PrefixStats::of(session, &call, &repaired);
    let apply = |count| call.counting.calibration.apply(count);
    breakdown.checkpoint = apply(stats.checkpoint);
    let (base, excess) = (call.base(session), call.reported_excess(session));
    let history = apply(less(stats.tokens, stats.checkpoint));
    let change = excess.saturating_sub_unsigned(cleared.total);
    breakdown.history = TokenCount::estimate(
        history.tokens().saturating_add_signed(change),
        history.low().saturating_add_signed(change),
        history.high().saturating_add_signed(change),
    );
    let warm = call.warm(session, recall.as_ref());
    let is_cached = call.cached(session).is_some();
    let front = static_tokens.front();
    let reused = if is_cached { apply(front + session.index.tokens(warm)).tokens() } else { 0 };
    let reused = reused.saturating_sub(cleared.before(warm));

    let before = session.sent.take();
    let intact = before.as_ref().is_none_or(|before| {
        before.prompt_hash == call.prompt_hash
            && before.messages <= stats.messages
            && before.chain == stats.shared
    });
    context.prefix = Prefix::default();
    context.prefix.hash = call.prompt_hash.with(stats.chain);
    context.prefix.shared = before.as_ref().map(|_| call.prompt_hash.with(stats.shared));
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
    let cached_until = lifetime.cached_until(&call, total.tokens());
    context.prefix.cached_until = cached_until;
    if total.tokens() > budget.input() {
        context.diagnostics.push(Diagnostic::new(
            DiagnosticCode::ContextOverflow,
            Severity::Error,
            "messages",
            format!("the request has {} tokens, {} fit", total.tokens(), budget.input()),
        ));
    }

    // Behind the newest cleared result the next request differs, because it clears another one.
    let cleared_before = before.as_ref().map_or(0, |before| before.cleared_end);
    let cleared_ends = [cleared_before, cleared.end()].map(|end| repaired.end(end));
    let request = session.index.newest_request().and_then(|at| repaired.position(at));
    let mut with_media: Vec<usize> = match repaired.is_same() {
        true => session.index.media().to_vec(),
        false => {
            let messages = repaired.messages.iter().enumerate();
            messages.filter(|(_, it)| readable::has_media(it)).map(|(at, _)| at).collect()
        }
    };
    let mut messages = repaired.messages;
    if let Some(known) = &call.counting.modalities {
        let model = &call.counting.model;
        let report = session.placeholders.apply(&mut messages, &with_media, model, known);
        context.diagnostics.extend(report);
    }
    let mut system = call.prompt.into_texts();
    let place = call.parts.recall_place;
    let (mut sent_recall, mut stable, mut own_message) = (None, request.map(|at| at + 1), None);
    if let (Some(recall), Some(request)) = (&recall, request) {
        // The messages before the recall are the same with and without it, as is the prefix of the
        // next turn, and all calls of this turn have the recall at the same position.
        own_message = place.add(&recall.message, request, &mut messages, &mut system);
        for at in with_media.iter_mut().filter(|at| own_message.is_some_and(|own| **at >= own)) {
            *at += 1;
        }
        stable = Some(place.stable(request));
        sent_recall = Some((place.stable(request), recall.message.hash()));
    }
    let mut cache = CacheMarks::Auto;
    let before = before.as_ref().filter(|_| intact);
    let shared = before.map(|before| before.shared(before.messages, sent_recall.as_ref()));
    let end = shared.and_then(|shared| shared.checked_sub(1));
    let end = end.map(|end| end + usize::from(own_message.is_some_and(|own| end >= own)));
    if prefix::wants_marks(&call.input.provider) {
        let marks = if cleared.end() > 0 {
            let shifted =
                |end: &usize| end + usize::from(own_message.is_some_and(|own| own < *end));
            let ends = cleared_ends.iter().map(shifted).filter_map(|end| end.checked_sub(1));
            let mut ends: Vec<usize> = ends.collect();
            ends.dedup();
            ends
        } else {
            let stable = stable.and_then(|stable| stable.checked_sub(1));
            prefix::marks(messages.len(), stable, own_message, end)
        };
        if !marks.is_empty() {
            cache = CacheMarks::At(marks);
        }
    }

    let framing = call.counting.counter.framing().request;
    let recalled = recall.as_ref().map(|recall| recall.tokens).unwrap_or_default();
    session.sent = Some(SentRequest {
        at: call.now,
        lifetime: lifetime.lifetime,
        cached_until,
        provider: call.input.provider.clone(),
        model: call.counting.model.clone(),
        prompt_hash: call.prompt_hash,
        messages: stats.messages,
        chain: stats.chain,
        recall: sent_recall,
        estimate: less(front + stats.tokens + recalled + framing, TokenCount::exact(cleared.total)),
        cleared_end: cleared.end(),
        base,
        budget,
        breakdown,
    });
    session.index.sent();
    let rules = call.counting.cache_rules.as_deref();
    let key = call.parts.cache_key.of(&call.input.turn.chat, &call.counting.model, rules);
    let mut request = call.input.request;
    request.model = Some(call.counting.model.clone()).filter(|model| !model.is_empty());
    request.system = system;
    request.messages = messages;
    request.max_output_tokens = Some(budget.reserve);
    request.cache = cache;
    request.cache_key = request.cache_key.or(key);
    request.cache_lifetime = lifetime.asked;
    if let Some(clearing) = &call.parts.clearing {
        clearing.ask(&cleared, &mut request);
    }
    if let Some(content) = request.cached_content.take() {
        // Of a name alone nobody can send what it holds, so it is for the provider to refuse it.
        if content.fits(&request) || !content.is_known() {
            request.cached_content = Some(content);
        } else {
            context.diagnostics.push(Diagnostic::new(
                DiagnosticCode::CachedContentUnused,
                Severity::Warning,
                "cached_content",
                format!("the request does not begin with {}, so all of it is sent", content.name),
            ));
        }
    }
    context.request = request;
    context.budget = Some(budget);
    context.breakdown = breakdown;
    SentPositions { cached_end: end, recall: own_message, with_media }
}
