//! The items of a `set`: messages, fragments, and reminders.
//!
//! Lazy data is built by its recorded kind. An asynchronous function, a promise or a plain function
//! becomes a closure, a generator becomes a stream, and a set or map becomes a list, as rendering
//! does.

use std::convert::Infallible;

use context_runtime::instructions::{Predicate, Reminder, ReminderError, reminder};
use context_runtime::kinds::policy;
use context_runtime::{
    Error, Fragment, FragmentContent, FragmentData, Message, Part, Role, assistant,
    fragments::FragmentKind, last_assistant_message, lazy, lazy_future, lazy_stream, user,
};
use futures_util::stream;
use serde_json::Value;

use crate::encoding::{Unknown, decode, decode_fragment};

/// An item: the fragment, and what must be found again.
pub(crate) struct Item {
    pub(crate) fragment: Fragment,
    /// The text of a message.
    pub(crate) text: Option<String>,
    /// Whether it is a message with a position that is decided later.
    pub(crate) lazy: bool,
}

/// Reads an item. The error names what is unknown.
pub(crate) fn item(value: &Value) -> Result<Item, String> {
    let has = |key: &str| value[key].as_str();
    let (fragment, text) =
        match (has("user"), has("assistant"), has("placeholder"), has("lastAssistant")) {
            (Some(text), ..) => (user(text), Some(text)),
            (_, Some(text), ..) => (assistant(text), Some(text)),
            (_, _, Some(id), _) => (assistant(Message::new(Role::Assistant, [])).with_id(id), None),
            (.., Some(text)) => (last_assistant_message(text), Some(text)),
            _ => (context(value)?, None),
        };
    let fragment = match has("id") {
        Some(id) => fragment.with_id(id),
        None => fragment,
    };
    Ok(Item { lazy: fragment.is_lazy(), fragment, text: text.map(String::from) })
}

/// Reads a reminder, if it is one.
pub(crate) fn reminder_of(value: &Value) -> Option<Result<Reminder, Error>> {
    let text = value["remind"].as_str()?;
    let build = || -> Result<Reminder, ReminderError> {
        let mut builder = reminder(text);
        if let Some(target) = value["target"].as_str() {
            builder = builder.target(target.parse()?);
        }
        let count = value["when"][1].as_u64().unwrap_or_default();
        match value["when"][0].as_str() {
            Some("firstN") => builder = builder.when(Predicate::first_turns(count)),
            Some("everyNTurns") => builder = builder.when(Predicate::every_n_turns(count)),
            Some("afterTurn") => builder = builder.when(Predicate::after_turn(count)),
            Some("once") => {
                builder =
                    builder.when(Predicate::once(value["when"][1].as_str().unwrap_or_default()))
            }
            _ => {}
        }
        if value["asPart"] == Value::Bool(true) {
            builder = builder.as_part();
        }
        builder.build()
    };
    Some(build().map_err(Error::from))
}

/// Returns lazy data, by the recorded kind of its loader.
fn lazy_data(kind: &str, value: &Value) -> Result<FragmentData, String> {
    type Loaded = Result<FragmentData, Infallible>;
    let tree = |value: &Value| serde_json::from_value::<FragmentData>(value.clone());
    let data = tree(value).map_err(|error| error.to_string())?;
    let failure = value.as_str().unwrap_or_default().to_owned();
    Ok(match kind {
        "async" | "sync" | "undefined" => lazy(move || {
            let data = data.clone();
            async move { Loaded::Ok(data) }
        }),
        "promise" | "set" | "map" => lazy_future(async move { Loaded::Ok(data) }),
        "gen" | "agen" => {
            let items: Vec<_> = value
                .as_array()
                .into_iter()
                .flatten()
                .map(tree)
                .collect::<Result<_, _>>()
                .map_err(|error| error.to_string())?;
            lazy_stream(move || stream::iter(items.clone().into_iter().map(Loaded::Ok)))
        }
        "nested" => lazy(move || {
            let inner = lazy_future({
                let data = data.clone();
                async move { Loaded::Ok(data) }
            });
            async move { Loaded::Ok(Fragment::new("deeper", inner).into()) }
        }),
        "throw" => lazy(move || {
            let failure = failure.clone();
            async move { Err::<FragmentData, _>(std::io::Error::other(failure)) }
        }),
        "reject" => {
            lazy_future(async move { Err::<FragmentData, _>(std::io::Error::other(failure)) })
        }
        other => return Err(format!("loader {other:?}")),
    }
    .into())
}

/// Reads a message in the recorded system's own form.
fn message(value: &Value) -> Result<Fragment, String> {
    let role: Role =
        serde_json::from_value(value["role"].clone()).map_err(|error| error.to_string())?;
    let parts =
        value["parts"].as_array().into_iter().flatten().map(|part| match part["text"].as_str() {
            Some(text) => Ok(Part::text(text)),
            None => Err(format!("part {part}")),
        });
    let message = Message::new(role, parts.collect::<Result<Vec<_>, _>>()?);
    let fragment = Fragment::from(message);
    Ok(match value["id"].as_str() {
        Some(id) => fragment.with_id(id),
        None => fragment,
    })
}

fn context(value: &Value) -> Result<Fragment, String> {
    if let (Some(kind), Some(name)) = (value["lazy"].as_str(), value["name"].as_str()) {
        let data = lazy_data(kind, &value["value"])?;
        return Ok(match value["wrap"].as_str() {
            Some(inner) => Fragment::new(name, FragmentData::map([(inner, data)])),
            None => Fragment::new(name, data),
        });
    }
    if !value["policyLazy"].is_null() {
        let policies = [lazy_data("async", &value["policyLazy"])?, "static".into()];
        return Ok(policy("r").policies(policies).into());
    }
    if value["$b"].as_str() == Some("message") {
        return message(&value["args"][0]);
    }
    let tree: FragmentData =
        serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let unknown = |Unknown(what): Unknown| what;
    let Some(name) = value["name"].as_str() else {
        return decode_fragment(&tree, None).map_err(unknown);
    };
    let data: FragmentData =
        serde_json::from_value(value["data"].clone()).map_err(|error| error.to_string())?;
    let kind = match value["type"].as_str() {
        Some("message") => FragmentKind::Message,
        _ => FragmentKind::Context,
    };
    let content = FragmentContent::Data(decode(&data, None).map_err(unknown)?);
    let fragment = Fragment::from_content(name, kind, content);
    Ok(if value["persist"] == Value::Bool(true) { fragment.persisted() } else { fragment })
}
