//! The order of turns, and the pairs of calls and results.

use std::collections::HashSet;

use serde_json::Value;

use super::super::Rule;
use super::super::body_path::{BodyPath, Findings, items, kind, text};

pub(super) fn check(messages: &[Value], list: &BodyPath<'_>, findings: &mut Findings) {
    let turns = turns(messages);
    if let Some(first) = turns.first() {
        findings.ask(first.role == "user", Rule::Role, &list.item(0), "the user speaks first");
    }
    pairs(&turns, list, findings);
    server_pairs(&turns, list, findings);
}

/// A run of adjacent messages of one role, joined as the service joins them. System messages in
/// between are ignored.
struct Turn<'a> {
    role: &'a str,
    blocks: Vec<(usize, &'a Value)>,
    /// Whether one of the messages has a plain text instead of blocks.
    plain: bool,
    /// Whether a system message lies within the turn.
    interrupted: bool,
}

fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        let role = text(message, "role").unwrap_or_default();
        if role == "system" {
            if let Some(turn) = turns.last_mut() {
                turn.interrupted = true;
            }
            continue;
        }
        let blocks = items(message.get("content")).iter().map(|block| (i, block));
        let plain = message.get("content").is_some_and(Value::is_string);
        match turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => {
                turn.blocks.extend(blocks);
                turn.plain |= plain;
            }
            None => turns.push(Turn { role, blocks: blocks.collect(), plain, interrupted: false }),
        }
    }
    turns
}

/// Checks that every call has its result at the beginning of the next user turn.
fn pairs(turns: &[Turn<'_>], list: &BodyPath<'_>, findings: &mut Findings) {
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for turn in turns {
        let mut others = false;
        for (i, block) in &turn.blocks {
            let at = list.item(*i);
            match kind(block) {
                "tool_result" => {
                    let id = text(block, "tool_use_id").unwrap_or_default();
                    match open.iter().position(|call| *call == id) {
                        Some(place) => drop(open.remove(place)),
                        None => findings.add(
                            Rule::Pairing,
                            &at,
                            format!("a result of {id:?}, which no open call has"),
                        ),
                    }
                    findings.ask(!others, Rule::Pairing, &at, "a result behind something else");
                }
                _ => others = true,
            }
        }
        if !open.is_empty() {
            let at = turn.blocks.first().map_or(*list, |(i, _)| list.item(*i));
            findings.add(
                Rule::Pairing,
                &at,
                format!("before it, calls without results: {}", open.join(", ")),
            );
            open.clear();
        }
        for (i, block) in turn.blocks.iter().filter(|(_, block)| kind(block) == "tool_use") {
            let id = text(block, "id").unwrap_or_default();
            findings.ask(seen.insert(id), Rule::Duplicate, &list.item(*i), "two calls with one id");
            open.push(id);
        }
        findings.ask(
            open.is_empty() || !turn.interrupted,
            Rule::Pairing,
            list,
            "a system message behind a call",
        );
    }
    if !open.is_empty() {
        findings.add(
            Rule::Pairing,
            list,
            format!("calls at the end without results: {}", open.join(", ")),
        );
    }
}

/// Checks that each call of a server tool precedes its result in one turn. The last turn may still
/// wait for the result. So may a turn in which the server tool called client tools: it continues
/// after the user answered those calls and added nothing else.
fn server_pairs(turns: &[Turn<'_>], list: &BodyPath<'_>, findings: &mut Findings) {
    let mut seen = HashSet::new();
    let mut open: HashSet<&str> = HashSet::new();
    for (n, turn) in turns.iter().enumerate() {
        let mut callers = HashSet::new();
        for (i, block) in &turn.blocks {
            let at = list.item(*i);
            match kind(block) {
                "server_tool_use" | "mcp_tool_use" => {
                    let id = text(block, "id").unwrap_or_default();
                    findings.ask(seen.insert(id), Rule::Duplicate, &at, "two calls with one id");
                    open.insert(id);
                }
                "tool_use" => {
                    callers.extend(block.get("caller").and_then(|caller| text(caller, "tool_id")));
                }
                kind if kind.ends_with("_tool_result") => {
                    let id = text(block, "tool_use_id").unwrap_or_default();
                    findings.ask(
                        open.remove(id),
                        Rule::Pairing,
                        &at,
                        "a server's result without its call",
                    );
                }
                _ => {}
            }
        }
        let is_result = |(_, block): &(usize, &Value)| kind(block) == "tool_result";
        let only_answers = turn.role == "user" && !turn.plain && turn.blocks.iter().all(is_result);
        let is_last = n + 1 == turns.len();
        let before = open.len();
        open.retain(|id| is_last && turn.role != "user" || only_answers || callers.contains(id));
        findings.ask(
            open.len() == before,
            Rule::Pairing,
            list,
            "a server's call without its result",
        );
    }
}
