//! The judgement of a scenario: passed, failed, or about something that the protocol leaves open.
//!
//! A scenario is skipped by facts of the protocol only: the capabilities and the tools that the
//! server declares, and the codes of its errors.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A server without the method.
const NO_METHOD: &str = "MCP error -32601: ";
/// A call of a tool that the server does not have, as it answers.
const NO_TOOL: &str = "MCP error -32602: tool not found";
/// A resource that the server does not have.
const NO_RESOURCE: &str = "MCP error -32002: ";
/// Words of the suite about a feature that a server without sessions lacks.
const SESSION: &str = "session ID";

/// The result of a scenario.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// All checks passed, and there was one.
    Passed,
    /// A check failed that concerns what the server has.
    Failed,
    /// It needs what the server does not have, for this reason.
    Skipped(String),
}

/// The server, as it describes itself.
#[derive(Debug)]
pub(super) struct Declared {
    capabilities: Value,
    tools: Vec<String>,
}

impl Declared {
    /// Asks a server that is started for it.
    pub(super) fn ask(mut server: Command) -> Result<Self> {
        let mut child = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().context("the server has no input")?;
        let output = child.stdout.take().context("the server has no output")?;
        let mut answers = BufReader::new(output).lines();
        let about = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "context-suite", "version": "1"},
        });
        let mut ask = |method: &str, params: Value| -> Result<Value> {
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            writeln!(input, "{request}")?;
            for line in answers.by_ref() {
                let answer: Value = serde_json::from_str(&line?)?;
                if answer.get("id").is_some() {
                    return Ok(answer["result"].clone());
                }
            }
            bail!("the server did not answer {method}")
        };
        let capabilities = ask("initialize", about)?["capabilities"].clone();
        let tools = ask("tools/list", json!({}))?["tools"].clone();
        // Without its input the server ends.
        drop(input);
        child.wait()?;
        let names = tools.as_array().into_iter().flatten();
        let names = names.filter_map(|tool| tool["name"].as_str());
        Ok(Self { capabilities, tools: names.map(ToOwned::to_owned).collect() })
    }

    /// Returns the reason why an error concerns nothing that the server has. `None` if it does.
    /// `text` is all that the suite wrote about the scenario.
    fn excuse(&self, error: &str, text: &str) -> Option<String> {
        if let Some((_, method)) = error.split_once(NO_METHOD) {
            let (pointer, name) = capability(method.trim())?;
            let declares = self.capabilities.pointer(pointer).is_some_and(|it| it != false);
            let reason = format!("the capability `{name}` is optional, and not declared");
            return (!declares).then_some(reason);
        }
        let asks = match error.strip_prefix("Tool '") {
            Some(rest) => rest.split_once('\'').map(|(tool, _)| tool),
            None if error.contains(NO_TOOL) => asked_tool(text),
            None => None,
        };
        if let Some(tool) = asks {
            let reason = format!("it needs `{tool}`, a tool of the suite's own server");
            return (!self.tools.iter().any(|own| own == tool)).then_some(reason);
        }
        let reason = "it reads a resource of the suite's own server";
        error.contains(NO_RESOURCE).then(|| reason.to_owned())
    }
}

/// Returns the tool that the suite says a server has to have for a scenario.
fn asked_tool(text: &str) -> Option<&str> {
    let named = ["Implement tool ", "Implement a tool named "];
    let after = named.iter().find_map(|words| text.split_once(words).map(|(_, after)| after))?;
    after.split_whitespace().next()
}

/// Returns the capability without which a server need not have a method: where it is declared, and
/// its name.
fn capability(method: &str) -> Option<(&'static str, &'static str)> {
    match method {
        "resources/subscribe" | "resources/unsubscribe" => {
            Some(("/resources/subscribe", "resources.subscribe"))
        }
        _ => match method.split_once('/')?.0 {
            "prompts" => Some(("/prompts", "prompts")),
            "logging" => Some(("/logging", "logging")),
            "completion" => Some(("/completions", "completions")),
            "resources" => Some(("/resources", "resources")),
            "tools" => Some(("/tools", "tools")),
            _ => None,
        },
    }
}

