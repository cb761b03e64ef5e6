//! What a `set` is given.

use context_runtime::{
    Fragment, FragmentContent, FragmentData, FragmentKind, Message, Role, assistant, last_assistant_message,
    user,
};
use serde_json::Value;

use crate::encoding::{Unknown, decode, decode_fragment};

/// An item: the fragment, and what of it is to be found again.
pub(crate) struct Item {
    pub(crate) fragment: Fragment,
    /// The text of a message.
    pub(crate) text: Option<String>,
    /// Whether it is a message whose place is decided later.
    pub(crate) lazy: bool,
}

/// Reads an item; the error says what is not known.
pub(crate) fn item(value: &Value) -> Result<Item, String> {
    let has = |key: &str| value[key].as_str();
    let (fragment, text) = match (has("user"), has("assistant"), has("placeholder"), has("lastAssistant")) {
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

fn context(value: &Value) -> Result<Fragment, String> {
    let tree: FragmentData = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
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
