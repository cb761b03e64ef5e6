//! Settings of the output: records or text, colours, times, the width, the pager.

use std::env;
use std::io::IsTerminal;

use clap::ValueEnum;
use context_runtime::Timestamp;
use serde::Deserialize;
use terminal_size::{Height, Width};

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also in a pipe or a file
    Always,
    /// Not at all
    Never,
}

impl ColorWhen {
    /// Returns whether colours are used on this output. Of the environment, `NO_COLOR` and
    /// `TERM=dumb` turn them off: see <https://no-color.org>.
    pub(super) fn applies_to(self, is_terminal: bool) -> bool {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                is_terminal
                    && set("NO_COLOR").is_none()
                    && set("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

/// The settings of the output, of the command line and the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputSettings {
    /// Whether records are written.
    pub(crate) json: bool,
    /// The only fields of records that are written. All if empty.
    pub(crate) fields: Vec<String>,
    pub(crate) color: ColorWhen,
    /// Whether times are shown in full, not by their distance.
    pub(crate) full_time: bool,
    /// The pager. Empty if none is used.
    pub(crate) pager: String,
    /// The time of the command, to which others are related.
    pub(crate) now: Timestamp,
}

/// The size of the terminal, as far as text depends on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Screen {
    /// The columns. `None` for a pipe or file, where lines may have any length.
    pub(crate) columns: Option<usize>,
    pub(crate) rows: Option<usize>,
}

impl Screen {
    /// Returns the size of the terminal of standard output. In a pipe or a file, `COLUMNS` gives
    /// the width.
    pub(super) fn of_stdout() -> Self {
        let number = |name| env::var(name).ok()?.parse().ok().filter(|n: &usize| *n > 0);
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Self { columns: number("COLUMNS"), rows: None };
        }
        let size = terminal_size::terminal_size_of(stdout);
        let (columns, rows) =
            size.map(|(Width(columns), Height(rows))| (columns.into(), rows.into())).unzip();
        let is_real = |n: &usize| *n > 0;
        Self {
            columns: columns.filter(is_real).or(number("COLUMNS")),
            rows: rows.filter(is_real).or(number("LINES")),
        }
    }
}
