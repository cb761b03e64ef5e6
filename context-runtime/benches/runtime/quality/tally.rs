//! Costs of a set of policies, and what it kept, over conversations.

use super::facts::Fact;

/// The results of conversations, in tokens unless stated otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// The number of calls.
    pub(crate) calls: u64,
    /// The number of calls that the provider refused, whatever was tried.
    pub(crate) refused: u64,
    /// The first refusal.
    pub(crate) refusal: Option<String>,
    /// The number of calls with a cut.
    pub(crate) cuts: u64,
    /// The total of all requests, had nothing ever been cut.
    pub(crate) uncut: u64,
    /// The actual total.
    pub(crate) sent: u64,
    /// Tokens the provider read again: neither new nor from its cache.
    pub(crate) reread: u64,
    /// Tokens that models read and wrote for summaries.
    pub(crate) summarised: u64,
    /// Cents for calls and for summaries.
    pub(crate) cents: [f64; 2],
    /// Tokens of the user's messages before each call, and of those that were sent word for word.
    pub(crate) words: [u64; 2],
    /// The facts that were asked for.
    pub(crate) asked: u64,
    /// Those in the request.
    pub(crate) in_request: u64,
    /// Those that one call of a tool returned.
    pub(crate) one_call_away: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.refused += other.refused;
        self.refusal = self.refusal.take().or_else(|| other.refusal.clone());
        self.cuts += other.cuts;
        self.uncut += other.uncut;
        self.sent += other.sent;
        self.reread += other.reread;
        self.summarised += other.summarised;
        self.cents = [0, 1].map(|kind| self.cents[kind] + other.cents[kind]);
        self.words = [0, 1].map(|kind| self.words[kind] + other.words[kind]);
        self.asked += other.asked;
        self.in_request += other.in_request;
        self.one_call_away += other.one_call_away;
    }

    /// Returns what was not sent.
    pub(crate) fn saved(&self) -> u64 {
        self.uncut.saturating_sub(self.sent)
    }

    /// Counts the facts that a body has, and returns the others.
    pub(crate) fn look_up<'f>(&mut self, facts: &'f [Fact], body: Option<&str>) -> Vec<&'f Fact> {
        let has = |fact: &&Fact| body.is_some_and(|body| body.contains(fact.value.as_str()));
        let missing: Vec<_> = facts.iter().filter(|fact| !has(fact)).collect();
        self.asked += facts.len() as u64;
        self.in_request += (facts.len() - missing.len()) as u64;
        missing
    }
}
