//! The simulator.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_core::model::{
    AnswerDelta, LanguageModel, ModelCodec, ModelErrorCode, ProviderCompaction, TokenCounter,
};
use context_core::{Answer, CancelSignal, Clock, Json, ModelError, ModelRequest, Timestamp};
use serde_json::Value;

use super::answer::{End, ProviderAnswer};
use super::behaviour::{Agent, Behaviour};
use super::cache::{CacheStrategy, CacheUsage, PromptCache};
use super::cached_contents::CachedContents;
use super::compose::Draft;
use super::edits::edited;
use super::fault::{ProviderFault, Script};
use super::forms::{self, Form};
use super::images::images;
use super::limits::Limits;
use super::log::Served;
use super::prompt::{boundaries, cut};
use super::refusal::Refusal;
use super::reply::{ReplyContent, SimulatedReply};
use super::validator::{ValidRequest, Validator, first_thought};

/// A provider and its model, in process. The [crate](crate#the-simulated-provider) has its rules.
///
/// Clones share their state: the number of requests, the prompt cache and the log.
///
/// ```
/// use std::sync::Arc;
///
/// use context_codec_openai::chat::ChatCodec;
/// use context_simulator::{ProviderFault, Simulator};
/// use context_core::{Message, MessageCodec, ModelRequest};
/// use context_core::model::{ModelErrorCode, TokenCount, TokenCounter};
///
/// #[derive(Debug)]
/// struct Bytes;
///
/// impl TokenCounter for Bytes {
///     fn name(&self) -> &str { "bytes" }
///     fn count(&self, text: &str) -> TokenCount { TokenCount::exact(text.len() as u64) }
/// }
///
/// let simulator = Simulator::new(Arc::new(ChatCodec), Arc::new(Bytes)).script([ProviderFault::Overloaded]);
/// let body = ChatCodec.lower(&ModelRequest::new([Message::from("A train?")]).model("gpt-4o"))?.body;
/// let refused = simulator.send(body.as_str()).read(&ChatCodec);
/// assert_eq!(refused.unwrap_err().code, ModelErrorCode::Overloaded);
/// assert!(simulator.send(body.as_str()).read(&ChatCodec).is_ok()); // the fault was for the first
/// assert_eq!(simulator.log().len(), 2);
/// # Ok::<(), context_core::model::WireError>(())
/// ```
#[derive(Clone)]
pub struct Simulator {
    codec: Arc<dyn ModelCodec>,
    counter: Arc<dyn TokenCounter>,
    behaviour: Arc<dyn Behaviour>,
    form: &'static dyn Form,
    limits: Limits,
    script: Script,
    model: String,
    clock: Option<Arc<dyn Clock>>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    requests: u64,
    cache: PromptCache,
    cached_contents: CachedContents,
    log: Vec<Served>,
    last: Option<String>,
}

impl Simulator {
    /// Creates a provider that uses the wire form of this codec and counts tokens with this
    /// counter. It has the limits of images and bodies that the provider publishes, no window
    /// limit, and an [`Agent`] as its model.
    ///
    /// # Panics
    ///
    /// If the simulator has no answers and refusals in the form of the codec's provider: it is for
    /// tests.
    pub fn new(codec: Arc<dyn ModelCodec>, counter: Arc<dyn TokenCounter>) -> Self {
        let name = codec.name();
        let form = forms::of(name).unwrap_or_else(|| {
            panic!("{name:?} has no form in `context-simulator/src/provider/forms`")
        });
        Self {
            codec,
            counter,
            behaviour: Arc::new(Agent::default()),
            form,
            limits: form.limits(),
            script: Script::default(),
            model: "simulated".to_owned(),
            clock: None,
            state: Arc::default(),
        }
    }

