//! `doctor`: what is used, and whether it is well. Only reads. What is wrong is a finding, not a
//! failure, so that the other checks are made as well.

mod checks;
pub(super) mod environment;
mod file;
mod store;

use schemars::JsonSchema;
use serde::Serialize;

use self::checks::{Check, Status};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count, filled};

/// Check what is used, and whether it is well.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context doctor
  context doctor --store redis://cache:6379/0
  context doctor --json | jq '.checks[] | select(.status != \"ok\")'

Reports the program, the store with its file or its server, the disk, the durability, what slows it
down and what was left behind, each with a verdict: ok, warning, problem, or unknown for what cannot
be found out. The store is only read, and what is advised never removes a chat. `context verify`
checks every chat and takes longer. The exit status is 1 if there is a problem, and 0 with warnings
only.")]
pub(crate) struct Args {}

/// JSON record of `doctor`: all checks.
#[derive(Serialize, JsonSchema)]
pub(super) struct DoctorRecord<'a> {
    v: u32,
    problems: usize,
    warnings: usize,
    checks: &'a [Check],
}

pub(crate) async fn run(_args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let url = app.store_url();
    let mut checks = vec![
        environment::program(),
        environment::store(url.as_deref(), app.settings.store.1),
        environment::user(app.user.as_str(), app.settings.users.1),
        environment::config(),
        environment::variables(),
    ];
    let file = url.as_deref().and_then(file::StoreFile::of);
    if let Some(file) = &file {
        checks.extend(file.checks());
    }
    let is_remote = file.is_some_and(|file| file.is_remote());
    checks.extend(store::checks(app, url.as_deref(), is_remote).await);
    report(app, &checks)
}

fn report(app: &mut App, checks: &[Check]) -> Result<Outcome, Failure> {
    let number = |status| checks.iter().filter(|check| check.status == status).count();
    let (problems, warnings) = (number(Status::Problem), number(Status::Warning));
    if app.out.is_json() {
        app.out.record(&DoctorRecord { v: 1, problems, warnings, checks })?;
    } else {
        let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        for Check { name, status, detail, advice } in checks {
            let (word, style) = match status {
                Status::Ok => ("ok", Style::Green),
                Status::Warning => ("warning", Style::Yellow),
                Status::Problem => ("problem", Style::Red),
                Status::Unknown => ("unknown", Style::Dim),
            };
            let word = app.out.paint(style, format!("{word:7}")).to_string();
            let indent = width + 11;
            let fill = |text: &str, indent| filled(&clean(text), indent, app.out.columns());
            let detail = fill(detail, indent);
            let advice = advice.as_ref().map(|advice| fill(advice, indent + 2));
            app.out.line(format_args!("{word}  {name:width$}  {detail}"))?;
            if let Some(advice) = advice {
                app.out.line(format_args!("{:indent$}→ {advice}", ""))?;
            }
        }
        let number = [(problems, "problem"), (warnings, "warning")].map(|(n, one)| count(n, one));
        app.out.line(format_args!("\n{}", number.join(", ")))?;
    }
    Ok(if problems > 0 { Outcome::Findings } else { Outcome::Success })
}
