//! Programs of others that read what we write, which some tests need.

use std::process::{Command, Stdio};

/// Whether a tool is there, by the name that the reasons of ignored tests have for it.
pub(super) fn is_there(name: &str) -> bool {
    let python = |code: &str| {
        let program = std::env::var("CONTEXT_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        runs(Command::new(program).args(["-c", code]))
    };
    match name {
        "Graphviz" => runs(Command::new("dot").arg("-V")),
        "prov for Python" => python("import prov.model"),
        "the models of Harbor" => {
            python("import harbor.models.trajectories.trajectory") || python("import nat.atif")
        }
        "Mermaid for Node" => std::env::var_os("CONTEXT_TEST_NODE_MODULES").is_some_and(|folder| {
            let code = "await import('jsdom'); await import('mermaid')";
            let mut node = Command::new("node");
            runs(node.current_dir(folder).args(["--input-type=module", "-e", code]))
        }),
        _ => false,
    }
}

fn runs(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
