//! The simulated provider of a conversation, with what it charges.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use context_runtime::model::{Answer, ModelCodec, ModelError, ModelRequest};
use context_runtime::provider;
use context_runtime::tokens::{ModelTable, TokenCounter};
use context_simulator::{AnswerPiece, Behaviour, ConversationReplay, Served, Simulator};

use super::summary::{budget, summary};

/// The provider with explicit cache breakpoints, which reports cached tokens.
pub(crate) const PROVIDER: &str = "anthropic";
/// The model whose prices are charged.
pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// A provider that repeats the answers of a conversation and writes summaries.
pub(crate) struct Provider {
    codec: Arc<dyn ModelCodec>,
    model: Simulator,
    summarising: Arc<AtomicBool>,
    summary_tokens: u64,
    /// The cents charged, for calls and for summaries.
    pub(crate) cents: [f64; 2],
    /// The tokens read and written for summaries.
    pub(crate) summarised: u64,
}

struct Model {
    replay: ConversationReplay,
    summarising: Arc<AtomicBool>,
    tokens: u64,
    counter: Arc<dyn TokenCounter>,
}

impl Behaviour for Model {
    fn answer(&self, request: &ModelRequest) -> Vec<AnswerPiece> {
        if !self.summarising.load(Ordering::Relaxed) {
            return self.replay.answer(request);
        }
        // Counts of lines do not add up exactly, and an answer that is cut off is no summary.
        let tokens = self.tokens - self.tokens / 20;
        vec![AnswerPiece::text(summary(request, tokens, &*self.counter))]
    }
}

/// The outcome of a request.
pub(crate) struct Reply {
    pub(crate) answer: Result<Answer, ModelError>,
    pub(crate) served: Served,
    /// The body that was sent.
    pub(crate) body: String,
}

impl Provider {
    pub(crate) fn new(
        replay: &ConversationReplay,
        window: u64,
        counter: &Arc<dyn TokenCounter>,
    ) -> Self {
        let codec = provider(PROVIDER).unwrap();
        let summarising = Arc::new(AtomicBool::new(false));
        let model = Model {
            replay: replay.clone(),
            summarising: Arc::clone(&summarising),
            tokens: budget(window),
            counter: Arc::clone(counter),
        };
        Self {
            model: Simulator::new(Arc::clone(&codec), Arc::clone(counter))
                .window(window)
                .behaviour(model),
            codec,
            summarising,
            summary_tokens: budget(window),
            cents: [0.0; 2],
            summarised: 0,
        }
    }

    /// Sends the request of a call.
    pub(crate) fn send(&mut self, request: &ModelRequest) -> Reply {
        let body = self.codec.lower(request).unwrap().body;
        let answer = self.model.send(body.as_str()).read(&*self.codec);
        let kind = usize::from(self.summarising.load(Ordering::Relaxed));
        let usage = answer.as_ref().ok().and_then(|answer| answer.usage.as_ref());
        let cost = usage.and_then(|usage| ModelTable::builtin().model(MODEL).cost(usage));
        self.cents[kind] += cost.map_or(0.0, |cost| cost.amount * 100.0);
        let served = self.model.log().pop().unwrap();
        Reply { answer, served, body: body.as_str().to_owned() }
    }

    /// Sends a request for a summary, and returns the answer unless it was refused. The request
    /// goes through the same prompt cache as the calls, and the longest answer is the same for all.
    pub(crate) fn summarize(&mut self, request: &ModelRequest) -> Option<Answer> {
        let mut request = request.clone();
        request.model.get_or_insert_with(|| MODEL.to_owned());
        request.max_output_tokens = Some(self.summary_tokens);
        self.summarising.store(true, Ordering::Relaxed);
        let reply = self.send(&request);
        self.summarising.store(false, Ordering::Relaxed);
        if reply.served.is_answered() {
            self.summarised += reply.served.input.unwrap_or_default() + reply.served.output;
        }
        reply.answer.ok()
    }
}
