//! Dialogues in the format of LoCoMo (Maharana and others, 2024): JSON files, each with one
//! dialogue or a list of them. A dialogue has a `conversation` with `session_1`, `session_2`, …
//! (turns with `speaker`, `dia_id`, `text`, and for images `blip_caption`) and
//! `session_1_date_time`, and `qa`: questions with their `evidence`, ids of turns, and a
//! `category`.

use std::path::Path;

use serde_json::Value;

use crate::dialogue::{Dialogue, Question, Turn};

pub(crate) fn read(folder: &Path) -> Result<Vec<Dialogue>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|ext| ext == "json")).collect();
    files.sort();
    let mut dialogues = Vec::new();
    for file in files {
        let said = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|error| said(&error))?;
        let whole: Value = serde_json::from_str(&text).map_err(|error| said(&error))?;
        let all = match whole {
            Value::Array(all) => all,
            one => vec![one],
        };
        for (at, sample) in all.iter().enumerate() {
            let name = sample["sample_id"]
                .as_str()
                .map_or_else(|| format!("{}-{at}", file.display()), str::to_owned);
            dialogues.push(dialogue(name, sample).map_err(|error| said(&error))?);
        }
    }
    if dialogues.is_empty() {
        return Err(format!("{}: no JSON files", folder.display()));
    }
    Ok(dialogues)
}

fn dialogue(name: String, sample: &Value) -> Result<Dialogue, String> {
    let conversation =
        sample["conversation"].as_object().ok_or("a dialogue has no conversation")?;
    let number = |key: &str| key.strip_prefix("session_")?.parse::<u32>().ok();
    let mut sessions: Vec<u32> = conversation.keys().filter_map(|key| number(key)).collect();
    sessions.sort_unstable();
    let mut turns = Vec::new();
    for session in sessions {
        let date =
            conversation.get(&format!("session_{session}_date_time")).and_then(Value::as_str);
        let begin = date.and_then(time).unwrap_or(i64::from(session) * 86_400_000_000);
        let said = conversation[&format!("session_{session}")].as_array().into_iter().flatten();
        for (at, turn) in said.enumerate() {
            let text = turn["text"].as_str().unwrap_or_default();
            let text = match turn["blip_caption"].as_str() {
                Some(caption) => format!("{text} [shows {caption}]"),
                None => text.to_owned(),
            };
            turns.push(Turn {
                id: turn["dia_id"].as_str().ok_or("a turn has no dia_id")?.to_owned(),
                session: format!("session_{session}"),
                speaker: turn["speaker"].as_str().map(str::to_owned),
                at: begin + at as i64 * 60_000_000,
                text,
            });
        }
    }
    let known = |id: &String| turns.iter().any(|turn| turn.id == *id);
    let mut questions = Vec::new();
    for asked in sample["qa"].as_array().into_iter().flatten() {
        // Some list several ids in one text.
        let evidence = asked["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let evidence: Vec<String> = evidence
            .flat_map(|ids| ids.split([';', ' ', ',']))
            .map(str::to_owned)
            .filter(known)
            .collect();
        let Some(text) = asked["question"].as_str().filter(|_| !evidence.is_empty()) else {
            continue;
        };
        let category = format!("category {}", asked["category"]);
        questions.push(Question { category, text: text.to_owned(), evidence });
    }
    Ok(Dialogue { name, turns, questions })
}

/// Parses a time such as `1:56 pm on 8 May, 2023`, to the day. Returns microseconds.
fn time(text: &str) -> Option<i64> {
    let (_, date) = text.split_once(" on ")?;
    let date = jiff::civil::Date::strptime("%d %B, %Y", date.trim()).ok()?;
    Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_microsecond())
}
