//! The parts: each a table of checks, or checks that are made of numbers.

mod damage;
mod disk;
mod foreign;
mod kills;
mod names;
mod transcripts;
mod urls;
mod wire;

use std::ops::Range;

use anyhow::{Result, bail};

use crate::settings::Settings;
use crate::tally::Tally;

/// What can be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Does it.
    pub run: fn(&Settings) -> Result<Tally>,
}

/// All parts, the quick ones first.
pub const PARTS: [Part; 8] = [
    Part {
        name: "urls",
        about: "wrong URLs of stores: an error, no secret, no file",
        run: urls::run,
    },
    Part {
        name: "foreign",
        about: "files that are not ours: no byte is changed",
        run: foreign::run,
    },
    Part {
        name: "names",
        about: "hostile names through every command: nothing raw is printed",
        run: names::run,
    },
    Part {
        name: "transcripts",
        about: "damaged transcripts: the store stays sound",
        run: transcripts::run,
    },
    Part { name: "damage", about: "damaged stores: the same output or an error", run: damage::run },
    Part {
        name: "kills",
        about: "writers killed at any moment: nothing acknowledged is lost",
        run: kills::run,
    },
    Part { name: "disk", about: "a full disk: nothing acknowledged is lost", run: disk::run },
    Part {
        name: "wire",
        about: "bodies of damaged histories and media: the checker takes them",
        run: wire::run,
    },
];

/// Does a range of the numbered checks of a part, in this process.
pub fn work(part: &str, seed: u64, range: Range<u64>) -> Result<()> {
    match part {
        "damage" => damage::work(seed, range),
        "transcripts" => transcripts::work(seed, range),
        _ => bail!("{part} has no numbered checks"),
    }
}
