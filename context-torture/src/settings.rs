//! How much is asked.

/// How long a run may take, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// As a part of the ordinary tests.
    Seconds,
    /// By hand.
    Minutes,
    /// Over night.
    Hours,
}

/// What every part is told.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Where random checks begin.
    pub seed: u64,
    /// How long it may take.
    pub scale: Scale,
    /// How many checks of what is repeated; else the scale says so.
    pub checks: Option<u64>,
}

impl Settings {
    /// How many checks of what is repeated, for seconds, minutes and hours.
    pub fn checks(&self, [seconds, minutes, hours]: [u64; 3]) -> u64 {
        self.checks.unwrap_or(match self.scale {
            Scale::Seconds => seconds,
            Scale::Minutes => minutes,
            Scale::Hours => hours,
        })
    }
}