    /// Sets the window, in tokens.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.limits.window = Some(tokens);
        self
    }

    /// Sets the maximum number of tokens that the model writes.
    #[must_use]
    pub fn max_output(mut self, tokens: u64) -> Self {
        self.limits.max_output = Some(tokens);
        self
    }

    /// Sets the maximum size of a body, in bytes.
    #[must_use]
    pub fn max_request_bytes(mut self, bytes: u64) -> Self {
        self.limits.request_bytes = Some(bytes);
        self
    }

    /// Sets the maximum number of images in a request.
    #[must_use]
    pub fn max_images(mut self, count: u64) -> Self {
        self.limits.images = Some(count);
        self
    }

    /// Sets the maximum size of an image, in bytes.
    #[must_use]
    pub fn max_image_bytes(mut self, bytes: u64) -> Self {
        self.limits.image_bytes = Some(bytes);
        self
    }

    /// Sets the maximum length of an edge of an image, in pixels.
    #[must_use]
    pub fn max_image_pixels(mut self, pixels: u64) -> Self {
        self.limits.image_pixels = Some(pixels);
        self
    }

    /// Sets the faults.
    #[must_use]
    pub fn script(mut self, script: impl Into<Script>) -> Self {
        self.script = script.into();
        self
    }

    /// Sets the behaviour of the model.
    #[must_use]
    pub fn behaviour(mut self, behaviour: impl Behaviour + 'static) -> Self {
        self.behaviour = Arc::new(behaviour);
        self
    }

    /// Sets the name of the model, for bodies that do not name one.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = name.into();
        self
    }

    /// Sets the clock by which entries of the prompt cache and cached contents expire. Without one
    /// they never do.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Stores cached content, as Gemini does for a call of `cachedContents`, and returns its name.
    ///
    /// # Panics
    ///
    /// If the body is not a JSON object: it is for tests.
    pub fn store_content(&self, body: &str) -> String {
        let body = serde_json::from_str(body).expect("the body of a call of cachedContents");
        let now = self.now();
        self.state().cached_contents.store(body, now)
    }

    fn now(&self) -> Option<Timestamp> {
        self.clock.as_ref().map(|clock| clock.now())
    }

    /// Accepts a body and replies, streamed if the body asks for it.
    pub fn send(&self, body: &str) -> SimulatedReply {
        self.serve(body, false)
    }

    /// Accepts a body and replies streamed, as an endpoint does that always streams.
    pub fn stream(&self, body: &str) -> SimulatedReply {
        self.serve(body, true)
    }

    /// Returns the provider whose wire form the simulator uses: the name of its codec.
    pub fn provider(&self) -> &'static str {
        self.codec.name()
    }

    /// Returns the requests so far and their outcomes, in the order of the replies.
    pub fn log(&self) -> Vec<Served> {
        self.state().log.clone()
    }

    /// Removes the log and returns it, so that a long run stays small. Later requests are numbered
    /// on.
    pub fn take_log(&self) -> Vec<Served> {
        std::mem::take(&mut self.state().log)
    }

    /// Returns the number of requests so far: the index of the next one in a [`Script`].
    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// Returns the body of the newest request.
    pub fn last_body(&self) -> Option<String> {
        self.state().last.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No panic under the lock can leave a partial entry.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn validator(&self) -> Validator<'_> {
        Validator {
            codec: &*self.codec,
            counter: &*self.counter,
            limits: self.limits,
            counts_output: self.form.counts_output(),
        }
    }

    fn serve(&self, body: &str, in_events: bool) -> SimulatedReply {
        let number = {
            let mut state = self.state();
            state.last = Some(body.to_owned());
            state.requests += 1;
            state.requests - 1
        };
        let fault = self.script.fault(number);
        let mut served = Served::new(number, body.len(), fault);
        let mut reply = match self.answer(body, &mut served) {
            Ok((answer, asks_for_events)) => {
                self.write(&answer, in_events || asks_for_events, fault)
            }
            Err((refusal, model)) => self.refuse(&refusal, &model),
        };
        if reply.status >= 400 {
            served.refused = reply.read(&*self.codec).err().map(|error| error.code);
        }
        if let Some(ProviderFault::BrokenStream { after_events }) =
            fault.filter(|_| reply.status < 400)
        {
            reply.break_off(after_events);
        }
        served.status = reply.status;
        self.state().log.push(served);
        reply
    }

    /// Returns the answer to a body and whether it is streamed, or the refusal and the model that
    /// the body names.
    fn answer(
        &self,
        body: &str,
        served: &mut Served,
    ) -> Result<(ProviderAnswer, bool), (Refusal, String)> {
        let refused = |refusal| (refusal, self.model.clone());
        let fault = served.fault;
        if let Some(most) = self.limits.request_bytes.filter(|most| body.len() as u64 > *most) {
            return Err(refused(Refusal::Body { most }));
        }
        let body: Value = serde_json::from_str(body).map_err(|_| refused(Refusal::NoJson))?;
        let model = body.get("model").and_then(Value::as_str).unwrap_or(&self.model).to_owned();
        let refused = |refusal| (refusal, model.clone());
        let validator = self.validator();
        served.violations = validator.violations(&body);
        if let Some(fault) = fault.filter(|fault| fault.comes_first()) {
            return Err(refused(Refusal::unread(fault)));
        }
        if let Some(first) = served.violations.first() {
            return Err(refused(Refusal::Rule(first.clone())));
        }
        let now = self.now();
        let composed = self.state().cached_contents.composed(body, now).map_err(refused)?;
        let body = edited(self.codec.name(), composed.body, |body| validator.count(body));
        let mut valid = validator.read(&body).map_err(refused)?;
        let asks_for_compaction = asks_for_compaction(self.codec.name(), &body);
        valid.request.compaction = asks_for_compaction.then(ProviderCompaction::new);
        let stored = composed.stored.map_or(0, |stored| validator.count(&stored));
        served.input = Some(valid.input);
        if let Some(refusal) = fault.and_then(|fault| self.scripted(fault, &body, &valid)) {
            return Err(refused(refusal));
        }
        if let Some(refusal) = validator.limits(&body, &valid) {
            return Err(refused(refusal));
        }
        let mut cached = self.cached(&model, &body, &valid);
        cached.read = cached.read.max(stored);
        let asks_for_events = body.get("stream").and_then(Value::as_bool) == Some(true);
        let reports_usage = body.pointer("/stream_options/include_usage").and_then(Value::as_bool);
        let asked = valid.request.max_output_tokens.into_iter().chain(self.limits.max_output);
        let cut_off = match fault {
            Some(ProviderFault::CutOff { tokens }) => Some(tokens),
            _ => None,
        };
        let draft = Draft {
            counter: &*self.counter,
            number: served.number,
            model: model.clone(),
            input: valid.input,
            cached,
            reports_usage: reports_usage == Some(true),
            most: asked.chain(cut_off).min(),
        };
        let answer = match fault {
            Some(ProviderFault::EmptyAnswer) => draft.nothing(End::Done),
            Some(ProviderFault::ContentFilter) => draft.nothing(End::Filtered),
            _ => {
                let mut answer = draft.answer(self.behaviour.answer(&valid.request));
                if asks_for_compaction {
                    answer = answer.compacted();
                }
                if cut_off.is_some() {
                    answer.end = End::Length;
                }
                answer
            }
        };
        (served.cache_read, served.cache_write) = (cached.read, cached.written);
        served.cache_write_long = cached.written_long;
        served.output = answer.usage.output;
        Ok((answer, asks_for_events))
    }

    /// Returns the refusal that the script asks for, regardless of the request.
    fn scripted(
        &self,
        fault: ProviderFault,
        body: &Value,
        valid: &ValidRequest,
    ) -> Option<Refusal> {
        let somewhere = || "messages[0].content[0]".to_owned();
        Some(match fault {
            ProviderFault::Overflow => {
                let window =
                    self.limits.window.unwrap_or_else(|| valid.input.saturating_sub(1).max(1));
                let input = valid.input.max(window.saturating_add(1));
                Refusal::Window { input, output: None, window }
            }
            ProviderFault::OutputTooLarge => {
                let asked = valid.request.max_output_tokens.unwrap_or(4_096).max(2);
                let most = self.limits.max_output.filter(|most| *most < asked).unwrap_or(asked / 2);
                Refusal::Output { asked, most }
            }
            ProviderFault::ImageTooLarge => {
                let most = self.limits.image_bytes.unwrap_or(5 << 20);
                let found = images(body);
                let path = found.first().map_or_else(somewhere, |image| image.path.clone());
                let bytes =
                    found.first().map_or(0, |image| image.bytes()).max(most.saturating_add(1));
                Refusal::ImageBytes { path, bytes, most }
            }
            ProviderFault::SignatureRefused => {
                Refusal::Signature { path: first_thought(body).unwrap_or_else(somewhere) }
            }
            _ => return None,
        })
    }

    fn cached(&self, model: &str, body: &Value, valid: &ValidRequest) -> CacheUsage {
        let provider = self.codec.name();
        let boundaries = boundaries(provider, model, body);
        let validator = self.validator();
        let count = |position| validator.count(&cut(provider, body, position));
        let (strategy, now) = (CacheStrategy::of(provider), self.now());
        self.state().cache.take(strategy, &boundaries, valid.input, now, count)
    }

    fn refuse(&self, refusal: &Refusal, model: &str) -> SimulatedReply {
        let (status, body) = self.form.refuse(refusal, model);
        let mut reply = SimulatedReply::new(status, ReplyContent::Body(body));
        if let Refusal::Rate { retry_after } = refusal {
            reply.retry_after = *retry_after;
        }
        reply
    }

    fn write(
        &self,
        answer: &ProviderAnswer,
        in_events: bool,
        fault: Option<ProviderFault>,
    ) -> SimulatedReply {
        if !in_events {
            return match fault {
                Some(ProviderFault::FailsMidway { .. }) => {
                    self.refuse(&Refusal::Overloaded, &answer.model)
                }
                _ => SimulatedReply::new(
                    200,
                    ReplyContent::Body(self.form.answer(answer).to_string()),
                ),
            };
        }
        let mut events = self.form.events(answer);
        if let Some(ProviderFault::FailsMidway { after_events }) = fault {
            events.truncate(after_events.min(events.len().saturating_sub(1)));
            events.push(self.form.failed(answer));
        }
        SimulatedReply::new(200, ReplyContent::Events(events))
    }
}

