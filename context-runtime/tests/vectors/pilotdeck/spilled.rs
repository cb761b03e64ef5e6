//! Group `tool_result_budget`: results that are too large for their message.
//!
//! A recorded reference corresponds to a result of ours with a blob reference and a preview within
//! its limit. In a plain case the same results must be spilled, with the same size, type and
//! reason. No limit of all results together is set then. The store of each case already has another
//! output under the same call id.

use std::sync::Arc;

use context_core::model::TokenCounter;
use context_runtime::{
    ContextRuntime, DefaultContextRuntime, FragmentData, MediaSource, Message, Part, Role, Spilled,
    ToolResult, ToolResultInput, ToolResultLimits, ToolResultOutput,
};

use super::counting::O200k;
use super::history::{shown, written};
use super::messages::{Inexpressible, decode};
use super::{Case, json};
use crate::encoding::{entry, flag, text};
use crate::judge::{BoxError, Difference, Outcome};

const SESSION: &str = "s1";
const COUNTER: O200k = O200k { message: 4 };

pub(super) fn judge(case: &Case) -> Outcome {
    let Some(message) = entry(case.input(), "message") else {
        return Outcome::Skipped("no message is given".to_owned());
    };
    let mut given = match decode(std::slice::from_ref(message)) {
        Ok(decoded) => decoded.messages,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    if given.first().is_none_or(|first| first.role != Role::Tool) {
        return Outcome::Skipped("no results are given".to_owned());
    }
    let results = given.remove(0);
    let mut limits = ToolResultLimits::default();
    if !case.is_suspect() {
        limits.message_tokens = u64::MAX;
    }
    let turn = text(case.input(), "turnId").unwrap_or("t1");
    let ran = case.wait(run(turn, &results, &given, limits.clone()));
    let (output, kept) = match ran {
        Ok(ran) => ran,
        Err(error) => {
            return Outcome::Failed(Difference::new("is applied", shown(case.output()), error));
        }
    };
    let fault = |rule: &str| Difference::new(rule, shown(case.output()), shortened(&output));
    let sound = sound(&results, &output, &kept, &limits);
    Outcome::of(match (sound, case.is_suspect()) {
        (Err(rule), _) => Err(fault(rule)),
        (Ok(()), true) => {
            Ok("sound: own content and id, previews and messages within their limits".to_owned())
        }
        (Ok(()), false) => match equal(case, &output) {
            Ok(()) => Ok("the same results are kept elsewhere".to_owned()),
            Err(rule) => Err(fault(rule)),
        },
    })
}

/// Runs the case. Returns the results and the spilled bytes of each.
async fn run(
    turn: &str,
    results: &Message,
    beside: &[Arc<Message>],
    limits: ToolResultLimits,
) -> Result<(ToolResultOutput, Vec<Option<Vec<u8>>>), BoxError> {
    let store = context_runtime::open("mem:").await?;
    let builder = DefaultContextRuntime::builder().counter(Arc::new(COUNTER)).tool_results(limits);
    let runtime = builder.spill(store).build()?;
    let history = vec![Arc::new(Message::from("look"))];
    let input =
        |results: Message| ToolResultInput::new(("ada", SESSION), turn, history.clone(), results);
    let former = results_of(results)
        .map(|result| Part::tool_result(&*result.call_id, "former ".repeat(20_000)));
    let _former = runtime.apply_tool_results(input(Message::new(Role::Tool, former))).await?;
    let mut asked = input(results.clone());
    asked.supplements = beside.iter().map(|message| Message::clone(message)).collect();
    let output = runtime.apply_tool_results(asked).await?;
    let mut kept = Vec::new();
    let spill = runtime.spill().ok_or("nothing is kept anywhere")?;
    for result in applied(&output) {
        kept.push(match Spilled::of(&result.metadata) {
            Some(spilled) => {
                let read = spill
                    .read(&("ada", SESSION).into(), &spilled.blob.to_reference(), 0..u64::MAX)
                    .await?;
                Some(read.bytes.to_vec())
            }
            None => None,
        });
    }
    Ok((output, kept))
}

fn results_of(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    })
}

