//! The table of `docs/peers.md` that counts what an agent takes in other libraries.

use std::fs;

use crate::workspace::Workspace;

/// The programs, in the order of the table, each with the comment that begins its agent.
const PROGRAMS: [(&str, &str); 5] = [
    ("context_agent.rs", "// the agent"),
    ("openai_agents.py", "# the agent"),
    ("langgraph_agent.py", "# the agent"),
    ("rig_agent.rs", "// the agent"),
    ("adk_agent.rs", "// the agent"),
];

/// The lines of a program without blank ones and comments: of its agent, and of its tools with what
/// is imported.
fn lines(text: &str, mark: &str) -> (usize, usize) {
    let at = text.find(mark).expect("the mark of the agent");
    // A mark at the end of a line belongs to that line.
    let (before, agent) = text.split_at(text[..at].rfind('\n').map_or(0, |line| line + 1));
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !["//", "# ", "\"\"\""].iter().any(|start| line.starts_with(start))
    };
    let count = |text: &str| text.lines().filter(is_code).count();
    (count(agent), count(before))
}

#[test]
fn the_table_counts_the_programs() {
    let workspace = Workspace::ours().expect("the workspace of this program");
    let root = workspace.root();
    let page = fs::read_to_string(root.join(super::PAGE)).expect("the page");
    for (name, mark) in PROGRAMS {
        let text = fs::read_to_string(root.join("xtask/peers/agent").join(name));
        let text = text.expect("the program");
        let (agent, tools) = lines(&text, mark);
        let row = page.lines().find(|line| line.contains(name)).expect("a row of the program");
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[2..4], [agent.to_string(), tools.to_string()], "{row}");
    }
}
