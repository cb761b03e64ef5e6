//! Past requests, recomputed: what was sent, what was cut and why, and the difference of two.

use std::sync::{Arc, Mutex, PoisonError};

use context_runtime::model::ModelRequest;
use context_runtime::sent::{
    ReplayError, ReplayOptions, RequestEntry, RequestReplay, RequestReport,
};
use context_runtime::transcript::{self, TranscriptSource};
use context_runtime::{ChatId, MessageId, PROVIDERS, PromptHistory, Timestamp};
use serde::{Deserialize, Serialize};

use super::Operations;
use crate::OperationError;

/// The number of replays that are kept in memory.
const KEPT: usize = 4;

/// A request to look at, and how it is recomputed. Two questions with other settings are a what-if.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct SentQuery {
    /// The branch. `None` for the active one.
    pub branch: Option<String>,
    /// The answer to the request, or a message that the request was the first to follow.
    pub message: Option<MessageId>,
    /// The number of the request, from 1, if no message is named. `None` for the newest.
    pub number: Option<usize>,
    /// The provider. `None` for that of the chat's model, or Anthropic.
    pub provider: Option<String>,
    /// The model. `None` for the newest recorded one, or the provider's default.
    pub model: Option<String>,
    /// The window in tokens. `None` for the model's.
    pub window: Option<u64>,
    /// The tokens reserved for the answer. `None` for the model's limit.
    pub reserve: Option<u64>,
    /// The policies, gentlest first, separated by commas; `none` cuts nothing. `None` for all that
    /// need no model.
    pub policies: Option<String>,
    /// Whether stored compactions are left out, as if the chat had never been cut.
    #[serde(default)]
    pub uncut: bool,
}

/// A past request.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct SentAnswer {
    /// The branch.
    pub branch: String,
    /// The settings that were used.
    pub query: SentQuery,
    /// The number of requests of the branch.
    pub requests: usize,
    /// The report.
    pub report: RequestReport,
    /// The requests before and after, for navigation.
    pub neighbours: [Option<RequestEntry>; 2],
    /// Whether the tools of the chat are known. They are not part of a stored history.
    pub tools_known: bool,
}

/// A replay that is kept for the next question.
pub(super) struct KeptReplay {
    chat: ChatId,
    query: SentQuery,
    head: Option<MessageId>,
    generation: u64,
    /// Also fragments, of which the prompt is made, and the metadata change the chat.
    updated_at: Timestamp,
    /// The replay before any request: what-ifs are made of it without waiting for the others.
    origin: Arc<RequestReplay>,
    replay: Arc<Mutex<RequestReplay>>,
}

impl SentQuery {
    /// Returns the settings without the request.
    fn settings(&self) -> Self {
        Self { message: None, number: None, ..self.clone() }
    }
}

impl From<ReplayError> for OperationError {
    fn from(error: ReplayError) -> Self {
        let name = match &error {
            ReplayError::Provider { .. } => "provider",
            ReplayError::Budget { .. } => "window",
            ReplayError::Policy { .. } | ReplayError::Runtime(_) => "policies",
            _ => "request",
        };
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        Self::invalid(name, text)
    }
}

impl Operations {
    /// Returns a past request, recomputed by the library's own runtime, with the reason for each
    /// piece.
    pub async fn sent(&self, chat: &str, query: SentQuery) -> Result<SentAnswer, OperationError> {
        let (branch, query, tools_known, replay) = self.replay(chat, query).await?;
        tokio::task::spawn_blocking(move || {
            let mut replay = replay.lock().unwrap_or_else(PoisonError::into_inner);
            let requests = replay.requests().len();
            let number = match (&query.message, query.number) {
                (Some(message), _) => request_of(&replay, message).ok_or_else(|| {
                    OperationError::invalid("message", "no request of this branch followed it")
                })?,
                (None, Some(number)) => number,
                (None, None) => requests,
            };
            if requests == 0 {
                return Err(OperationError::invalid("branch", "nothing was sent on it yet"));
            }
            let report = replay.report(number)?;
            let entry = |number: usize| replay.requests().get(number.checked_sub(1)?).cloned();
            let neighbours = [entry(number - 1), entry(number + 1)];
            Ok(SentAnswer { branch, query, requests, report, neighbours, tools_known })
        })
        .await?
    }

    /// Returns two requests of one replay and their difference.
    pub async fn sent_difference(
        &self,
        chat: &str,
        query: SentQuery,
        (before, after): (Option<usize>, Option<usize>),
    ) -> Result<SentDifference, OperationError> {
        let (branch, query, _, replay) = self.replay(chat, query).await?;
        tokio::task::spawn_blocking(move || {
            let mut replay = replay.lock().unwrap_or_else(PoisonError::into_inner);
            let requests = replay.requests().len();
            let named = query.message.as_ref().and_then(|message| request_of(&replay, message));
            let after = after.or(named).unwrap_or(requests);
            let before = before.unwrap_or(after.saturating_sub(1));
            if before == 0 {
                let problem = "the first request has none before it";
                return Err(OperationError::invalid("before", problem));
            }
            let difference = replay.diff(before, after)?;
            let (older, newer) = (replay.report(before)?, replay.report(after)?);
            Ok(SentDifference { branch, query, requests, difference, older, newer })
        })
        .await?
    }

