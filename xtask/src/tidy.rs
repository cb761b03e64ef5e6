//! `cargo xtask tidy`: checks that a compiler does not make.
//!
//! Every module has docs, files stay small, and no unfinished code or machine-specific path is left
//! behind. The tables of the README, of ARCHITECTURE and of the facade's documentation name every
//! crate, every feature of the facade, or both. Links of pages lead somewhere. The tables of
//! guarantees and of features name tests that exist. The stores that keep rows have the same
//! modules. No two public types have one name. The pages on the environment and on security list
//! every variable and every limit of this workspace. [`check`] is a pure function over data, so
//! that the rules can be tested. A test of this crate checks the workspace itself.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;

use crate::process::Verdict;
use crate::source::{self, SourceFile, code};
use crate::width::{MAX_COLUMNS, wide_lines};
use crate::workspace::{FACADE, Workspace};
use crate::{environment, guarantees, limits, paths, public_types, rooms};

/// The file with the documentation of the facade.
const FACADE_DOCS: &str = "context-runtime/src/lib.rs";
/// The maximum number of lines of a Rust file. The style guide asks for fewer than 400; this is the
/// hard limit.
pub const MAX_LINES: usize = 500;

/// The first folders of paths that exist on one person's machine only.
const MACHINE_FOLDERS: [&str; 5] = ["home", "root", "tmp", "Users", "work"];

/// A violation of a tidiness rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1. 0 stands for the whole file.
    pub line: usize,
    /// A description of the violation.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, message } = self;
        if *line == 0 {
            write!(f, "{path}: {message}")
        } else {
            write!(f, "{path}:{line}: {message}")
        }
    }
}

/// The names that the README must list.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The crates of the workspace.
    pub crates: BTreeSet<String>,
    /// The features of the facade.
    pub features: BTreeSet<String>,
}

pub(crate) fn run(workspace: &Workspace) -> Result<Verdict> {
    let findings = check_workspace(workspace)?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: nothing to do");
    }
    Ok(Verdict::of(findings.is_empty()))
}

/// Checks the workspace of this program.
pub fn check_ours() -> Result<Vec<Finding>> {
    check_workspace(&Workspace::ours()?)
}

fn check_workspace(workspace: &Workspace) -> Result<Vec<Finding>> {
    let facade = workspace.krate(FACADE);
    let features = facade.into_iter().flat_map(|facade| facade.features.keys());
    let names = Names {
        crates: workspace.crates().into_iter().map(|krate| krate.name.to_string()).collect(),
        features: features.filter(|name| *name != "default").cloned().collect(),
    };
    Ok(check(&source::files(workspace.root())?, &names))
}

/// Checks files. Pages are checked only if they are among the files.
pub fn check(files: &[SourceFile], names: &Names) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        check_text(file, &mut found);
        if file.is_rust() {
            check_rust(file, &mut found);
        }
        check_tables(file, names, &mut found);
    }
    found.extend(guarantees::check(files));
    found.extend(environment::check(files));
    found.extend(limits::check(files));
    found.extend(paths::check(files));
    found.extend(rooms::check(files));
    found.extend(public_types::check(files));
    found
}

fn check_text(file: &SourceFile, found: &mut Vec<Finding>) {
    let mut report = reporter(file, found);
    for (n, line) in file.text.lines().enumerate() {
        if line.ends_with([' ', '\t']) {
            report(n + 1, "whitespace at the end".into());
        }
        if let Some(folder) = machine_folder(line) {
            report(n + 1, format!("a path on somebody's machine, /{folder}/"));
        }
    }
    for line in wide_lines(file) {
        report(line, format!("more than {MAX_COLUMNS} columns"));
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        report(0, "no line break at the end".into());
    }
}

/// Returns the first folder of a path in this line that exists on one person's machine only.
pub(crate) fn machine_folder(line: &str) -> Option<&'static str> {
    let begins_path = |at: usize| {
        let before = line[..at].chars().next_back();
        !before
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '*'))
    };
    MACHINE_FOLDERS.into_iter().find(|folder| {
        let path = format!("/{folder}/");
        line.match_indices(&path).any(|(at, _)| begins_path(at))
    })
}

fn check_rust(file: &SourceFile, found: &mut Vec<Finding>) {
    let mut report = reporter(file, found);
    if !file.text.starts_with("//!") {
        report(1, "the module does not begin with what it is for (`//!`)".into());
    }
    let lines = file.text.lines().count();
    if lines > MAX_LINES {
        report(0, format!("{lines} lines; split it, {MAX_LINES} is the most"));
    }
    let product = code(&file.text);
    for (n, line) in product.lines().enumerate() {
        for leftover in ["todo!(", "unimplemented!(", "dbg!("] {
            if line.contains(leftover) {
                report(n + 1, format!("`{leftover}…)` is left behind"));
            }
        }
        if !file.is_test() && line.contains(".unwrap()") {
            report(
                n + 1,
                "`.unwrap()` outside tests; return an error, or `expect` what holds".into(),
            );
        }
    }
}

/// Checks that the tables of a page name every crate and every feature that they have to.
fn check_tables(page: &SourceFile, names: &Names, found: &mut Vec<Finding>) {
    let (crates, features) = match page.path.as_str() {
        "README.md" => (true, true),
        "ARCHITECTURE.md" => (true, false),
        FACADE_DOCS => (false, true),
        _ => return,
    };
    let is_row = |line: &&str| line.trim_start_matches("//!").trim_start().starts_with('|');
    let rows: Vec<&str> = page.text.lines().filter(is_row).collect();
    let mut report = reporter(page, found);
    let mut check_listed = |kind: &str, name: &String| {
        // A name may be a link: [`name`](name).
        if !rows.iter().any(|row| row.contains(&format!("`{name}`"))) {
            report(0, format!("no table lists the {kind} `{name}`"));
        }
    };
    names.crates.iter().filter(|_| crates).for_each(|name| check_listed("crate", name));
    names.features.iter().filter(|_| features).for_each(|name| check_listed("feature", name));
}

fn reporter<'a>(
    file: &'a SourceFile,
    found: &'a mut Vec<Finding>,
) -> impl FnMut(usize, String) + 'a {
    |line, message| found.push(Finding { path: file.path.clone(), line, message })
}
