//! Sets of tool names, for policies that treat some tools differently.

use std::collections::BTreeSet;

/// A set of tool names. Case and separators are ignored: `read_file`, `ReadFile` and `read-file`
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
    /// Creates a set of these tools.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(|name| folded(name.as_ref())).collect())
    }

    /// Returns the tools whose results are working state rather than information that can be looked
    /// up again, by the names that common agents use: task lists, questions to the user, skills,
    /// structured output, other agents.
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

    /// Returns whether the set contains a tool.
    pub fn contains(&self, name: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&folded(name))
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
