//! `trajectory import`: imports rounds that other programs recorded.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use context_runtime::trajectory::RoundImported;
use context_runtime::trajectory::export::{is_otlp_json, read_atif, read_otlp_json};
use context_runtime::trajectory::peer::import_folder;
use context_runtime::trajectory::{RoundRef, SessionId};
use context_runtime::{CancelSignal, Error};
use schemars::JsonSchema;
use serde::Serialize;

use super::{all_rounds, recorder};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::input;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count};

/// Read rounds that other programs recorded.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory import runs/ --session support-7
  context trajectory import trajectory.json
  context trajectory import traces.jsonl          OpenTelemetry traces, as a collector writes them

A folder is one of DataGallery's dataagent: Run0_Sub0.json, Run0_Sub0.meta.json and so on, of either
generation. A file is a trajectory in ATIF, or traces in OTLP JSON with the names of OpenTelemetry
for generative AI or of OpenInference. Traces name their sessions themselves, unless --session does.
Parts that cannot be imported are left out and reported.
Existing rounds are not changed, so an interrupted import can be run again.")]
pub(super) struct Args {
    /// The folder or the file
    #[arg(value_name = "FOLDER|FILE")]
    path: PathBuf,
    /// The session of the rounds [default: the name of the folder or file, or what traces name]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
}

/// JSON record of `trajectory import`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct TrajectoryImportRecord<'a> {
    v: u32,
    session: &'a str,
    /// The number of rounds written.
    imported: usize,
    /// The number of rounds that already existed.
    there: usize,
    /// The parts that could not be imported unchanged.
    findings: Vec<String>,
}

pub(super) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let name = || args.path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let Some(session) = args.session.clone().or_else(name) else {
        return Err(Failure::Usage("name the session with --session".into()));
    };
    let (imported, there, findings) = match args.path.is_dir() {
        true => folder(app, &args.path, &session).await?,
        false => file(app, &args, &session).await?,
    };
    if app.out.is_json() {
        let record = TrajectoryImportRecord { v: 1, session: &session, imported, there, findings };
        app.out.record(&record)?;
        return Ok(Outcome::Success);
    }
    for finding in &findings {
        app.out.note(clean(finding));
    }
    let done = app.out.paint(Style::Green, "imported").to_string();
    let before = if there > 0 {
        format!(" · {} there before", count(there, "round"))
    } else {
        String::new()
    };
    app.out.line(format_args!(
        "{done} {} of {}{before}",
        count(imported, "round"),
        clean(&session)
    ))?;
    Ok(Outcome::Success)
}

type Imported = (usize, usize, Vec<String>);

/// Rounds are written as a whole, so an interrupted import can be resumed by starting it again.
fn begin(app: &mut App, path: &Path, rounds: usize) -> (CancelSignal, Progress) {
    app.out.outlive_reader();
    let bar = Progress::new(&app.out, format!("importing {}", path.display()));
    bar.steps("round", rounds);
    (app.interrupt().clone(), bar)
}

async fn folder(app: &mut App, path: &Path, session: &str) -> Result<Imported, Failure> {
    let read = import_folder(path, app.user.clone(), session, app.now())?;
    let findings: Vec<String> = read.findings.iter().map(ToString::to_string).collect();
    if read.rounds.is_empty() {
        let file = path.display().to_string();
        return Err(Failure::NoRounds { file, problem: "no file in it holds a round".into() });
    }
    let store = app.store_or_new().await?;
    let known = all_rounds(app, &*store, Some(session)).await?;
    let known: HashSet<&RoundRef> = known.iter().map(|head| &head.round).collect();
    let recorder = recorder(app, &store)?;
    let (interrupt, bar) = begin(app, path, read.rounds.len());
    let (mut imported, mut there) = (0, 0);
    for record in &read.rounds {
        interrupt.check("import")?;
        // The files have no times, so a repeated import would give a different round.
        if known.contains(&record.head.round) {
            there += 1;
        } else {
            recorder.import(record).await.map_err(Error::from)?;
            imported += 1;
        }
        bar.advance(1);
    }
    Ok((imported, there, findings))
}

async fn file(app: &mut App, args: &Args, session: &str) -> Result<Imported, Failure> {
    input::announce(&app.out, &args.path, "a trajectory");
    let input = input::read(&args.path)?;
    let mut findings = Vec::new();
    let problem = |problem: String| Failure::NoRounds { file: input.shown().to_owned(), problem };
    let rounds = if is_otlp_json(input.text()) {
        let session = args.session.as_deref().map(SessionId::from);
        let read = read_otlp_json(input.text(), app.user.clone(), session)
            .map_err(|error| problem(error.to_string()))?;
        if read.other_spans > 0 {
            let others = count(read.other_spans, "span");
            findings.push(format!("{others} of no agent, model or tool were left out"));
        }
        if read.circles > 0 {
            let circles = count(read.circles, "circle");
            findings.push(format!("{circles} of spans within each other were cut open"));
        }
        read.rounds
    } else {
        read_atif(input.text(), app.user.clone(), session)
            .map_err(|error| problem(error.to_string()))?
    };
    let store = app.store_or_new().await?;
    let recorder = recorder(app, &store)?;
    let (interrupt, bar) = begin(app, &args.path, rounds.len());
    let (mut imported, mut there) = (0, 0);
    for round in &rounds {
        interrupt.check("import")?;
        match recorder.import(&round.to_record()).await.map_err(Error::from)? {
            RoundImported::New | RoundImported::Extended => imported += 1,
            RoundImported::Taken => {
                there += 1;
                findings.push(format!(
                    "{} exists with other content and was not changed",
                    round.round()
                ));
            }
            _ => there += 1,
        }
        bar.advance(1);
    }
    Ok((imported, there, findings))
}
