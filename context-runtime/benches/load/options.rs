//! The command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Measures turns a second of many tasks over many chats, beside the bare drivers.
///
/// PostgreSQL and Redis are started by `cargo xtask`, or named in CONTEXT_TEST_POSTGRES_URL and
/// CONTEXT_TEST_REDIS_URL. What is not there is left out, and said to be.
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench load")]
pub(crate) struct Options {
    /// Print a JSON object per row instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 when a target is missed
    #[arg(long)]
    pub(crate) check: bool,
    /// The stores to measure
    #[arg(long = "store", value_enum, value_delimiter = ',',
        default_values_t = [Store::Sqlite, Store::Postgres, Store::Redis])]
    pub(crate) stores: Vec<Store>,
    /// Numbers of chats
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000], value_parser = number)]
    pub(crate) chats: Vec<usize>,
    /// The messages of a chat before it grows
    #[arg(long, default_value_t = 50, value_parser = number)]
    pub(crate) messages: usize,
    /// Numbers of tasks
    #[arg(long, value_delimiter = ',', default_values_t = [64], value_parser = number)]
    pub(crate) tasks: Vec<usize>,
    /// The seconds of each side in a round
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Paired rounds, after one that warms up
    #[arg(long, default_value_t = 3, value_parser = number)]
    pub(crate) rounds: usize,
    /// Whether a task keeps the engines of its chats or opens one for each turn
    #[arg(long, value_enum, value_delimiter = ',',
        default_values_t = [Engines::Kept, Engines::Opened])]
    pub(crate) engines: Vec<Engines>,
    /// Whether messages are indexed for search
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Switch::Off, Switch::On])]
    pub(crate) full_text: Vec<Switch>,
    /// The shares of what a task does, for example turns=8,searches=1,recalls=1. A recall of the
    /// floor is a search
    #[arg(long, default_value_t = Mix { turns: 1, searches: 0, recalls: 0 })]
    pub(crate) mix: Mix,
    /// The connections to a server, or readers of a file [default: that of the store]
    #[arg(long, value_parser = number)]
    pub(crate) connections: Option<usize>,
    /// Run only ours for this many seconds, and report each minute
    #[arg(long, value_parser = clap::value_parser!(u64).range(60..))]
    pub(crate) soak: Option<u64>,
    /// Added by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "a number from 1".to_owned())
}

impl Options {
    pub(crate) fn seconds(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
    Redis,
}

impl Store {
    /// Returns the name of the server's program.
    pub(crate) fn program(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("postgres"),
            Self::Redis => Some("redis-server"),
        }
    }

    pub(crate) fn has_search(self) -> bool {
        self != Self::Redis
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engines {
    Kept,
    Opened,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    Off,
    On,
}

impl Switch {
    pub(crate) fn is_on(self) -> bool {
        self == Self::On
    }
}

/// The shares of what a task does.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    turns: u64,
    searches: u64,
    recalls: u64,
}

/// One thing that a task does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Turn,
    Search,
    Recall,
}

impl Mix {
    /// Returns the task of a random number.
    pub(crate) fn choose(self, random: u64) -> Task {
        let drawn = random % (self.turns + self.searches + self.recalls);
        match drawn {
            _ if drawn < self.turns => Task::Turn,
            _ if drawn < self.turns + self.searches => Task::Search,
            _ => Task::Recall,
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "turns={},searches={},recalls={}", self.turns, self.searches, self.recalls)
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut mix = Self { turns: 0, searches: 0, recalls: 0 };
        for part in text.split(',') {
            let (name, share) = part.split_once('=').ok_or("shares are NAME=NUMBER")?;
            let share = share.parse::<u32>().map_err(|_| format!("{share:?} is not a number"))?;
            match name {
                "turns" => mix.turns = share.into(),
                "searches" => mix.searches = share.into(),
                "recalls" => mix.recalls = share.into(),
                _ => return Err(format!("{name:?} is none of turns, searches, recalls")),
            }
        }
        if mix.turns + mix.searches + mix.recalls == 0 {
            return Err("at least one share must be above 0".to_owned());
        }
        Ok(mix)
    }
}