/// Judges what the suite wrote about a scenario.
pub(super) fn judge(text: &str, declared: &Declared) -> Judged {
    let Some(Counts { passed, all, failed }) = text.lines().find_map(counts) else {
        return Judged::Failed;
    };
    if failed == 0 && all == 0 {
        // Sessions are optional. The suite warns that there is none, and then checks nothing.
        let warning = text.lines().find_map(|line| line.split_once(" WARNING "));
        return match warning.filter(|(_, warning)| warning.contains(SESSION)) {
            Some(_) => Judged::Skipped("it needs sessions, which are optional".to_owned()),
            None => Judged::Failed,
        };
    }
    if failed == 0 && passed == all {
        return Judged::Passed;
    }
    let errors: Vec<_> =
        text.lines().filter_map(|line| line.trim().strip_prefix("Error: ")).collect();
    let excuses: Option<Vec<_>> = errors.iter().map(|error| declared.excuse(error, text)).collect();
    match excuses {
        Some(excuses) if errors.len() == failed => {
            excuses.into_iter().next().map_or(Judged::Failed, Judged::Skipped)
        }
        _ => Judged::Failed,
    }
}

struct Counts {
    passed: usize,
    all: usize,
    failed: usize,
}

/// Reads a line such as `Passed: 1/2, 1 failed, 0 warnings`.
fn counts(line: &str) -> Option<Counts> {
    let mut parts = line.trim().strip_prefix("Passed: ")?.split(", ");
    let (passed, all) = parts.next()?.split_once('/')?;
    let failed = parts.next()?.strip_suffix(" failed")?;
    Some(Counts {
        passed: passed.parse().ok()?,
        all: all.parse().ok()?,
        failed: failed.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Declared, Judged, NO_TOOL, judge};

    fn judged(text: &str) -> Judged {
        let capabilities = json!({"tools": {}, "resources": {}, "completions": {}});
        judge(text, &Declared { capabilities, tools: vec!["fork".to_owned()] })
    }

    fn failing(error: &str) -> Judged {
        judged(&format!("Passed: 0/1, 1 failed, 0 warnings\n    Error: {error}\n"))
    }

    #[test]
    fn only_a_scenario_with_checks_passes() {
        assert_eq!(judged("Passed: 2/2, 0 failed, 0 warnings"), Judged::Passed);
        assert_eq!(judged("Passed: 0/0, 0 failed, 0 warnings"), Judged::Failed);
        assert_eq!(judged("no result"), Judged::Failed);
        let warns = |of: &str| format!("1 [a] WARNING {of}\nPassed: 0/0, 0 failed, 1 warnings");
        assert!(matches!(judged(&warns("Server provides session ID")), Judged::Skipped(_)));
        assert_eq!(judged(&warns("Server answers")), Judged::Failed);
    }

    #[test]
    fn what_the_server_has_is_never_excused() {
        let skipped = |error: &str| matches!(failing(error), Judged::Skipped(_));
        assert!(skipped("Failed: MCP error -32601: prompts/list"));
        assert!(skipped("Failed: MCP error -32601: resources/subscribe"));
        assert!(!skipped("Failed: MCP error -32602: tool not found"));
        let needs = |tool: &str| format!("{NO_TOOL}\n\nImplement tool {tool} with no arguments");
        assert!(skipped(&needs("x")));
        assert!(!skipped(&needs("fork")));
        assert!(skipped("Failed: MCP error -32002: there is no such resource"));
        assert!(skipped("Tool 'x' not found. Available tools: fork"));
        assert!(!skipped("Tool 'fork' not found. Available tools: fork"));
        assert!(!skipped("Failed: MCP error -32601: tools/list"));
        assert!(!skipped("Failed: MCP error -32602: invalid arguments"));
        assert!(!skipped("Failed: MCP error -32603: internal"));
        let two = "Passed: 0/2, 2 failed, 0 warnings\nError: MCP error -32601: prompts/list";
        assert_eq!(judged(two), Judged::Failed, "one failure has no error to judge by");
    }
}
