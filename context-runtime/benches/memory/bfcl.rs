//! The memory scenarios of the Berkeley Function-Calling Leaderboard: what a customer or a patient
//! said over several conversations, and later questions about it. The answer quotes a part of a
//! turn, with gaps. The turn that contains all of it is the evidence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::dialogue::{Dialogue, Question, Turn};

/// A day in microseconds, the time between conversations.
const DAY: i64 = 86_400_000_000;

pub(crate) fn read() -> Result<Vec<Dialogue>, String> {
    let data = std::env::var_os("CONTEXT_TEST_DATA")
        .map_or_else(|| PathBuf::from("../../shared"), PathBuf::from);
    let folder = [data.join("data/bfcl"), data.join("bfcl"), PathBuf::from("../shared/data/bfcl")];
    let folder = folder.iter().find(|folder| folder.is_dir());
    let folder = folder.ok_or("there is no test data; CONTEXT_TEST_DATA names its folder")?;
    let mut questions: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in files(folder, "BFCL_v4_memory")? {
        let answers =
            lines(&folder.join("possible_answer").join(file.file_name().unwrap_or_default()))?;
        let sources: BTreeMap<&str, &str> = answers
            .iter()
            .filter_map(|answer| Some((answer["id"].as_str()?, answer["source"].as_str()?)))
            .collect();
        for line in lines(&file)? {
            let asked = line["question"][0][0]["content"].as_str();
            let known = (
                line["scenario"].as_str(),
                asked,
                line["id"].as_str().and_then(|id| sources.get(id)),
            );
            if let (Some(scenario), Some(asked), Some(source)) = known {
                questions
                    .entry(scenario.to_owned())
                    .or_default()
                    .push((asked.to_owned(), (*source).to_owned()));
            }
        }
    }
    questions
        .into_iter()
        .map(|(scenario, questions)| dialogue(folder, scenario, questions))
        .collect()
}

fn dialogue(
    folder: &Path,
    scenario: String,
    questions: Vec<(String, String)>,
) -> Result<Dialogue, String> {
    let told =
        lines(&folder.join("memory_prereq_conversation").join(format!("memory_{scenario}.json")))?;
    let mut turns = Vec::new();
    for (day, conversation) in told.iter().enumerate() {
        let session = conversation["id"].as_str().unwrap_or_default().to_owned();
        for said in conversation["question"].as_array().into_iter().flatten() {
            let text = said[0]["content"].as_str().unwrap_or_default().to_owned();
            let id = turns.len().to_string();
            let at = day as i64 * DAY + turns.len() as i64 * 60_000_000;
            turns.push(Turn { id, session: session.clone(), speaker: None, at, text });
        }
    }
    let mut asked = Vec::new();
    for (text, source) in questions {
        let parts: Vec<String> = source.replace('…', "...").split("...").map(plain).collect();
        let has = |turn: &&Turn| {
            let said = plain(&turn.text);
            parts.iter().all(|part| said.contains(part.as_str()))
        };
        let evidence: Vec<String> = turns.iter().filter(has).map(|turn| turn.id.clone()).collect();
        if evidence.is_empty() {
            return Err(format!("no turn of {scenario} holds the source of {text:?}"));
        }
        asked.push(Question { category: scenario.clone(), text, evidence });
    }
    Ok(Dialogue { name: scenario, turns, questions: asked })
}

/// Keeps letters and digits, so that variants of quotes and dashes make no difference.
fn plain(text: &str) -> String {
    let kept = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' })
        .collect::<String>();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn files(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    let mut files: Vec<_> = paths.filter(named).collect();
    files.sort();
    Ok(files)
}

fn lines(file: &Path) -> Result<Vec<Value>, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let parsed = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().map_err(|error| format!("{}: {error}", file.display()))
}
