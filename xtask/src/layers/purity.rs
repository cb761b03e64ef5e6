//! The rules about sources: 4 and 5. Test code is exempt.

use super::Violation;
use crate::source::{SourceFile, code, item_end};

/// Names that read a clock, draw a random number, or leave the process.
const EFFECTS: [&str; 8] = [
    "SystemTime",
    "Instant::now",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread::spawn",
    "rand::",
];
/// Keywords that plain functions must not use. Core may use `async`, since it defines the traits
/// with side effects.
const ASYNC: [&str; 2] = ["async fn", ".await"];

const PURE: [&str; 4] =
    ["context-render/", "context-policy-", "context-codec-", "context-transcript/"];

/// Checks that pure crates have no side effects, and that no public enum changes with a feature.
pub fn check_sources(files: &[SourceFile]) -> Vec<Violation> {
    let sources = files.iter().filter(|file| file.is_rust() && !file.is_test());
    sources.flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Violation> {
    let code = code(&file.text);
    let plain = PURE.iter().any(|krate| file.path.starts_with(krate));
    let mut found = Vec::new();
    if plain || file.path.starts_with("context-core/") {
        let words = EFFECTS.iter().chain(ASYNC.iter().filter(|_| plain));
        for word in words {
            for line in lines_with(&code, word) {
                found.push(Violation::new(4, format!("{}:{line} uses {word}", file.path)));
            }
        }
    }
    for line in gated_variants(&code) {
        let message =
            format!("{}:{line} puts a variant of a public enum behind a feature", file.path);
        found.push(Violation::new(5, message));
    }
    found
}

fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let starts_word = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        word.starts_with('.') || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    let has = |line: &str| line.match_indices(word).any(|(at, _)| starts_word(line, at));
    code.lines().enumerate().filter(|(_, line)| has(line)).map(|(n, _)| n + 1).collect()
}

fn gated_variants(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("pub enum ") {
        let body = &code[at..at + item_end(&code[at..])];
        for (inner, _) in body.match_indices("#[cfg(") {
            let end = body[inner..].find(']').map_or(body.len(), |n| inner + n);
            if body[inner..end].contains("feature") {
                found.push(code[..at + inner].lines().count());
            }
        }
    }
    found
}
