//! The results of conversations, in numbers.

use std::collections::BTreeMap;

use super::drive::Setting;

/// The results of some conversations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) conversations: u64,
    /// Requests that were sent, except those for summaries.
    pub(super) calls: u64,
    pub(super) refused: u64,
    /// Calls for which plans were applied or a summary was accepted.
    pub(super) compactions: u64,
    pub(super) summaries: u64,
    /// Tokens of the conversation that were not sent, over all requests.
    pub(super) saved: u64,
    /// Tokens of all requests, and those of them that the provider had in its cache.
    pub(super) input: u64,
    pub(super) cached: u64,
    /// The largest request, in thousandths of the window.
    pub(super) fullest: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.calls += other.calls;
        self.refused += other.refused;
        self.compactions += other.compactions;
        self.summaries += other.summaries;
        self.saved += other.saved;
        self.input += other.input;
        self.cached += other.cached;
        self.fullest = self.fullest.max(other.fullest);
    }
}

/// Tallies by provider and window.
#[derive(Debug, Default)]
pub(super) struct Table(BTreeMap<(&'static str, u64), Tally>);

impl Table {
    pub(super) fn add(&mut self, setting: &Setting, tally: Tally) {
        self.0.entry((setting.provider, setting.window)).or_default().add(&tally);
    }

    /// The number of pairs of provider and window.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn compactions(&self) -> u64 {
        self.0.values().map(|tally| tally.compactions).sum()
    }

    pub(super) fn refused(&self) -> u64 {
        self.0.values().map(|tally| tally.refused).sum()
    }

    #[allow(clippy::print_stdout, reason = "whoever asks for it with --nocapture should see it")]
    pub(super) fn show(&self, name: &str) {
        let mut text = format!(
            "\n{name}\n{:<17} {:>7} {:>6} {:>7} {:>7} {:>6} {:>6} {:>10} {:>7} {:>8}\n",
            "provider",
            "window",
            "chats",
            "calls",
            "refused",
            "cuts",
            "sums",
            "saved",
            "cached",
            "fullest"
        );
        for ((provider, window), tally) in &self.0 {
            let share = tally.cached as f64 * 100.0 / tally.input.max(1) as f64;
            text.push_str(&format!(
                "{provider:<17} {window:>7} {:>6} {:>7} {:>7} {:>6} {:>6} {:>10} {share:>6.1}% {:>7.1}%\n",
                tally.conversations,
                tally.calls,
                tally.refused,
                tally.compactions,
                tally.summaries,
                tally.saved,
                tally.fullest as f64 / 10.0,
            ));
        }
        println!("{text}");
    }
}