fn applied(output: &ToolResultOutput) -> impl Iterator<Item = &ToolResult> {
    output.appended.iter().take(1).flat_map(|message| results_of(message))
}

/// Returns the texts of a result.
fn said(result: &ToolResult) -> String {
    let texts = result.output.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn is_elsewhere(part: &Part) -> bool {
    match part {
        Part::Image(media) | Part::Document(media) | Part::Audio(media) => {
            matches!(media.source, MediaSource::Reference(_))
        }
        _ => false,
    }
}

fn sound(
    given: &Message,
    output: &ToolResultOutput,
    kept: &[Option<Vec<u8>>],
    limits: &ToolResultLimits,
) -> Result<(), &'static str> {
    if results_of(given).count() != kept.len() {
        return Err("every result is there");
    }
    let mut all = 0_u64;
    for ((before, after), kept) in results_of(given).zip(applied(output)).zip(kept) {
        if before.call_id != after.call_id || before.is_error != after.is_error {
            return Err("id and error flag stay");
        }
        let (whole, shown) = (said(before), said(after));
        let tokens = COUNTER.count(&shown).tokens();
        all = all.saturating_add(tokens);
        match kept {
            None if whole != shown && !whole.trim().is_empty() => {
                return Err("what is not kept elsewhere stays");
            }
            None => {}
            Some(kept) if kept != whole.as_bytes() => {
                return Err("what is kept is its own content, to the byte");
            }
            Some(_) if shown.len() > limits.preview_bytes => {
                return Err("a preview within its limit");
            }
            Some(_) => {
                let head: String = whole.chars().take(16).collect();
                let tail: String =
                    whole.chars().rev().take(16).collect::<Vec<_>>().into_iter().rev().collect();
                if !shown.contains(&head) || !shown.contains(&tail) {
                    return Err("a preview of both ends");
                }
            }
        }
        if tokens > limits.tokens || shown.len() > limits.bytes {
            return Err("each result within its limits");
        }
    }
    if all > limits.message_tokens { Err("all results within their limit") } else { Ok(()) }
}

fn equal(case: &Case, output: &ToolResultOutput) -> Result<(), &'static str> {
    let FragmentData::List(recorded) = case.output() else { return Err("results") };
    let of_kind = |kinds: &[&str]| {
        let blocks = recorded
            .iter()
            .filter(|block| text(block, "type").is_some_and(|kind| kinds.contains(&kind)));
        blocks.collect::<Vec<_>>()
    };
    let results = of_kind(&["tool_result", "tool_result_reference"]);
    if results.len() != applied(output).count() {
        return Err("as many results");
    }
    for (recorded, ours) in results.into_iter().zip(applied(output)) {
        let spilled = Spilled::of(&ours.metadata);
        let elsewhere = text(recorded, "type") == Some("tool_result_reference");
        if text(recorded, "toolCallId") != Some(&*ours.call_id) || elsewhere != spilled.is_some() {
            return Err("the same results are kept elsewhere");
        }
        let Some(spilled) = spilled else { continue };
        let bytes = entry(recorded, "originalBytes").and_then(|bytes| json(bytes).as_u64());
        let reason = text(recorded, "reason").is_none_or(|reason| reason == spilled.reason);
        let media_type =
            text(recorded, "mimeType").is_none_or(|of| Some(of) == spilled.media_type.as_deref());
        if bytes != Some(spilled.bytes)
            || !reason
            || !media_type
            || flag(recorded, "isError") != ours.is_error
        {
            return Err("the same size, type and reason");
        }
    }
    let media = of_kind(&["media_reference"]).len();
    let parts = output.appended.iter().flat_map(|message| &message.parts);
    let inner = parts.flat_map(|part| match part {
        Part::ToolResult(result) => result.output.iter().collect(),
        part => vec![part],
    });
    if inner.filter(|part| is_elsewhere(part)).count() == media {
        Ok(())
    } else {
        Err("the same media are kept elsewhere")
    }
}

/// Formats what was appended for people.
fn shortened(output: &ToolResultOutput) -> String {
    let written = written(&output.appended);
    if written.len() <= 4_000 {
        written
    } else {
        written.chars().take(4_000).chain(['…']).collect()
    }
}
