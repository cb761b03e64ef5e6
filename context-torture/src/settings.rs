//! The settings of a run.

/// The approximate duration of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// For the ordinary tests
    Seconds,
    /// For a run by hand
    Minutes,
    /// For a run over night
    Hours,
}

/// The settings of a run, which every part gets.
#[derive(Clone, Copy, Debug)]
pub struct TortureSettings {
    /// The seed of random checks.
    pub seed: u64,
    /// The duration of the run.
    pub scale: Scale,
    /// The number of checks of repeated kinds. `None` leaves it to the scale.
    pub checks: Option<u64>,
}

impl TortureSettings {
    /// Returns the number of checks of a repeated kind, given the numbers for seconds, minutes and
    /// hours.
    pub fn checks(&self, [seconds, minutes, hours]: [u64; 3]) -> u64 {
        self.checks.unwrap_or(match self.scale {
            Scale::Seconds => seconds,
            Scale::Minutes => minutes,
            Scale::Hours => hours,
        })
    }
}
