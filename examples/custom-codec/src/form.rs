//! The types of the form, and messages in both directions.

use context_core::base::{DiagnosticCode, Severity};
use context_core::message::{Text, ToolInput};
use context_core::{Diagnostic, Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

/// The body of a request.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<ToolForm>,
    pub(crate) messages: Vec<MessageForm>,
}

/// A tool that the model may call.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ToolForm {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    pub(crate) schema: Json,
}

/// A message. Tools have results, the assistant has calls.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct MessageForm {
    pub(crate) role: Role,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) results: Vec<ResultForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<CallForm>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct CallForm {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Json,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ResultForm {
    pub(crate) id: String,
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) failed: bool,
}

impl MessageForm {
    /// Writes a message: its results as the tool's, the rest under its own role. Parts that the
    /// form does not have are left out and noted under `path`.
    pub(crate) fn write(
        message: &Message,
        path: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> impl Iterator<Item = Self> + use<> {
        let form = |role| Self { role, results: vec![], text: None, calls: vec![] };
        let (mut answered, mut said) = (form(Role::Tool), form(message.role));
        for (i, part) in message.parts.iter().enumerate() {
            match part {
                Part::Text(Text { text, .. }) => append(&mut said.text, text),
                Part::ToolCall(call) => said.calls.push(CallForm {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    input: match &call.input {
                        ToolInput::Json(json) => json.clone(),
                        ToolInput::Invalid(text) => Json::from(text.as_str()),
                    },
                }),
                Part::ToolResult(result) => {
                    let mut text = None;
                    for (j, part) in result.output.iter().enumerate() {
                        match part {
                            Part::Text(part) => append(&mut text, &part.text),
                            _ => {
                                diagnostics.push(left_out(format!("{path}.parts[{i}].output[{j}]")))
                            }
                        }
                    }
                    answered.results.push(ResultForm {
                        id: result.call_id.clone(),
                        text: text.unwrap_or_default(),
                        failed: result.is_error,
                    });
                }
                _ => diagnostics.push(left_out(format!("{path}.parts[{i}]"))),
            }
        }
        [answered, said].into_iter().filter(|form| {
            form.text.is_some() || !form.results.is_empty() || !form.calls.is_empty()
        })
    }

    /// Reads a message.
    pub(crate) fn read(self) -> Message {
        let results = self.results.into_iter().map(|form| {
            let mut result = ToolResult {
                call_id: form.id,
                name: None,
                output: Vec::new(),
                is_error: form.failed,
                metadata: Metadata::default(),
            };
            result.output.extend((!form.text.is_empty()).then(|| Part::text(form.text)));
            Part::ToolResult(result)
        });
        let calls = self
            .calls
            .into_iter()
            .map(|form| call(form.id, form.name, ToolInput::Json(form.input)));
        Message::new(self.role, results.chain(self.text.map(Part::text)).chain(calls))
    }
}

pub(crate) fn call(id: String, name: String, input: ToolInput) -> Part {
    Part::ToolCall(ToolCall { id, name, input, metadata: Metadata::default() })
}

fn append(all: &mut Option<String>, text: &str) {
    match all {
        None => *all = Some(text.to_owned()),
        Some(all) => {
            all.push('\n');
            all.push_str(text);
        }
    }
}

/// Creates the diagnostic for content that the form does not have.
pub(crate) fn left_out(path: impl Into<String>) -> Diagnostic {
    let said = "left out: the form has no place for it";
    Diagnostic::new(DiagnosticCode::Unrepresentable, Severity::Warning, path, said)
}
