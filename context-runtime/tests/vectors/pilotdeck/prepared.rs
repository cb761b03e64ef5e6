//! Groups `projector`, `null_runtime`, `cached_microcompact` and `budget`: what runtimes send.
//!
//! A recorded checkpoint is told by its text, ours by its mark; a placeholder of ours says more than the recorded one. So messages are
//! compared by who speaks and what is said, called and answered, neighbours of one role joined. Marks for a cache are set by a rule of
//! ours (the newest request, the end of the request before, the end of this one), so of them is asked what any rule must keep.

use std::sync::Arc;

use context_runtime::{
    Budget, ContextRuntime, DefaultContextRuntime, FragmentData, Message, ModelContext, NullContextRuntime,
    Part, PrepareInput, Pressure, Role,
};

use super::history::{pairs_valid, shown, written};
use super::messages::{Unsaid, decode};
use super::{Case, json};
use crate::encoding::{entry, items, text};
use crate::judge::{Difference, Outcome};

/// The metadata key of our checkpoints.
const CHECKPOINT: &str = "checkpoint";

pub(super) fn judge_budget(case: &Case) -> Outcome {
    let number = |data: &FragmentData, key: &str| entry(data, key).and_then(|value| json(value).as_u64());
    let (input, output) = (case.input(), case.output());
    let tokens = number(input, "tokens").unwrap_or_default();
    let window = number(input, "maxContextTokens").unwrap_or_default();
    let budget = Budget::new(window, number(input, "reservedOutputTokens").unwrap_or_default());
    let state = match budget.pressure(tokens) {
        Pressure::Low => "ok",
        Pressure::Tight => "warning",
        Pressure::Full => "blocking",
    };
    let ratio = entry(output, "ratio").and_then(|ratio| json(ratio).as_f64()).unwrap_or(f64::NAN);
    let same = (ratio - budget.ratio(tokens)).abs() < 1e-9
        && number(output, "maxContextTokens") == Some(budget.input())
        && text(output, "state").is_some_and(|expected| expected == state);
    Outcome::of(match same {
        true => Ok("equal".to_owned()),
        false => Err(Difference::new("equal", shown(output), format!("{budget:?} {state}"))),
    })
}

pub(super) fn judge(case: &Case, group: &str) -> Outcome {
    let given = match decode(items(case.input(), "messages")) {
        Ok(decoded) => decoded.messages.into_iter().map(marked).collect::<Vec<_>>(),
        Err(Unsaid(what)) => return Outcome::Skipped(format!("our messages do not say {what}")),
    };
    let provider = entry(case.input(), "options").and_then(|options| text(options, "provider"));
    if group == "cached_microcompact" && provider.is_some_and(|provider| provider != "anthropic") {
        return Outcome::Skipped("providers are told by the name of their codec, and by no other".to_owned());
    }
    let context = match prepared(case, group, &given) {
        Ok(context) => context,
        Err(error) => return Outcome::Failed(Difference::new("prepared", "a context", error)),
    };
    Outcome::of(match group {
        "cached_microcompact" => cache_marks(&given, &context),
        _ if case.is_suspect() => sound(&given, &context),
        "null_runtime" => codes(case, "diagnostics", &context).and_then(|()| kept(case, &context)),
        _ => codes(case, "warnings", &context).and_then(|()| equal(case, &context)),
    })
}

fn prepared(
    case: &Case,
    group: &str,
    given: &[Arc<Message>],
) -> Result<ModelContext, Box<dyn std::error::Error>> {
    let mut input =
        PrepareInput::new("s", "t", "anthropic", "claude-sonnet-4-5").messages(given.iter().map(Arc::clone));
    let max = entry(case.input(), "maxMessages").and_then(|max| json(max).as_u64());
    input.max_messages = max.and_then(|max| usize::try_from(max).ok());
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    Ok(runtime.block_on(async {
        match group {
            "null_runtime" => NullContextRuntime::default().prepare_for_model(input).await,
            _ => DefaultContextRuntime::builder().build()?.prepare_for_model(input).await,
        }
    })?)
}

