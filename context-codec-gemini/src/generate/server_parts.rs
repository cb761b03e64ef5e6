//! Calls of the provider's own tools without their results, left by an answer that broke off.

use std::collections::HashMap;

use context_codec_kit::wire::LossyText;
use context_core::Part;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A part that is incomplete without its other half.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerPart<'a> {
    #[serde(borrow)]
    executable_code: Option<&'a RawValue>,
    code_execution_result: Option<&'a RawValue>,
    tool_call: Option<ServerId>,
    tool_response: Option<ServerId>,
}

#[derive(Deserialize)]
struct ServerId {
    id: Option<LossyText>,
}

/// Drops calls of the provider's own tools that have no result, and returns how many.
pub(super) fn drop_from(parts: &mut Vec<Part>) -> usize {
    let (mut code, mut calls) = (None, HashMap::new());
    let mut keep = vec![true; parts.len()];
    for (i, part) in parts.iter().enumerate() {
        let Part::Opaque(block) = part else { continue };
        let Ok(server) = serde_json::from_str::<ServerPart<'_>>(block.value.as_str()) else {
            continue;
        };
        if server.executable_code.is_some()
            && let Some(before) = code.replace(i)
        {
            keep[before] = false;
        }
        if server.code_execution_result.is_some() {
            code = None;
        }
        if let Some(call) = server.tool_call
            && let Some(before) = calls.insert(call.id.map(|id| id.0), i)
        {
            keep[before] = false;
        }
        if let Some(response) = server.tool_response {
            calls.remove(&response.id.map(|id| id.0));
        }
    }
    code.into_iter().chain(calls.into_values()).for_each(|i| keep[i] = false);
    let before = parts.len();
    let mut kept = keep.into_iter();
    parts.retain(|_| kept.next().unwrap_or(true));
    before - parts.len()
}
