//! Models.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use context_codec_anthropic::messages::MessagesCodec;
use context_codec_gemini::generate::GenerateCodec;
use context_codec_openai::chat::{self, ChatCodec};
use context_codec_openai::responses::ResponsesCodec;
use context_core::base::JsonMap;
use context_core::model::{AnswerDelta, LanguageModel, ModelCodec, ModelErrorCode};
use context_core::{Answer, CancelSignal, Json, MessageCodec, ModelError, ModelRequest};
use context_http::{Client, HttpReply, Request, Retries};

use crate::endpoint::KeyHeader;
use crate::{Endpoint, SetupError, fault};

/// The key of a body of Chat Completions that asks for usage in a stream.
const STREAM_OPTIONS: &str = "stream_options";

/// A language model at an [`Endpoint`]. A clone is the same model, with the same connections.
/// `Debug` shows no key.
#[derive(Clone)]
#[must_use]
pub struct HttpModel {
    pub(crate) client: Client,
    pub(crate) codec: Arc<dyn ModelCodec>,
    path: RequestPath,
    name: String,
    in_events: bool,
    usage_in_events: bool,
    older_max_tokens: bool,
    /// Keys added to every body that does not have them.
    keys: JsonMap,
}

/// The path of a request below the address of the service.
#[derive(Clone, Copy, Debug)]
enum RequestPath {
    /// The same for every model.
    Fixed(&'static str),
    /// The model and the action, as in `models/NAME:generateContent`.
    ModelAction,
}

impl RequestPath {
    /// Returns the request to this path for a model.
    fn request(self, model: &str, in_events: bool) -> Request {
        let path = match self {
            Self::Fixed(path) => return Request::post(path),
            // A name such as `tunedModels/train-7` brings its collection along.
            Self::ModelAction if model.contains('/') => model.to_owned(),
            Self::ModelAction => format!("models/{model}"),
        };
        match in_events {
            true => Request::post(&format!("{path}:streamGenerateContent")).query("alt", "sse"),
            false => Request::post(&format!("{path}:generateContent")),
        }
    }
}

impl HttpModel {
    /// Creates a model of this name over Chat Completions.
    pub fn chat(name: impl Into<String>, endpoint: Endpoint) -> Result<Self, SetupError> {
        Self::new(
            name,
            endpoint,
            KeyHeader::OpenAi,
            Arc::new(ChatCodec),
            RequestPath::Fixed("chat/completions"),
        )
    }

    /// Creates a model of this name over the Responses API.
    pub fn responses(name: impl Into<String>, endpoint: Endpoint) -> Result<Self, SetupError> {
        Self::new(
            name,
            endpoint,
            KeyHeader::OpenAi,
            Arc::new(ResponsesCodec),
            RequestPath::Fixed("responses"),
        )
    }

    /// Creates a model of this name over Anthropic's Messages API.
    pub fn messages(name: impl Into<String>, endpoint: Endpoint) -> Result<Self, SetupError> {
        Self::new(
            name,
            endpoint,
            KeyHeader::Anthropic,
            Arc::new(MessagesCodec),
            RequestPath::Fixed("messages"),
        )
    }

    /// Creates a model of this name over Gemini's `generateContent`.
    pub fn generate_content(
        name: impl Into<String>,
        endpoint: Endpoint,
    ) -> Result<Self, SetupError> {
        let path = RequestPath::ModelAction;
        Self::new(name, endpoint, KeyHeader::Gemini, Arc::new(GenerateCodec), path)
    }

    fn new(
        name: impl Into<String>,
        endpoint: Endpoint,
        key_header: KeyHeader,
        codec: Arc<dyn ModelCodec>,
        path: RequestPath,
    ) -> Result<Self, SetupError> {
        let name = name.into();
        let client = endpoint.client(key_header, ("model", &name))?;
        Ok(Self {
            client,
            codec,
            path,
            name,
            in_events: false,
            usage_in_events: true,
            older_max_tokens: false,
            keys: JsonMap::new(),
        })
    }

    /// Sets whether [`complete`](LanguageModel::complete) streams as well. Some services close
    /// connections without traffic. A request that sets `stream` itself overrides this. Default:
    /// no.
    pub fn in_events(mut self, in_events: bool) -> Self {
        self.in_events = in_events;
        self
    }

    /// Sets whether Chat Completions are asked to report usage in a stream, which a few servers
    /// refuse. Default: yes.
    pub fn usage_in_events(mut self, wanted: bool) -> Self {
        self.usage_in_events = wanted;
        self
    }

    /// Sets whether Chat Completions get the output limit under the older key `max_tokens`, the
    /// only one that some local servers know. Default: no.
    pub fn older_max_tokens(mut self, older: bool) -> Self {
        self.older_max_tokens = older;
        self
    }

    /// Sets how often a request is sent again, in place of the endpoint's
    /// [retries](context_http::ClientOptions::retries). [`Retries::none`] is for callers that retry
    /// themselves.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.client = self.client.with_retries(retries);
        self
    }

    /// Adds this key to every body that does not have it, such as `thinking` or `reasoning_effort`.
    /// A request sets keys of its own in its [metadata](ModelRequest::metadata).
    pub fn body_key(mut self, key: impl Into<String>, value: impl Into<Json>) -> Self {
        self.keys.insert(key.into(), value.into());
        self
    }

