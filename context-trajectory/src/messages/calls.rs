//! Tool calls in records: valid ones, invalid ones, and the form of one vendor.

use context_codec_kit::wire;
use context_core::Json;
use context_core::base::JsonMap;
use context_core::message::ToolInput;

pub(super) const NAME: &str = "name";
pub(super) const ARGS: &str = "args";
pub(super) const ID: &str = "id";
pub(super) const TYPE: &str = "type";
pub(super) const ERROR: &str = "error";

/// A tool call as a record stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallRecord {
    /// The call id as it was written. `None` if it is null or missing.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// The arguments.
    pub args: ToolInput,
    /// The error of an invalid call.
    pub error: Option<String>,
    /// All other fields.
    pub extra: JsonMap,
}

impl CallRecord {
    /// Returns the trimmed id, by which results are matched, unless it is empty.
    pub fn key(&self) -> Option<&str> {
        self.id.as_deref().map(str::trim).filter(|id| !id.is_empty())
    }

    /// Reads a call. `{"function": {"name", "arguments"}}` is read like `{"name", "args"}`, and the
    /// keys `tool` and `arguments` are accepted instead of those.
    pub(super) fn read(json: &Json, invalid: bool) -> Option<Self> {
        let mut map: JsonMap = json.parse().ok()?;
        let id = taken_text(&mut map, ID);
        let error = if invalid { taken_text(&mut map, ERROR) } else { None };
        let function: Option<JsonMap> =
            map.get("function").and_then(|function| function.parse().ok());
        let (name, args) = match function {
            Some(mut function) if !map.contains_key(NAME) => {
                map.shift_remove("function");
                map.shift_remove(TYPE);
                let args = function.shift_remove("arguments").map(|args| match wire::text(&args) {
                    // Vendors write the arguments as a JSON string.
                    Some(text) if !invalid => ToolInput::from_written(text),
                    _ => input(args, invalid),
                });
                (taken_text(&mut function, NAME), args)
            }
            _ => {
                let kind = if invalid { "invalid_tool_call" } else { "tool_call" };
                if map.get(TYPE).and_then(wire::text).is_some_and(|found| found == kind) {
                    map.shift_remove(TYPE);
                }
                let named = taken_text(&mut map, NAME).filter(|name| !name.is_empty());
                let name = named.or_else(|| taken_text(&mut map, "tool"));
                let is_given = |args: &Json| args.as_str() != "null";
                let args = map
                    .shift_remove(ARGS)
                    .filter(is_given)
                    .or_else(|| map.shift_remove("arguments"));
                (name, args.filter(is_given).map(|args| input(args, invalid)))
            }
        };
        let nothing =
            || input(if invalid { "".into() } else { Json::from(serde_json::json!({})) }, invalid);
        let args = args.unwrap_or_else(nothing);
        Some(Self { id, name, args, error, extra: map })
    }

    /// Reads a list of calls and skips items that are not calls.
    pub(super) fn read_list(json: Option<&Json>, invalid: bool) -> Vec<Self> {
        let items: Vec<Json> = json.and_then(|json| json.parse().ok()).unwrap_or_default();
        items.iter().filter_map(|item| Self::read(item, invalid)).collect()
    }
}

fn input(args: Json, invalid: bool) -> ToolInput {
    match wire::text(&args) {
        Some(text) if invalid => ToolInput::Invalid(text),
        _ => ToolInput::Json(args),
    }
}

/// Removes a string from a map. A value that is not a string stays. Null is removed too, except for
/// an error, where it says that the call is not invalid.
fn taken_text(map: &mut JsonMap, key: &str) -> Option<String> {
    let value = map.get(key)?;
    let text = wire::text(value);
    if text.is_some() || (value.as_str() == "null" && key != ERROR) {
        map.shift_remove(key);
    }
    text
}