/// Returns whether a body asks its provider to compact the conversation.
fn asks_for_compaction(provider: &str, body: &Value) -> bool {
    let kind = |value: &Value| value.get("type").and_then(Value::as_str).map(str::to_owned);
    let last = || body.get("input").and_then(Value::as_array).and_then(|items| items.last());
    match provider {
        "anthropic" => body.get("compaction").and_then(kind).is_some(),
        "openai-responses" => last().and_then(kind).as_deref() == Some("compaction_trigger"),
        _ => false,
    }
}

#[async_trait]
impl LanguageModel for Simulator {
    fn name(&self) -> &str {
        &self.model
    }

    /// Lowers the request, sends it and reads the reply, streamed if the request asks for it.
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        let body = self.lowered(request, cancel)?;
        let reply = match request.stream {
            Some(true) => self.stream(body.as_str()),
            _ => self.send(body.as_str()),
        };
        reply.read(&*self.codec)
    }

    /// Sends the request for a streamed reply, and passes on the deltas of its events.
    async fn stream(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<Answer, ModelError> {
        let mut request = request.clone();
        request.stream = Some(true);
        if self.codec.name() == "openai" {
            // Chat Completions report usage in a stream only on request.
            let usage = serde_json::json!({"stream_options": {"include_usage": true}});
            request.metadata.insert("openai.body", usage);
        }
        let body = self.lowered(&request, cancel)?;
        Self::stream(self, body.as_str()).read_shown(&*self.codec, show)
    }
}

impl Simulator {
    #[expect(clippy::result_large_err, reason = "so is the result of every model")]
    fn lowered(&self, request: &ModelRequest, cancel: &CancelSignal) -> Result<Json, ModelError> {
        let fault = |code, answer: String| ModelError::new(self.codec.name(), code, answer);
        if cancel.is_cancelled() {
            return Err(fault(ModelErrorCode::Unknown, "cancelled".to_owned()));
        }
        let lowered = self.codec.lower(request);
        let lowered =
            lowered.map_err(|error| fault(ModelErrorCode::InvalidRequest, error.to_string()))?;
        Ok(lowered.body)
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator")
            .field("provider", &self.codec.name())
            .field("model", &self.model)
            .field("limits", &self.limits)
            .field("script", &self.script)
            .finish_non_exhaustive()
    }
}
