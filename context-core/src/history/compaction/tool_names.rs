//! Names of tools, for policies that treat some otherwise.

use std::collections::BTreeSet;

/// A set of tools. Capitals and separators do not count: `read_file`, `ReadFile` and `read-file`
/// are one tool.
///
/// ```
/// use context_core::history::ToolNames;
///
/// let names = ToolNames::new(["read_file"]);
/// assert!(names.contains("ReadFile") && !names.contains("read"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNames(BTreeSet<String>);

impl ToolNames {
    /// These tools.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(|name| folded(name.as_ref())).collect())
    }

    /// The tools whose results are the state of the work rather than something to look up again, as
    /// common agents name them: lists of tasks, questions to the user, skills, answers in a given
    /// form, other agents.
    pub fn stateful() -> Self {
        Self::new([
            "todo",
            "todo_read",
            "todo_write",
            "todo_list",
            "update_todos",
            "update_plan",
            "ask_user",
            "ask_user_question",
            "ask_question",
            "request_user_input",
            "skill",
            "read_skill",
            "load_skill",
            "use_skill",
            "structured_output",
            "agent",
            "spawn_agent",
            "send_agent_message",
            "wait_agent",
            "subagent",
            "task",
            "task_create",
            "task_get",
            "task_list",
            "task_output",
            "task_stop",
            "task_update",
        ])
    }

    /// Whether a tool is one of them.
    pub fn contains(&self, name: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&folded(name))
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
