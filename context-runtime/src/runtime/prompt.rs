//! The parts of the system prompt: the caller's text, the environment, instructions, and appended
//! text.

use std::fmt::Write as _;

use context_core::Timestamp;
use context_core::message::{Text, is_blank};
use context_core::runtime::{Environment, PrepareInput};

/// The parts of a system prompt, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prompt {
    /// The parts.
    pub(super) parts: Vec<String>,
    /// The number of parts before the instructions.
    pub(super) before_instructions: usize,
    /// The number of instruction parts.
    pub(super) instructions: usize,
}

impl Prompt {
    /// Assembles the parts of an input. With a time, the environment is included whole. Without
    /// one, it has only what the caller set for the model: the permissions and further folders.
    pub(super) fn of(input: &PrepareInput, now: Option<Timestamp>) -> Self {
        let says = |text: &&str| !is_blank(text);
        let mut parts: Vec<String> = Vec::new();
        match input.custom_system_prompt.as_deref().filter(says) {
            Some(custom) => parts.push(custom.to_owned()),
            None => {
                let given = input.request.system.iter().map(|text| text.text.as_str());
                parts.extend(given.filter(says).map(str::to_owned));
                parts.extend(environment(input, now));
            }
        }
        let before_instructions = parts.len();
        let instructions = input.instructions.iter().map(|text| text.text.as_str());
        parts.extend(instructions.filter(says).map(str::to_owned));
        let instructions = parts.len() - before_instructions;
        let appended = input.append_system_prompt.as_deref().filter(says);
        parts.extend(appended.map(|text| text.trim().to_owned()));
        Self { parts, before_instructions, instructions }
    }

    /// Returns the instruction parts.
    pub(super) fn instructions(&self) -> &[String] {
        &self.parts[self.before_instructions..self.before_instructions + self.instructions]
    }

    /// Returns all parts as the system prompt of a request.
    pub(super) fn into_texts(self) -> Vec<Text> {
        self.parts.into_iter().map(|text| Text { text: text.into(), ..Text::default() }).collect()
    }
}

/// Returns the environment: date and platform if there is a time, folders and permissions. It has
/// no time of day, because a prompt that changes with every call is never cached.
fn environment(input: &PrepareInput, now: Option<Timestamp>) -> Option<String> {
    let Environment { cwd, additional_working_directories: further, permission_mode, .. } =
        &input.environment;
    let permissions = permission_mode.as_deref().filter(|mode| !is_blank(mode));
    if now.is_none() && further.is_empty() && permissions.is_none() {
        return None;
    }
    let mut text = String::from("<environment>");
    let mut line = |name: &str, value: &str| {
        let _ = write!(text, "\n{name}: {}", one_line(value));
    };
    if let Some(now) = now {
        line("date", &now.to_day());
        line("platform", std::env::consts::OS);
    }
    // Further folders are further than this one.
    if let Some(cwd) = cwd.as_ref().filter(|_| now.is_some() || !further.is_empty()) {
        line("working folder", &cwd.display().to_string());
    }
    for folder in further {
        line("further folder", &folder.display().to_string());
    }
    if let Some(mode) = permissions {
        line("permissions", mode);
    }
    text.push_str("\n</environment>");
    Some(text)
}

/// Escapes a value so that it can end neither its line nor its block.
fn one_line(value: &str) -> String {
    value.replace(['\n', '\r'], " ").replace('&', "&amp;").replace('<', "&lt;")
}