    /// Returns the replay of a branch with these settings, made anew if the branch has changed.
    async fn replay(
        &self,
        chat: &str,
        mut query: SentQuery,
    ) -> Result<(String, SentQuery, bool, Arc<Mutex<RequestReplay>>), OperationError> {
        let view = self.branch(chat, query.branch.as_deref()).await?;
        let branch = view.branch.to_string();
        let mut request = ModelRequest::default();
        let source = TranscriptSource::of(&view.chat.metadata);
        if let Some(source) = source.ok().flatten() {
            request = transcript::request_parts(&source);
        }
        let tools_known = !request.tools.is_empty();
        if query.model.is_none() {
            query.model = self.recorded_model(chat, query.provider.as_deref()).await?;
        }
        if query.provider.is_none() {
            let of_model = query.model.as_deref().and_then(provider_of);
            query.provider = Some(of_model.unwrap_or("anthropic").to_owned());
        }
        let (head, generation) = (view.chain.head().cloned(), view.chain.generation());
        let updated_at = view.chat.updated_at;
        let settings = query.settings();
        let (kept, like) = {
            let replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
            let of_branch = |kept: &&KeptReplay| {
                kept.chat == view.chat.chat.chat
                    && kept.query.branch == settings.branch
                    && (&kept.head, kept.generation) == (&head, generation)
                    && kept.updated_at == updated_at
            };
            let same = replays.iter().filter(of_branch).find(|kept| kept.query == settings);
            let like = replays.iter().find(of_branch);
            (same.map(|kept| Arc::clone(&kept.replay)), like.map(|kept| Arc::clone(&kept.origin)))
        };
        if let Some(replay) = kept {
            return Ok((branch, query, tools_known, replay));
        }
        let options = options(&query, request, self.chat_ref(chat))?;
        let prompts = match &like {
            Some(_) => PromptHistory::default(),
            None => {
                let engine = self.engine(chat, query.branch.as_deref()).await?;
                engine.prompt_history(&view.chain).await?
            }
        };
        let chain = view.chain.clone();
        let made = tokio::task::spawn_blocking(move || {
            let origin = match like {
                Some(like) => like,
                None => Arc::new(RequestReplay::new(&chain, prompts, options.clone())?),
            };
            let replay = origin.with_options(options)?;
            Ok::<_, ReplayError>((origin, Arc::new(Mutex::new(replay))))
        });
        let (origin, replay) = made.await??;
        let chat = view.chat.chat.chat.clone();
        let kept = KeptReplay {
            chat,
            query: settings,
            head,
            generation,
            updated_at,
            origin,
            replay: Arc::clone(&replay),
        };
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        replays.push_front(kept);
        replays.truncate(KEPT);
        Ok((branch, query, tools_known, replay))
    }

    /// Returns the model of the newest recorded answer, if this provider has it.
    async fn recorded_model(
        &self,
        chat: &str,
        provider: Option<&str>,
    ) -> Result<Option<String>, OperationError> {
        let model = self.newest_model(chat).await?;
        Ok(model.filter(|model| {
            let own = provider_of(model);
            own.is_some() && provider.is_none_or(|asked| family(asked) == own)
        }))
    }
}

/// Two requests of a branch.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct SentDifference {
    /// The branch.
    pub branch: String,
    /// The settings that were used.
    pub query: SentQuery,
    /// The number of requests of the branch.
    pub requests: usize,
    /// The pieces that differ, and where the prefix broke.
    pub difference: context_runtime::sent::RequestDiff,
    /// The earlier request.
    pub older: RequestReport,
    /// The later request.
    pub newer: RequestReport,
}

fn options(
    query: &SentQuery,
    request: ModelRequest,
    chat: context_runtime::ChatRef,
) -> Result<ReplayOptions, OperationError> {
    let provider = query.provider.as_deref().unwrap_or("anthropic");
    if !PROVIDERS.contains(&provider) {
        let known = PROVIDERS.join(", ");
        return Err(OperationError::invalid("provider", format!("known providers: {known}")));
    }
    let mut options =
        ReplayOptions::new(provider).request(request).chat(chat).boundaries(!query.uncut);
    if let Some(model) = query.model.as_deref().filter(|model| !model.is_empty()) {
        options = options.model(model);
    }
    if let Some(window) = query.window {
        options = options.window(window);
    }
    if let Some(reserve) = query.reserve {
        options = options.reserve(reserve);
    }
    match query.policies.as_deref() {
        None | Some("") => Ok(options),
        Some("none") => Ok(options.policies([])?),
        Some(names) => {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            Ok(options.policies(names)?)
        }
    }
}

/// Returns the provider of a model by its name.
fn provider_of(model: &str) -> Option<&'static str> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let known = [
        ("claude", "anthropic"),
        ("gemini", "gemini"),
        ("gpt", "openai"),
        ("o1", "openai"),
        ("o3", "openai"),
        ("o4", "openai"),
    ];
    known.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, provider)| *provider)
}

fn family(provider: &str) -> Option<&'static str> {
    ["anthropic", "gemini", "openai"].into_iter().find(|family| provider.starts_with(family))
}

/// Returns the request that a message answers, or the first one that followed the message.
fn request_of(replay: &RequestReplay, message: &MessageId) -> Option<usize> {
    replay.request_of(message).or_else(|| replay.request_with(message))
}
