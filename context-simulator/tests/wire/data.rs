//! Recorded requests of other programs, in the form that the checker expects.

use context_simulator::recordings::{exchanges, folder};
use serde_json::Value;

/// A recorded request.
pub(crate) struct Recorded {
    pub(crate) provider: &'static str,
    pub(crate) body: Value,
    /// The file and the index in the file.
    pub(crate) name: String,
}

/// Returns every request that asks a model.
pub(crate) fn recorded() -> Vec<Recorded> {
    let folder = folder().expect("test data");
    let providers = ["openai", "openai-responses", "anthropic", "gemini"];
    let all = providers.iter().flat_map(|provider| exchanges(&folder.join("data"), provider));
    all.map(|exchange| {
        let mut body = exchange.request;
        if exchange.provider == "gemini" {
            one_spelling(&mut body);
        }
        Recorded { provider: exchange.provider, body, name: exchange.name }
    })
    .collect()
}

/// Normalizes keys. The service reads both spellings, the checker only the documented one.
fn one_spelling(value: &mut Value) {
    const OTHER: [(&str, &str); 5] = [
        ("parameters_json_schema", "parametersJsonSchema"),
        ("include_thoughts", "includeThoughts"),
        ("inline_data", "inlineData"),
        ("mime_type", "mimeType"),
        ("tool_type", "toolType"),
    ];
    match value {
        Value::Array(list) => list.iter_mut().for_each(one_spelling),
        Value::Object(map) => {
            for (written, meant) in OTHER {
                if let Some(value) = map.remove(written) {
                    map.insert(meant.to_owned(), value);
                }
            }
            map.values_mut().for_each(one_spelling);
        }
        _ => {}
    }
}
