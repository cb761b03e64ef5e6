//! Suite `deepagents-misc`: small functions, one by one.
//!
//! Each section of the file has a rule of its own. A row is a case, named by its section and
//! position. Sections outside the library are skipped row by row.

mod builders;
mod codecs;
mod guards;
mod ranges;
mod words;

use context_runtime::FragmentData;

use crate::File;
use crate::encoding::{entry, items};
use crate::judge::{BoxError, Judged, Outcome};

/// The rule of a section.
type Rule = fn(&FragmentData) -> Outcome;

const SECTIONS: [(&str, Rule); 7] = [
    ("words", words::judge_word),
    ("titlecase", words::judge_title),
    ("builders", builders::judge),
    ("codecErrors", codecs::judge),
    ("guards", guards::judge),
    ("stripTextByRanges", ranges::judge),
    ("errorRecovery", |_| outside("guardrails over what a provider's error says")),
];

pub(crate) fn judge(file: &File<'_>) -> Result<Vec<Judged>, BoxError> {
    let tables: FragmentData = serde_json::from_str(file.text)?;
    let mut judged = Vec::new();
    for (section, rule) in SECTIONS {
        let rows = items(&tables, section);
        if rows.is_empty() {
            return Err(format!("the file has no section {section:?}").into());
        }
        judged.extend(
            rows.iter().enumerate().map(|(at, row)| Judged {
                id: format!("{section} {}", at + 1),
                outcome: rule(row),
            }),
        );
    }
    let queries = entry(&tables, "bm25").map(|bm25| items(bm25, "queries")).unwrap_or_default();
    judged.extend((1..=queries.len()).map(|at| Judged {
        id: format!("bm25 {at}"),
        outcome: outside("ranking of skills for a query"),
    }));
    Ok(judged)
}

fn outside(what: &str) -> Outcome {
    Outcome::Skipped(format!("outside the library: {what}"))
}

/// Formats a value for a difference.
fn written(data: &FragmentData) -> String {
    serde_json::to_string(data).unwrap_or_else(|error| error.to_string())
}
