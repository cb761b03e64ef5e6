//! Cached content: what the provider has stored is not sent again.

use std::time::Duration;

use context_codec_kit::normalize::HistoryRules;
use context_codec_kit::wire::{self, Entries, Key};
use context_core::model::{CachedContent, LoweredRequest, WireError};
use context_core::{Json, ModelRequest, Role};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::request::whole;
use super::{RULES, UNSIGNED_KEY, json};

/// The rules for what is stored, behind which a request goes on: it may end with an answer.
const STORED_RULES: HistoryRules = {
    let mut rules = RULES;
    rules.assistant_last = true;
    rules
};
const CONTENTS: &str = "contents";
const NAME: &str = "cachedContent";
/// The keys that the provider refuses beside cached content.
const STORED: [(&str, &str); 3] =
    [("systemInstruction", "system prompt"), ("tools", "tools"), ("toolConfig", "tool choice")];
/// The rule for those keys.
const ONLY_STORED: &str =
    "the provider takes no system prompt, tools or tool choice beside cached content";
/// The rule for the end of what is stored.
const NO_OPEN_CALLS: &str = "stored messages may not end with calls, whose results would follow";
/// The rule for contents.
const BEGINS_WITH: &str =
    "the conversation has to begin with the messages that are stored, as they were stored";

/// Returns the body of a call that stores content for a model, for a time from now: system prompt,
/// tools, tool choice and messages. The name that the provider answers with is that of the content;
/// the name in `content` is not sent. Fails if the messages end with open calls, because their
/// results could not follow.
///
/// ```
/// use std::time::Duration;
///
/// use context_codec_gemini::generate::cached_content;
/// use context_core::model::CachedContent;
/// use context_core::{Message, ModelRequest};
///
/// let request = ModelRequest::new([Message::from("<timetable/>")]).system("You book trips.");
/// let content = CachedContent::of("", &request, 1);
/// let body = cached_content(&content, "gemini-2.5-flash", Duration::from_secs(600))?.body;
/// assert_eq!(
///     body.as_str(),
///     r#"{"model":"models/gemini-2.5-flash","systemInstruction":{"parts":[{"text":"You book trips."}]},"contents":[{"role":"user","parts":[{"text":"<timetable/>"}]}],"ttl":"600s"}"#,
/// );
/// # Ok::<_, context_core::model::WireError>(())
/// ```
pub fn cached_content(
    content: &CachedContent,
    model: &str,
    lifetime: Duration,
) -> Result<LoweredRequest, WireError> {
    let stored = whole(&request_of(content).model(model), &STORED_RULES).0;
    let contents = json(&stored_contents(content, &stored.body)?);
    let read: Entries<'_> = wire::read(stored.body.as_str(), "")?;
    let name = match model.strip_prefix("models/") {
        Some(_) => model.to_owned(),
        None => format!("models/{model}"),
    };
    let (name, lifetime) = (json(&name), json(&format!("{}s", lifetime.as_secs())));
    let mut body: Entries<'_> = Entries::new();
    body.insert(Key("model".into()), name.as_raw());
    body.extend(read);
    match content.messages.is_empty() {
        true => _ = body.shift_remove(CONTENTS),
        false => _ = body.insert(Key(CONTENTS.into()), contents.as_raw()),
    }
    body.insert(Key("ttl".into()), lifetime.as_raw());
    Ok(LoweredRequest::new(json(&body), stored.diagnostics))
}

/// Returns the lowered request without the parts that are stored.
pub(super) fn without(
    content: &CachedContent,
    request: &ModelRequest,
    lowered: LoweredRequest,
) -> Result<LoweredRequest, WireError> {
    let mut beginning = request_of(content);
    (beginning.model, beginning.unanswered) = (request.model.clone(), request.unanswered);
    if let Some(signs) = request.metadata.get(UNSIGNED_KEY) {
        beginning.metadata.insert(UNSIGNED_KEY, signs.clone());
    }
    let stored = whole(&beginning, &STORED_RULES).0.body;
    let settings: Entries<'_> = wire::read(stored.as_str(), "")?;
    let mut body: Entries<'_> = wire::read(lowered.body.as_str(), "")?;
    for (key, part) in STORED {
        let sent = body.shift_remove(key);
        if sent.map(RawValue::get) != settings.get(key).map(|stored| stored.get()) {
            return Err(fault(content, part, ONLY_STORED));
        }
    }
    let (all, stored) = (contents(&lowered.body)?, stored_contents(content, &stored)?);
    let rest = rest(&all, &stored).ok_or_else(|| fault(content, "messages", BEGINS_WITH))?;
    if rest.is_empty() {
        return Err(WireError::NothingToSend);
    }
    let (rest, name) = (json(&rest), json(&content.name));
    body.insert(Key(CONTENTS.into()), rest.as_raw());
    body.insert(Key(NAME.into()), name.as_raw());
    Ok(LoweredRequest::new(json(&body), lowered.diagnostics))
}

/// Returns the contents behind those that are stored. `None` if `all` does not begin with them.
fn rest(all: &[Json], stored: &[Json]) -> Option<Vec<Json>> {
    let Some((last, before)) = stored.split_last() else { return Some(all.to_vec()) };
    let (first, behind) = all.strip_prefix(before)?.split_first()?;
    let remainder = if first == last { None } else { Some(remainder(first, last)?) };
    Some(remainder.into_iter().chain(behind.iter().cloned()).collect())
}

/// Returns the parts behind those that are stored, as a content of their own: neighbours of one
/// role are one content in a request, and the first of them may be stored.
fn remainder(content: &Json, stored: &Json) -> Option<Json> {
    let (content, stored): (ContentParts, ContentParts) =
        (content.parse().ok()?, stored.parse().ok()?);
    let parts = content.parts.strip_prefix(stored.parts.as_slice())?.to_vec();
    (content.role == stored.role).then(|| json(&ContentParts { role: content.role, parts }))
}

#[derive(Deserialize, Serialize)]
struct ContentParts {
    role: String,
    parts: Vec<Json>,
}

/// Returns the contents that are stored.
fn stored_contents(content: &CachedContent, body: &Json) -> Result<Vec<Json>, WireError> {
    let last = content.messages.last().filter(|last| last.role == Role::Assistant);
    if last.is_some_and(|last| last.tool_calls().next().is_some()) {
        return Err(fault(content, "results", NO_OPEN_CALLS));
    }
    contents(body)
}

fn contents(body: &Json) -> Result<Vec<Json>, WireError> {
    let body: Entries<'_> = wire::read(body.as_str(), "")?;
    body.get(CONTENTS).map_or(Ok(Vec::new()), |contents| wire::read(contents.get(), CONTENTS))
}

/// Returns the request that the content is the beginning of.
fn request_of(content: &CachedContent) -> ModelRequest {
    let mut request = ModelRequest::new(content.messages.iter().cloned());
    request.system.clone_from(&content.system);
    request.tools.clone_from(&content.tools);
    request.tool_choice.clone_from(&content.tool_choice);
    request
}

fn fault(content: &CachedContent, part: &'static str, rule: &'static str) -> WireError {
    WireError::CachedContent { name: content.name.clone(), part, rule }
}
