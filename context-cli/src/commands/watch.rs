//! `watch`: follows the session files of coding agents as they grow. Each state of a file is read
//! as `import` reads it, and the missing part of its chats is written. The files are only read.

mod changes;
mod folders;
pub(super) mod report;
mod session;

use std::path::PathBuf;
use std::time::Duration;

use context_runtime::{CancelSignal, ErrorKind};

use self::changes::Changes;
use self::session::WatchSession;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::file_format::FileFormat;
use crate::missing;

/// The time after which a write that failed because of the store is tried again.
const RETRY: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  context watch ~/.claude/projects           follow the sessions of Claude Code
  context watch                              the folders of all agents that are known
  context watch ~/.codex/sessions --new-only leave out the sessions that are there already
  context watch ~/.local/share/opencode      follow a database, or sessions in many small files
  context watch runs --once                  bring the chats up to date and end, as for cron
  context watch /mnt/share --poll 10         on a network file system
  context watch --json | jq .chat            a record for each change

Reads the files that `context import FOLDER` reads, and writes to the same chats: named by the
path within the folder. First everything that is there is imported; then new files and the new
part of files that have grown. A chat is extended and never rewritten: a message that its agent
completed later is amended, and a step back in the agent becomes a new branch, which becomes the
active one. An incomplete last line is read when it is complete. Nothing in the folders is
written.

A chat that someone else continued, or whose file was replaced by other content, is left as it
is and reported once, as is a file that cannot be read. Neither ends the command. Ctrl-C does,
after the current commit, with exit status 0. With --once, the status is 1 if a file had a
problem.

Without folders, those of these that exist:
  ~/.claude/projects, ~/.codex/sessions, ~/.gemini/tmp, ~/.pi/agent/sessions,
  ~/.local/share/goose/sessions, ~/.openhands/conversations, ~/.config/io.datasette.llm

Trajectories are not recorded: use
`context trajectory record CHAT` afterwards. A file is read as a whole whenever it has changed.";

/// Follow the session files of coding agents as they grow.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folders, with their subfolders [default: those of the agents that are known]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The format of the files
    #[arg(long, value_enum, default_value_t = FileFormat::Auto)]
    from: FileFormat,
    /// Put this name and a slash before the names of the chats
    #[arg(long, value_name = "NAME")]
    prefix: Option<String>,
    /// Leave out a file as long as a line of it cannot be read
    #[arg(long)]
    strict: bool,
    /// Leave out the files that are there already, until they change
    #[arg(long, conflicts_with = "once")]
    new_only: bool,
    /// Bring all chats up to date and end
    #[arg(long)]
    once: bool,
    /// Look at the files every so many seconds, instead of waiting for the system to report changes
    #[arg(long, value_name = "SECONDS", conflicts_with = "once")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    poll: Option<u64>,
}

pub(crate) async fn run(mut args: Args, app: &mut App) -> Result<Outcome, Failure> {
    if args.folders.is_empty() {
        args.folders = folders::known()?;
    }
    for folder in &args.folders {
        std::fs::metadata(folder).map_err(|source| missing::unreadable(folder, source))?;
    }
    let interrupt = app.interrupt();
    if args.once {
        let mut session = WatchSession::new(args);
        let elapsed = session.update(app, &interrupt).await?;
        session.totals.print(app, session.problems(), elapsed)?;
        return Ok(if session.has_failed() { Outcome::Findings } else { Outcome::Success });
    }
    match follow(args, app, &interrupt).await {
        // Ctrl-C is the usual end.
        Err(Failure::Store(error)) if error.kind() == ErrorKind::Cancelled => Ok(Outcome::Success),
        ended => ended.map(|()| Outcome::Success),
    }
}

/// Follows the files until Ctrl-C.
async fn follow(args: Args, app: &mut App, interrupt: &CancelSignal) -> Result<(), Failure> {
    // Changes are noted before the files are first looked at, so that none is missed.
    let mut changes = Changes::of(&args.folders, args.poll.map(Duration::from_secs), &app.out);
    let new_only = args.new_only;
    let names: Vec<_> = args.folders.iter().map(|path| path.display().to_string()).collect();
    let mut session = WatchSession::new(args);
    if new_only {
        session.pass_over_existing();
    } else {
        let _elapsed = session.update(app, interrupt).await?;
    }
    report::watching(app, &names)?;
    loop {
        let retry = session.has_pending().then_some(RETRY);
        tokio::select! {
            () = changes.next(retry) => drop(session.update(app, interrupt).await?),
            () = interrupt.cancelled() => return Ok(()),
        }
    }
}
