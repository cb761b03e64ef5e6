//! Data that cannot be transferred with chats, and the option to leave it behind.

use clap::ValueEnum;
use context_runtime::transfer::LeftBehind;

use crate::app::App;
use crate::error::Failure;

/// A kind of things that chats leave behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Without {
    /// What was recorded of runs
    Rounds,
    /// What is remembered
    Memories,
    /// Answers in flight
    Streams,
}

/// What may stay.
#[derive(clap::Args, Debug)]
pub(crate) struct MayStay {
    /// Leave these behind, which do not go along: rounds, memories, streams
    #[arg(long, value_enum, value_name = "KINDS", value_delimiter = ',')]
    without: Vec<Without>,
}

impl MayStay {
    /// Fails if data would be left behind that was not named. Otherwise reports what stays.
    pub(crate) fn check(&self, app: &App, left: &LeftBehind) -> Result<(), Failure> {
        let all = [
            (Without::Rounds, left.rounds, "round", "rounds"),
            (Without::Memories, left.memories, "memory", "memories"),
            (Without::Streams, left.streams, "stream", "streams"),
        ];
        let there = || all.iter().filter(|(_, n, ..)| *n > 0);
        let text = |n: u64, one: &str, many: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{n} {many}"),
        };
        let unnamed: Vec<_> = there().filter(|(kind, ..)| !self.without.contains(kind)).collect();
        if unnamed.is_empty() {
            let stays: Vec<_> = there().map(|(_, n, one, many)| text(*n, one, many)).collect();
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