/// Checkpoints of the recorded system with our mark.
fn marked(message: Arc<Message>) -> Arc<Message> {
    let said = message.plain_text();
    if !said.starts_with("<compact-boundary") && !said.starts_with("$SUMMARY_PREFIX") {
        return message;
    }
    Arc::new((*message).clone().marked(Message::SYNTHETIC).marked(CHECKPOINT))
}

/// Who speaks, and what is said, called and answered.
fn plain(messages: &[Arc<Message>]) -> Vec<(Role, Vec<String>)> {
    let mut plain: Vec<(Role, Vec<String>)> = Vec::new();
    for message in messages {
        let parts = message.parts.iter().map(|part| match part {
            Part::Text(text) => text.text.clone(),
            Part::ToolCall(call) => format!("call {} of {}", call.id, call.name),
            Part::ToolResult(result) => {
                let output = Message::new(Role::Tool, result.output.iter().cloned());
                format!("result of {}: {}", result.call_id, output.plain_text())
            }
            other => format!("{other:?}"),
        });
        match plain.last_mut().filter(|(role, _)| *role == message.role) {
            Some((_, said)) => said.extend(parts),
            None => plain.push((message.role, parts.collect())),
        }
    }
    plain
}

fn equal(case: &Case, context: &ModelContext) -> Result<String, Difference> {
    let rule = "equal messages and codes";
    let difference = || Difference::new(rule, shown(case.output()), written(&context.messages));
    let expected = decode(items(case.output(), "messages")).map_err(|_| difference())?;
    if plain(&expected.messages) == plain(&context.messages) {
        Ok(rule.to_owned())
    } else {
        Err(difference())
    }
}

/// The recorded runtime tells each call, ours each repair: what must be the same is which there are.
fn codes(case: &Case, key: &str, context: &ModelContext) -> Result<(), Difference> {
    let ours: Vec<_> = context.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
    let missing = items(case.output(), key)
        .iter()
        .find(|code| !matches!(code, FragmentData::Text(code) if ours.contains(&&**code)));
    let extra = ours.iter().any(|_| items(case.output(), key).is_empty());
    match missing {
        None if !extra => Ok(()),
        _ => Err(Difference::new("the same codes", shown(case.output()), format!("{ours:?}"))),
    }
}

fn kept(case: &Case, context: &ModelContext) -> Result<String, Difference> {
    let expected = entry(case.output(), "kept").and_then(|kept| json(kept).as_u64());
    match expected == u64::try_from(context.messages.len()).ok() {
        true => Ok("as many messages and the same codes".to_owned()),
        false => Err(Difference::new("as many messages", shown(case.output()), written(&context.messages))),
    }
}

/// Pairs are whole, the user speaks first, the newest request is there, and what is told is what was kept.
fn sound(given: &[Arc<Message>], context: &ModelContext) -> Result<String, Difference> {
    let rule = "pairs valid, begins with the user, the newest request is there, the number kept is true";
    let fault = |what: String| Difference::new(rule, what, written(&context.messages));
    pairs_valid(&context.messages).map_err(&fault)?;
    if context.messages.first().is_none_or(|first| first.role != Role::User) {
        return Err(fault("a message of the user first".to_owned()));
    }
    let newest = given.iter().rev().find(|message| message.is_request());
    if newest.is_some_and(|newest| !context.messages.contains(newest)) {
        return Err(fault(format!("the request {newest:?}")));
    }
    match context.boundaries.iter().find(|cut| cut.retained_messages != context.messages.len()) {
        Some(cut) => Err(fault(format!("{} messages kept", cut.retained_messages))),
        None => Ok(rule.to_owned()),
    }
}

/// The newest message of the user carries a mark or one behind it does, and with the mark of the system there are at most four.
fn cache_marks(given: &[Arc<Message>], context: &ModelContext) -> Result<String, Difference> {
    let rule = "a mark at the end, at most four with that of the system prompt";
    let marks = &context.cache_breakpoints;
    let end = given.len().checked_sub(1);
    match marks.len() < 4 && marks.last().copied() == end && marks.is_sorted() {
        true => Ok(rule.to_owned()),
        false => Err(Difference::new(rule, format!("one at {end:?}"), format!("{marks:?}"))),
    }
}
