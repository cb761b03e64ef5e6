//! The parts. Each is a table of checks, or a series of numbered checks.

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

use crate::settings::TortureSettings;
use crate::tally::Tally;

/// A part that can be selected.
#[derive(Clone, Copy, Debug)]
pub struct TorturePart {
    /// The name.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// The function that runs the part.
    pub run: fn(&TortureSettings) -> Result<Tally>,
}

/// All parts. The quick ones come first.
pub const PARTS: [TorturePart; 8] = [
    TorturePart {
        name: "urls",
        about: "wrong URLs of stores: an error, no secret, no file",
        run: urls::run,
    },
    TorturePart {
        name: "foreign",
        about: "files that are not ours: no byte is changed",
        run: foreign::run,
    },
    TorturePart {
        name: "names",
        about: "hostile names through every command: nothing raw is printed",
        run: names::run,
    },
    TorturePart {
        name: "transcripts",
        about: "damaged transcripts: the store stays sound",
        run: transcripts::run,
    },
    TorturePart {
        name: "damage",
        about: "damaged stores: the same output or an error",
        run: damage::run,
    },
    TorturePart {
        name: "kills",
        about: "writers killed at any moment: nothing acknowledged is lost",
        run: kills::run,
    },
    TorturePart {
        name: "disk",
        about: "a full disk: nothing acknowledged is lost",
        run: disk::run,
    },
    TorturePart {
        name: "wire",
        about: "bodies of damaged histories and media: the checker takes them",
        run: wire::run,
    },
];

/// Runs a range of the numbered checks of a part in this process.
pub fn work(part: &str, seed: u64, range: Range<u64>) -> Result<()> {
    match part {
        "damage" => damage::work(seed, range),
        "transcripts" => transcripts::work(seed, range),
        _ => bail!("{part} has no numbered checks"),
    }
}
