//! Data that cannot be transferred with chats, and the option to leave it behind.

use clap::ValueEnum;
use context_runtime::transfer::LeftBehind;

use crate::app::App;
use crate::error::Failure;

/// A kind of data that is not transferred with chats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LeftBehindKind {
    /// Trajectory rounds
    Rounds,
    /// Memories
    Memories,
    /// Answer streams
    Streams,
}

/// The option that names the data to leave behind.
#[derive(clap::Args, Debug)]
pub(crate) struct LeaveBehindArgs {
    /// Leave data of these kinds behind: rounds, memories, streams
    #[arg(long, value_enum, value_name = "KINDS", value_delimiter = ',')]
    without: Vec<LeftBehindKind>,
}

impl LeaveBehindArgs {
    /// Fails if data would be left behind that was not named. Otherwise reports what stays. Earlier
    /// versions of fragments need not be named: the fragments themselves go along.
    pub(crate) fn check(&self, app: &App, left: &LeftBehind) -> Result<(), Failure> {
        let all = [
            (LeftBehindKind::Rounds, left.rounds, "round", "rounds"),
            (LeftBehindKind::Memories, left.memories, "memory", "memories"),
            (LeftBehindKind::Streams, left.streams, "stream", "streams"),
        ];
        let there = || all.iter().filter(|(_, n, ..)| *n > 0);
        let text = |n: u64, one: &str, many: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{n} {many}"),
        };
        let unnamed: Vec<_> = there().filter(|(kind, ..)| !self.without.contains(kind)).collect();
        if unnamed.is_empty() {
            let mut stays: Vec<_> = there().map(|(_, n, one, many)| text(*n, one, many)).collect();
            if left.fragment_versions > 0 {
                let (one, many) = ("earlier version of fragments", "earlier versions of fragments");
                stays.push(text(left.fragment_versions, one, many));
            }
            if !stays.is_empty() {
                app.out.note(format_args!("left behind: {}", stays.join(", ")));
            }
            return Ok(());
        }
        Err(Failure::StaysBehind {
            left: unnamed.iter().map(|(_, n, one, many)| text(*n, one, many)).collect(),
            kinds: unnamed.iter().map(|(_, _, _, many)| *many).collect(),
        })
    }
}
