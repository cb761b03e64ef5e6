//! Kinds `clean`, `format`, `record`, `load` and `rounds`: messages.

use context_runtime::Message;
use context_runtime::trajectory::messages::{
    Cleaning, MessageLog, MessageRecord, RecordKind, RoundStatistics, ToolTime, clean,
    format_context, import_messages, round_statistics, to_messages, to_records,
};
use serde_json::Value;

use super::typed::{Inexpressible, list};
use super::{Case, same, soundness, typed};
use crate::judge::{BoxError, Difference, Outcome};

fn unsaid(Inexpressible(what): Inexpressible) -> Outcome {
    Outcome::Skipped(format!("our messages do not say {what}"))
}

/// The recordings' labels of messages.
fn labels(records: &[MessageRecord]) -> Value {
    let label = |record: &MessageRecord| match record.kind() {
        RecordKind::Tool => format!("tool:{}", record.tool_call_id().unwrap_or_default()),
        RecordKind::Human => format!("user:{}", record.text()),
        RecordKind::Ai => format!("assistant:{}", record.text()),
        _ => format!("system:{}", record.text()),
    };
    records.iter().map(label).collect()
}

pub(super) fn judge_clean(case: &Case) -> Outcome {
    let given = match typed::messages(&case.input) {
        Ok(messages) => to_records(&messages),
        Err(what) => return unsaid(what),
    };
    Outcome::of(match case.suspect {
        true => soundness::cleaned(&given),
        false => case.equal(&labels(&clean(given, Cleaning::Drop).records)),
    })
}

pub(super) fn judge_format(case: &Case) -> Outcome {
    let messages = &case.input["messages"];
    let given = match case.input["form"].as_str() {
        Some("typed") => typed::messages(messages).map(|messages| to_records(&messages)),
        Some("record") => typed::records(messages),
        form => Err(Inexpressible(format!("the form {form:?}"))),
    };
    let ours = match given {
        Ok(given) => format_context(&given),
        Err(what) => return unsaid(what),
    };
    Outcome::of(match case.suspect {
        true => soundness::formatted(messages, &ours),
        false => case.equal(&serde_json::json!({ "ok": ours })),
    })
}

/// Checks that the stored form is the recorded one, and reads back unchanged through text, twice.
pub(super) fn judge_record(case: &Case) -> Outcome {
    let given = match typed::messages(&case.input) {
        Ok(given) => given,
        Err(what) => return unsaid(what),
    };
    let rule = "stored as recorded but for stamps and what it lost; comes back equal; stable";
    let judge = |(at, message): (usize, &Message)| -> Result<(), Difference> {
        let records = to_records([message]);
        let fault = |what: String| {
            Difference::new(rule, what, soundness::written(&records)).at(format!("message {at}"))
        };
        let text = serde_json::to_string(&records).map_err(|error| fault(error.to_string()))?;
        let read: Vec<MessageRecord> =
            serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
        let back = to_messages(&read).map_err(|error| fault(error.to_string()))?;
        if back != [message.clone()] {
            return Err(fault(format!("{message:?}")));
        }
        if to_records(&back) != records {
            return Err(fault("the same records when stored again".to_owned()));
        }
        let ours: Value = serde_json::from_str(records[0].to_json().as_str()).unwrap_or_default();
        let stored = case.expected.iter().map(|expected| &expected[at]["record"]);
        let fits = |stored: &Value| {
            let mut stored = stored.clone();
            if let Some(kwargs) = stored["additional_kwargs"].as_object_mut() {
                kwargs.remove("_ts");
            }
            stored
                .as_object()
                .is_some_and(|stored| stored.iter().all(|(key, value)| same(&ours[key], value)))
        };
        if stored.clone().any(fits) {
            Ok(())
        } else {
            Err(fault(stored.map(Value::to_string).collect()))
        }
    };
    Outcome::of(given.iter().enumerate().try_for_each(judge).map(|()| rule.to_owned()))
}

pub(super) fn judge_load(case: &Case) -> Outcome {
    let text = match &case.input {
        Value::String(text) => text.clone(),
        Value::Array(items) => serde_json::json!({ "messages": items }).to_string(),
        Value::Object(map) if map.contains_key("raw") => {
            map["raw"].as_str().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    };
    let loaded = import_messages(&text);
    if !case.suspect {
        let ours = match loaded {
            Ok(loaded) => {
                serde_json::json!({ "ok": labels(&clean(loaded.records, Cleaning::Drop).records) })
            }
            // The error text is not compared.
            Err(_) if case.expected.iter().any(|expected| expected.get("err").is_some()) => {
                return Outcome::Passed("an error".to_owned());
            }
            Err(error) => serde_json::json!({ "err": error.to_string() }),
        };
        return Outcome::of(case.equal(&ours));
    }
    let read: Result<Value, _> = serde_json::from_str(&text);
    let whole =
        read.ok().and_then(|value| value.as_array().or(value["messages"].as_array()).map(Vec::len));
    Outcome::of(match (loaded, whole) {
        (Ok(ours), Some(items)) => soundness::accounted(items, &ours),
        (Err(_), None) => match is_left_alone(&text) {
            Ok(true) => Ok("damage is an error, and the file stays as it was".to_owned()),
            Ok(false) => {
                Err(Difference::new("a damaged file stays as it was", &text, "another text"))
            }
            Err(error) => return Outcome::Skipped(error.to_string()),
        },
        (ours, whole) => Err(Difference::new(
            "whole files are read, damaged ones are not",
            format!("{whole:?}"),
            format!("{ours:?}"),
        )),
    })
}

/// Whether a log refuses to open over a file with this text, and leaves the file unchanged.
fn is_left_alone(text: &str) -> Result<bool, BoxError> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("messages.json");
    std::fs::write(&path, text)?;
    let tokio = tokio::runtime::Builder::new_current_thread().build()?;
    let refused = tokio.block_on(MessageLog::open(&path)).is_err();
    Ok((refused || text.is_empty()) && std::fs::read_to_string(&path)? == text)
}

pub(super) fn judge_rounds(case: &Case) -> Outcome {
    let records = match typed::records(&case.input) {
        Ok(records) => records,
        Err(what) => return unsaid(what),
    };
    let ours = round_statistics(&records, ToolTime::Between);
    let written = |ours: &[RoundStatistics]| serde_json::to_value(ours).unwrap_or_default();
    if !case.suspect {
        return Outcome::of(case.equal(&written(&ours)));
    }
    let rule = "the recorded sums of tokens; time from 0, more of it where that of tools counts";
    let counted = round_statistics(&records, ToolTime::Counted);
    let shown = written(&ours);
    let tokens = list(&case.expected[0]).zip(list(&shown)).all(|(expected, ours)| {
        let is_time = |key: &str| key == "elapsed_sec";
        let fields = expected.as_object().into_iter().flatten();
        fields.into_iter().all(|(key, value)| is_time(key) || same(value, &ours[key]))
    });
    let times = ours
        .iter()
        .zip(&counted)
        .all(|(a, b)| 0.0 <= a.elapsed_sec && a.elapsed_sec <= b.elapsed_sec);
    let sound = tokens && times && list(&case.expected[0]).count() == ours.len();
    Outcome::of(match sound {
        true => Ok(rule.to_owned()),
        false => Err(Difference::new(rule, &case.expected[0], shown)),
    })
}
