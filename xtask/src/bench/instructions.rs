//! `cargo xtask bench instructions`: the instructions that hot paths execute, compared with saved
//! counts.
//!
//! A count of instructions hardly depends on the load of the machine. So a growth of a few percent
//! is visible, which would take a long measurement of time. A count does not cover waiting, caches,
//! or other processors. valgrind's callgrind ([`callgrind`]) counts the cases of the facade's
//! program `instructions`, and the counts are saved in a file ([`counts`]).

mod callgrind;
mod counts;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::machine;
use crate::process::Verdict;
use crate::workspace::Workspace;
use callgrind::Callgrind;
use counts::{Change, Counts};

/// The program with the cases.
pub(super) const PROGRAM: &str = "instructions";
/// The file of saved counts.
const FILE: &str = "context-runtime/benches/instructions/counts.toml";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run only the cases whose names contain this text
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Count each case this many times and show the spread of the counts
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Save the counts as the new reference
    #[arg(long)]
    save: bool,
}

impl Args {
    /// Counts every case once.
    pub(crate) const ALL: Self = Self { case: None, runs: 1, save: false };
}

/// A case of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    name: String,
    /// The number of repetitions for a difference of two runs, or `None` if one thread does all the
    /// work.
    repetitions: Option<u64>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let Some(valgrind) = machine::said(Command::new("valgrind").arg("--version")) else {
        println!(
            "instructions are not counted: valgrind is missing; `apt-get install valgrind` installs it on Debian and Ubuntu"
        );
        return Ok(Verdict::Passed);
    };
    eprintln!("building the cases");
    let program = super::build(workspace, PROGRAM)?;
    let file = workspace.root().join(FILE);
    let mut kept = Counts::read(&file)?;
    let toolchain = format!("{}, {valgrind}", machine::compiler());
    if let Some(other) = kept.toolchain.as_ref().filter(|other| **other != toolchain) {
        println!(
            "the counts are of {other}; this is {toolchain}, which may account for differences"
        );
    }
    let folder = workspace.target_folder().join("instructions");
    std::fs::create_dir_all(&folder)?;
    let callgrind = Callgrind::new(&program, &folder);
    let wanted = |case: &Case| args.case.as_ref().is_none_or(|part| case.name.contains(part));
    let cases: Vec<Case> = cases(&program)?.into_iter().filter(wanted).collect();
    ensure!(
        !cases.is_empty(),
        "no case has {:?} in its name",
        args.case.as_deref().unwrap_or_default()
    );
    println!(
        "{:<44} {:>14} {:>14} {:>8} {:>8}",
        "case", "instructions", "kept", "change", "spread"
    );
    let mut grown = Vec::new();
    for case in &cases {
        let mut counted = Vec::new();
        for _ in 0..args.runs {
            counted.push(callgrind.count(case)?);
        }
        let now = counts::median(&mut counted).context("nothing was counted")?;
        let spread = (args.runs > 1).then(|| format!("{:.2} %", counts::spread(&counted)));
        let change = Change::of(kept.cases.get(&case.name).copied(), now);
        println!(
            "{:<44} {now:>14} {:>14} {:>8} {:>8}",
            case.name,
            change.before.map_or("-".to_owned(), |before| before.to_string()),
            change.text(),
            spread.unwrap_or_else(|| "-".to_owned())
        );
        if change.is_growth() {
            grown.push(format!(
                "{}: {} more than {}",
                case.name,
                change.text(),
                change.before.unwrap_or_default()
            ));
        }
        kept.cases.insert(case.name.clone(), now);
    }
    if args.save {
        kept.toolchain = Some(toolchain);
        kept.machine = Some(machine::describe());
        kept.write(&file)?;
        println!("kept in {FILE}");
    } else {
        warn(&grown, &folder);
    }
    Ok(Verdict::Passed)
}

/// Prints a line for each path that grew, and what to do about it.
fn warn(grown: &[String], folder: &Path) {
    if grown.is_empty() {
        return;
    }
    println!();
    grown.iter().for_each(|growth| println!("warning: {growth}"));
    println!(
        "look where:  callgrind_annotate --inclusive=yes {}/CASE.out\naccept it:   cargo xtask bench instructions --save",
        folder.display()
    );
}

/// Returns the cases of the program.
fn cases(program: &Path) -> Result<Vec<Case>> {
    let output =
        Command::new(program).arg("--list").output().context("the cases could not be listed")?;
    ensure!(output.status.success(), "the cases could not be listed: {}", output.status);
    String::from_utf8_lossy(&output.stdout).lines().map(parse).collect()
}

fn parse(line: &str) -> Result<Case> {
    let Some((repetitions, name)) = line.split_once('\t') else { bail!("no case: {line:?}") };
    let repetitions: u64 = repetitions.parse().with_context(|| format!("no case: {line:?}"))?;
    Ok(Case { name: name.to_owned(), repetitions: (repetitions > 0).then_some(repetitions) })
}

#[cfg(test)]
mod tests {
    use super::{Case, parse};

    #[test]
    fn lines_of_the_program_are_cases() {
        let case = |name: &str, repetitions| Case { name: name.to_owned(), repetitions };
        assert_eq!(parse("0\trender, XML").unwrap(), case("render, XML", None));
        assert_eq!(parse("32\tappend").unwrap(), case("append", Some(32)));
        assert!(parse("append").is_err());
        assert!(parse("x\tappend").is_err());
    }
}