    /// Returns the codec.
    pub fn codec(&self) -> Arc<dyn ModelCodec> {
        Arc::clone(&self.codec)
    }

    /// Returns the HTTP request for a model request.
    #[expect(clippy::result_large_err, reason = "so is the result of every model")]
    pub(crate) fn lowered(
        &self,
        request: &ModelRequest,
        in_events: bool,
    ) -> Result<Request, ModelError> {
        let mut request = request.clone();
        request.model.get_or_insert_with(|| self.name.clone());
        request.stream = in_events.then_some(true);
        let is_chat = self.codec.name() == ChatCodec.name();
        if is_chat && self.older_max_tokens {
            request.metadata.insert(chat::MAX_TOKENS_KEY, serde_json::Value::from(true));
        }
        let mut keys = self.keys.clone();
        if is_chat && in_events && self.usage_in_events {
            let usage = serde_json::json!({"include_usage": true});
            keys.entry(STREAM_OPTIONS.to_owned()).or_insert_with(|| usage.into());
        }
        add_keys(&mut request, &format!("{}.body", self.codec.name()), keys);
        let lowered = self.codec.lower(&request);
        let lowered = lowered
            .map_err(|error| self.error(ModelErrorCode::InvalidRequest, &error.to_string()))?;
        // The service stores nothing that a second request would change; a repetition only costs
        // its price.
        let model = request.model.as_deref().unwrap_or(&self.name);
        let mut sent = self.path.request(model, in_events).body(&lowered.body).repeatable(true);
        for (name, value) in lowered.headers {
            sent = sent.listed_header(name, value);
        }
        Ok(if in_events { sent.for_events() } else { sent })
    }

    /// Returns the answer in a whole reply.
    #[expect(clippy::result_large_err, reason = "so is the result of every model")]
    pub(crate) fn read(&self, reply: &HttpReply) -> Result<Answer, ModelError> {
        let Ok(body) = Json::from_text(reply.text()) else {
            let kind = reply.content_type.as_deref().unwrap_or("nothing in particular");
            let message = format!("the answer is not JSON; its type is {kind}");
            return Err(self.error(ModelErrorCode::Unknown, &message));
        };
        let answer = self.codec.lift_answer(&body);
        let mut answer =
            answer.map_err(|error| self.error(ModelErrorCode::Unknown, &error.to_string()))?;
        if !answer.complete && answer.error.is_none() && answer.message.parts.is_empty() {
            let message = "the answer has neither content nor an end";
            answer.error = Some(self.error(ModelErrorCode::Unknown, message));
        }
        self.settled(answer)
    }

    /// Returns the answer, or the error that the service sent instead. An answer that broke off
    /// keeps its whole parts besides the error.
    #[expect(clippy::result_large_err, reason = "so is the result of every model")]
    pub(crate) fn settled(&self, mut answer: Answer) -> Result<Answer, ModelError> {
        if let Some(error) = &mut answer.error {
            fault::redact(error, &self.client);
        }
        for diagnostic in &mut answer.diagnostics {
            diagnostic.message = self.client.redact(&diagnostic.message);
        }
        match answer.error {
            Some(error) if answer.message.parts.is_empty() => Err(error),
            _ => Ok(answer),
        }
    }

    /// Returns an error that does not come from the service.
    pub(crate) fn error(&self, code: ModelErrorCode, message: &str) -> ModelError {
        ModelError::new(self.codec.name(), code, self.client.redact(message))
    }
}

#[async_trait]
impl LanguageModel for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    /// Sends the request and waits for the answer. A network failure is
    /// [`Network`](ModelErrorCode::Network), a timeout [`Timeout`](ModelErrorCode::Timeout); a
    /// reply that cannot be read and a cancelled call are [`Unknown`](ModelErrorCode::Unknown).
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        if request.stream.unwrap_or(self.in_events) {
            return self.stream(request, cancel, &mut |_| ()).await;
        }
        let sent = self.lowered(request, false)?;
        let reply = self.client.send(&sent, cancel).await;
        self.read(&reply.map_err(|error| fault::of_model(&error, &self.client, &*self.codec))?)
    }

    /// Sends the request and passes on the deltas. If a stream breaks off after its first delta,
    /// the answer is not [complete](Answer::complete) and its [error](Answer::error) says why; the
    /// request is not sent again. A cancelled call is an error, whatever was received.
    async fn stream(
        &self,
        request: &ModelRequest,
        cancel: &CancelSignal,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<Answer, ModelError> {
        self.in_pieces(request, cancel, show).await
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("name", &self.name)
            .field("codec", &self.codec.name())
            .field("client", &self.client)
            .field("in_events", &self.in_events)
            .finish_non_exhaustive()
    }
}

/// Adds keys to the body, except those that the request has itself.
fn add_keys(request: &mut ModelRequest, place: &str, keys: JsonMap) {
    if keys.is_empty() {
        return;
    }
    let own = request.metadata.get(place).and_then(|body| body.parse::<JsonMap>().ok());
    let mut body = own.unwrap_or_default();
    for (key, value) in keys {
        body.entry(key).or_insert(value);
    }
    if let Ok(body) = Json::from_serialize(&body) {
        request.metadata.insert(place, body);
    }
}
