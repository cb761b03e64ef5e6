//! Groups `projector`, `null_runtime` and `cached_microcompact`: what a runtime prepares from a
//! history, without a policy.
//!
//! A limit of messages is the same number on both sides. Our runtime keeps a few more where the
//! recorded one separates what belongs together: calls and their results, and the request of the
//! oldest kept message. Then the recorded history is the end of ours.
//!
//! Cache breakpoints are at different positions: the recorded ones before old results, ours after
//! the newest request, after the last request and at the end, never more than three besides the one
//! on the system prompt. So they are compared by what they cover.

use std::sync::Arc;

use context_runtime::{
    ContextRuntime, DefaultContextRuntime, FragmentData, Message, ModelContext, NullContextRuntime,
    PROVIDERS, PrepareInput, Role,
};
use serde_json::Value;

use super::counting::Bytes;
use super::cuts::marked;
use super::history::{equal, joined, pairs_valid, shown, written};
use super::messages::{Inexpressible, bare, decode};
use super::{Case, json};
use crate::encoding::{entry, flag, items, text};
use crate::judge::{Difference, Outcome};

type MessageList = Vec<Arc<Message>>;

/// The rule by which our history may be longer.
const WHOLE: &str = "equal behind what a limit keeps whole: pairs, and the request they belong to";

fn given(case: &Case) -> Result<MessageList, Inexpressible> {
    Ok(marked(decode(items(case.input(), "messages"))?.messages))
}

fn limit(case: &Case) -> Option<usize> {
    let places = [
        case.input(),
        case.part("ctor"),
        entry(case.input(), "ctor").unwrap_or(&FragmentData::Null),
    ];
    let limits = places.iter().filter_map(|place| entry(place, "maxMessages"));
    let number = limits.filter_map(|limit| json(limit).as_f64()).next()?;
    Some(if number > 0.0 { number.floor() as usize } else { 0 })
}

fn prepare(
    case: &Case,
    runtime: &dyn ContextRuntime,
    given: &MessageList,
    provider: &str,
) -> Result<ModelContext, Difference> {
    let mut input = PrepareInput::new(("ada", "s"), "t", provider, "any")
        .messages(given.iter().map(Arc::clone));
    input.limits.max_messages = limit(case);
    let prepared = case.wait(runtime.prepare_for_model(input));
    prepared.map_err(|error| Difference::new("is prepared", shown(case.output()), error))
}

fn plain_runtime() -> Result<DefaultContextRuntime, Difference> {
    let builder =
        DefaultContextRuntime::builder().window(1 << 30).reserve(1).counter(Arc::new(Bytes));
    builder.build().map_err(|faults| Difference::new("a runtime", "one", faults))
}

