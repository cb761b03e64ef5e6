//! The results of a race: Markdown for the docs, JSON lines for programs.

use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;

use super::race::{CASES, Figures, Row};
use crate::bench::machine;

/// The lines before and after the tables in the page.
const BEGIN: &str = "<!-- written by `cargo xtask bench peers --save` -->";
const END: &str = "<!-- end of what is written -->";

/// The rows of all peers.
pub(super) struct Report {
    /// The date and the machine.
    measured: String,
    peers: Vec<PeerRows>,
    left_out: Vec<String>,
}

/// The results of one peer.
struct PeerRows {
    rows: Vec<Row>,
    runs_on: String,
}

/// A row as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    area: &'static str,
    peer: &'a str,
    version: &'a str,
    case: &'a str,
    n: usize,
    journal_mode: &'a str,
    synchronous: i64,
    cpu_us: Option<Figures>,
    wall_us: Option<Figures>,
    skipped: Option<&'a str>,
}

/// A function that selects CPU time or wall time of a row.
type Clock = fn(&Row) -> Option<Figures>;

impl Report {
    pub(super) fn new() -> Self {
        let (day, machine, compiler) = (machine::today(), machine::describe(), machine::compiler());
        Self::with_header(format!("Measured on {day}: {machine}, {compiler}."))
    }

    fn with_header(measured: String) -> Self {
        Self { measured, peers: Vec::new(), left_out: Vec::new() }
    }

    pub(super) fn add(&mut self, rows: Vec<Row>, runs_on: String) {
        if !rows.is_empty() {
            self.peers.push(PeerRows { rows, runs_on });
        }
    }

    pub(super) fn leave_out(&mut self, peer: &str, why: &str) {
        self.left_out.push(format!("{peer}: {why}"));
    }

    pub(super) fn print_lines(&self) -> Result<()> {
        for row in self.peers.iter().flat_map(|peer| &peer.rows) {
            let theirs = &row.theirs;
            let line = Line {
                area: super::PROGRAM,
                peer: &theirs.peer,
                version: &theirs.version,
                case: row.case,
                n: row.n,
                journal_mode: &theirs.journal_mode,
                synchronous: theirs.synchronous,
                cpu_us: row.cpu,
                wall_us: row.wall,
                skipped: theirs.skipped.as_deref(),
            };
            println!("{}", serde_json::to_string(&line)?);
        }
        Ok(())
    }

    /// Returns the tables, with the machine they were measured on.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", self.measured);
        self.setups(&mut text);
        self.times(&mut text, "CPU time", |row| row.cpu);
        self.times(&mut text, "Time that passes", |row| row.wall);
        let skipped = self.peers.iter().flat_map(|peer| &peer.rows).filter_map(|row| {
            row.theirs
                .skipped
                .as_ref()
                .map(|why| format!("{}, {}: {why}", row.theirs.peer, row.case))
        });
        let mut notes: Vec<String> = skipped.collect();
        notes.dedup();
        notes.extend(self.left_out.iter().map(|why| format!("Left out: {why}")));
        notes.iter().for_each(|note| text.push_str(&format!("* {note}\n")));
        text.trim_end().to_owned()
    }

    fn setups(&self, text: &mut String) {
        text.push_str(
            "| peer | version | runs on | SQLite | journal | synchronous |\n|---|---|---|---|---|---|\n",
        );
        for PeerRows { rows, runs_on } in &self.peers {
            let Some(row) = rows.iter().find(|row| row.cpu.is_some()) else { continue };
            let about = &row.theirs;
            let cells = [&about.peer, &about.version, runs_on, &about.sqlite, &about.journal_mode]
                .map(String::as_str);
            text.push_str(&format!(
                "| {} | {} |\n",
                cells.join(" | "),
                synchronous(about.synchronous)
            ));
        }
        text.push('\n');
    }

    fn times(&self, text: &mut String, title: &str, clock: Clock) {
        let durable = [1, 2].map(|level| self.peers.iter().any(|peer| level == level_of(peer)));
        let levels: Vec<i64> = [1, 2]
            .into_iter()
            .zip(durable)
            .filter_map(|(level, any)| any.then_some(level))
            .collect();
        let mut head = vec![title.to_owned(), "messages".to_owned()];
        head.extend(levels.iter().map(|level| format!("ours, {}", synchronous(*level))));
        head.extend(
            self.peers
                .iter()
                .map(|peer| format!("{}, {}", peer.name(), synchronous(level_of(peer)))),
        );
        line(text, &head);
        line(
            text,
            &head
                .iter()
                .enumerate()
                .map(|(at, _)| if at == 0 { "---" } else { "---:" })
                .collect::<Vec<_>>(),
        );
        for (case, n) in
            CASES.into_iter().flat_map(|(case, sizes)| sizes.iter().map(move |n| (case, *n)))
        {
            let of = |peer: &PeerRows| {
                clock(peer.rows.iter().find(|row| row.case == case && row.n == n)?)
            };
            if self.peers.iter().all(|peer| of(peer).is_none()) {
                continue;
            }
            let mut cells = vec![case.to_owned(), n.to_string()];
            for level in &levels {
                // Ours was measured once for each peer of this durability. The median is shown.
                let peers = self.peers.iter().filter(|peer| level_of(peer) == *level);
                let mut ours: Vec<f64> = peers.filter_map(of).map(|figures| figures.ours).collect();
                ours.sort_by(f64::total_cmp);
                cells.push(ours.get(ours.len() / 2).map_or("—".to_owned(), |ours| duration(*ours)));
            }
            let theirs =
                |figures: Figures| format!("{} ({:.1}x)", duration(figures.theirs), figures.ratio);
            cells.extend(self.peers.iter().map(|peer| of(peer).map_or("—".to_owned(), theirs)));
            line(text, &cells);
        }
        text.push('\n');
    }
}

impl PeerRows {
    fn name(&self) -> &str {
        self.rows.first().map_or("", |row| &row.theirs.peer)
    }
}

/// Returns the durability of ours next to this peer: 1 is NORMAL, 2 is FULL.
fn level_of(peer: &PeerRows) -> i64 {
    let settings =
        peer.rows.iter().filter(|row| row.cpu.is_some()).map(|row| row.theirs.synchronous);
    settings.max().unwrap_or_default().clamp(1, 2)
}

fn synchronous(level: i64) -> &'static str {
    match level {
        0 => "OFF",
        1 => "NORMAL",
        2 => "FULL",
        _ => "EXTRA",
    }
}

/// Formats microseconds with a unit that keeps the number short.
fn duration(us: f64) -> String {
    match us {
        us if us < 10.0 => format!("{us:.1} µs"),
        us if us < 1_000.0 => format!("{us:.0} µs"),
        us if us < 10_000.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.0} ms", us / 1e3),
    }
}

fn line<S: AsRef<str>>(text: &mut String, cells: &[S]) {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    // Appends a number. Writing to a string cannot fail.
    let _written = writeln!(text, "| {} |", cells.join(" | "));
}

/// Returns the page with the tables replaced, or `None` if it has no place for them.
pub(super) fn replace(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{tables}\n\n{END}{after}"))
}

#[cfg(test)]
mod tests;