/// Returns which of these warnings were given.
fn warnings<'a>(context: &'a ModelContext, known: &[&str]) -> Vec<&'a str> {
    let codes = context.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str());
    let mut codes: Vec<_> = codes.filter(|code| known.contains(code)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn recorded_warnings(data: &FragmentData, key: &str) -> Vec<String> {
    let mut codes: Vec<_> =
        items(data, key).iter().filter_map(|code| code.as_text().map(str::to_owned)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Checks that pairs are valid, that the user comes first, and that the requests of all kept
/// messages are present.
fn sound(given: &[Arc<Message>], ours: &[Arc<Message>]) -> Result<String, Difference> {
    let rule = "sound: pairs valid, begins with the user, the newest request stays";
    let fault = |what: String| Difference::new(rule, what, written(ours));
    pairs_valid(ours).map_err(&fault)?;
    if ours.is_empty() != given.is_empty() {
        return Err(fault("a history that is not empty".to_owned()));
    }
    let behind =
        ours.iter().find(|message| message.role != Role::System && !message.is_checkpoint());
    if behind.is_some_and(|first| !matches!(first.role, Role::User)) {
        return Err(fault("a message of the user first".to_owned()));
    }
    let newest = given.iter().rev().find(|message| message.is_request());
    match newest {
        Some(newest) if !ours.iter().any(|message| message == newest) => {
            Err(fault(written(std::slice::from_ref(newest))))
        }
        _ => Ok(rule.to_owned()),
    }
}

pub(super) fn judge_projected(case: &Case) -> Outcome {
    const CODES: [&str; 3] = ["context_truncated", "tool_result_injected", "tool_result_orphaned"];
    let decoded = given(case)
        .and_then(|given| Ok((given, decode(items(case.output(), "messages"))?.messages)));
    let (given, expected) = match decoded {
        Ok(decoded) => decoded,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let context =
        match plain_runtime().and_then(|runtime| prepare(case, &runtime, &given, "openai")) {
            Ok(context) => context,
            Err(difference) => return Outcome::Failed(difference),
        };
    if case.is_suspect() {
        return Outcome::of(sound(&given, &context.request.messages));
    }
    let (expected, ours) = (bare(&expected), bare(&context.request.messages));
    let same = equal(&expected, &ours);
    let recorded = recorded_warnings(case.output(), "warnings");
    let told = warnings(&context, &CODES);
    Outcome::of(match same {
        Ok(_) if told != recorded => {
            Err(Difference::new("the same warnings", format!("{recorded:?}"), format!("{told:?}")))
        }
        Ok(_) if dropped(case, &given, &context).is_some_and(|same| !same) => Err(Difference::new(
            "as many left out",
            shown(case.output()),
            written(&context.request.messages),
        )),
        Ok(rule) => Ok(format!("{rule}, same warnings")),
        Err(_) if limit(case).is_some() && ends_with(&ours, &expected) => {
            sound(&given, &context.request.messages).map(|_| WHOLE.to_owned())
        }
        Err(difference) => Err(difference),
    })
}

/// Whether one history is the end of the other, with or without joining adjacent messages of one
/// role.
fn ends_with(ours: &[Arc<Message>], expected: &[Arc<Message>]) -> bool {
    ours.ends_with(expected) || joined(ours).ends_with(&joined(expected))
}

/// Whether as many messages were left out as recorded. `None` if recorded messages and ours are not
/// one to one.
fn dropped(case: &Case, given: &[Arc<Message>], context: &ModelContext) -> Option<bool> {
    let recorded = json(case.output())["droppedCount"].as_u64()?;
    if items(case.input(), "messages").len() != given.len() {
        return None;
    }
    let retained =
        context.boundaries.first().map_or(given.len(), |boundary| boundary.retained_messages);
    Some(recorded == (given.len() - retained.min(given.len())) as u64)
}

pub(super) fn judge_null(case: &Case) -> Outcome {
    const CODES: [&str; 2] = ["context_budget_not_enforced", "context_truncated"];
    let given = match given(case) {
        Ok(given) => given,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let context = match prepare(case, &NullContextRuntime::default(), &given, "openai") {
        Ok(context) => context,
        Err(difference) => return Outcome::Failed(difference),
    };
    let roles: Vec<&str> =
        context.request.messages.iter().map(|message| said_by(message.role)).collect();
    let cut: Vec<usize> =
        context.boundaries.iter().map(|boundary| boundary.retained_messages).collect();
    let ours = format!("{roles:?}, cut to {cut:?}, {:?}", warnings(&context, &CODES));
    let fault = |rule: &str| Difference::new(rule, shown(case.output()), &ours);
    // The reported number of a cut is what is left before the repair of what was broken already.
    let told = cut.iter().all(|retained| *retained == context.request.messages.len());
    if case.is_suspect() {
        let checked = sound(&given, &context.request.messages);
        return Outcome::of(checked.and_then(|rule| {
            if told {
                Ok(format!("{rule}; the boundary tells what is kept"))
            } else {
                Err(fault("the boundary tells what is kept"))
            }
        }));
    }
    let recorded: Vec<&str> =
        items(case.output(), "roles").iter().filter_map(FragmentData::as_text).collect();
    let boundaries = items(case.output(), "boundaries")
        .iter()
        .map(|boundary| json(boundary)["retainedMessages"].as_u64());
    let boundaries: Vec<_> = boundaries.collect();
    let retained: Vec<_> = cut.iter().map(|retained| Some(*retained as u64)).collect();
    let kept =
        json(case.output())["kept"].as_u64().is_none_or(|kept| kept == recorded.len() as u64);
    // A message with results and a text becomes two of ours.
    let (joined_ours, joined_recorded) = (collapsed(&roles), collapsed(&recorded));
    Outcome::of(if roles == recorded || (limit(case).is_none() && joined_ours == joined_recorded) {
        match warnings(&context, &CODES) == recorded_warnings(case.output(), "diagnostics")
            && retained == boundaries
            && kept
        {
            true => Ok("equal".to_owned()),
            false => Err(fault("the same boundaries and diagnostics")),
        }
    } else if limit(case).is_some()
        && (roles.ends_with(&recorded) || joined_ours.ends_with(&joined_recorded))
        && told
    {
        sound(&given, &context.request.messages).map(|_| WHOLE.to_owned())
    } else {
        Err(fault("equal"))
    })
}

/// Returns the roles, with adjacent equal ones merged.
fn collapsed<'a>(roles: &[&'a str]) -> Vec<&'a str> {
    let mut roles = roles.to_vec();
    roles.dedup();
    roles
}

/// Returns the role as the recorded system has it.
fn said_by(role: Role) -> &'static str {
    if role == Role::Assistant { "assistant" } else { "user" }
}

pub(super) fn judge_marks(case: &Case) -> Outcome {
    let decoded = match decode(items(case.input(), "messages")) {
        Ok(decoded) => decoded,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let part = |key: &str| entry(case.input(), key).unwrap_or(&FragmentData::Null);
    let provider = codec_of(part("ctor"), part("options"), case.is_suspect());
    let runtime = match plain_runtime() {
        Ok(runtime) => runtime,
        Err(difference) => return Outcome::Failed(difference),
    };
    let context = match prepare(case, &runtime, &decoded.messages, provider) {
        Ok(context) => context,
        Err(difference) => return Outcome::Failed(difference),
    };
    let ours = &context.request.cache.positions();
    let recorded = json(case.output())["cacheBreakpoints"].clone();
    let recorded: Vec<usize> = recorded
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .filter_map(|at| decoded.last.get(usize::try_from(at).ok()?).copied())
        .collect();
    let fault = |rule: &str| Difference::new(rule, format!("{recorded:?}"), format!("{ours:?}"));
    let in_order = ours.windows(2).all(|pair| pair[0] < pair[1]);
    let last = context.request.messages.len().checked_sub(1);
    let checked = if ours.len() > 3
        || !in_order
        || ours.last().is_some_and(|mark| Some(*mark) > last)
    {
        Err(fault("at most three marks, in order"))
    } else if provider == "anthropic" {
        match ours.last().copied() == last {
            true if recorded.iter().all(|mark| Some(*mark) <= last) => {
                Ok("what the recorded marks cover is covered: ours stand at stable places and at the end"
                    .to_owned())
            }
            _ => Err(fault("a mark at the end, behind those that were recorded")),
        }
    } else {
        // A suspect case is judged for the provider of its feature, so only plain cases get here.
        match ours.is_empty() && recorded.is_empty() {
            true => Ok("equal: no marks without a provider that takes them".to_owned()),
            false => Err(fault("no marks without a provider that takes them")),
        }
    };
    Outcome::of(checked)
}

/// Returns the codec of a recorded configuration, or none if breakpoints are off. The recorded
/// feature goes by the provider's name and ours by its protocol, which is Anthropic's where the
/// case says that the name is the fault.
fn codec_of(ctor: &FragmentData, options: &FragmentData, suspect: bool) -> &'static str {
    let named = text(options, "provider").or_else(|| text(ctor, "provider"));
    if !flag(ctor, "enabled") {
        return "";
    }
    match named {
        None => "anthropic",
        Some(name) if suspect || name.contains("anthropic") => "anthropic",
        Some(name) => PROVIDERS.iter().find(|known| **known == name).copied().unwrap_or("unknown"),
    }
}
