//! Steps of random operations on a chat.

use context_simulator::Random;

/// A random step. Its numbers are taken modulo the available choices, so a step makes sense in any
/// state, and a sequence without some of its steps is still valid.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Extend { branch: usize, behind: usize, size: usize, keyed: bool, cut: bool },
    Graft { branch: usize, seen: usize, size: usize, keyed: bool, cut: bool },
    Fork { at: usize, name: usize, size: usize, activate: bool, keyed: bool },
    Amend { message: usize, text: usize, and_extend: bool },
    Redact { message: usize, and_amend: usize, and_extend: bool },
    Patch { n: usize },
    Put { fragment: usize, text: usize },
    Remove { fragment: usize },
    Activate { branch: usize },
    Rename { branch: usize, to: usize },
    DeleteBranch { branch: usize, stale: bool },
    Checkpoint { name: usize, message: usize },
    DeleteCheckpoint { name: usize },
    Repeat { back: usize },
    Reuse { message: usize, branch: usize },
    DeleteChat { busy: bool },
}

impl Step {
    pub(crate) fn random(random: &mut Random) -> Self {
        let small = |random: &mut Random| random.below(100);
        match random.below(48) {
            0..=9 => Self::Extend {
                branch: small(random),
                behind: if random.one_in(5) { 1 + random.below(9) } else { 0 },
                size: if random.one_in(8) { 40 } else { random.below(4) },
                keyed: random.one_in(4),
                cut: random.one_in(6),
            },
            10..=14 => Self::Fork {
                at: small(random),
                name: random.below(6),
                size: random.below(4),
                activate: random.one_in(2),
                keyed: random.one_in(3),
            },
            15..=18 => Self::Amend {
                message: small(random),
                text: random.below(900),
                and_extend: random.one_in(3),
            },
            19..=21 => Self::Redact {
                message: small(random),
                and_amend: small(random),
                and_extend: random.one_in(3),
            },
            22 => Self::Patch { n: small(random) },
            23 | 24 | 40 | 41 => Self::Put { fragment: random.below(4), text: random.below(2) },
            25 => Self::Remove { fragment: random.below(5) },
            26 | 27 => Self::Activate { branch: small(random) },
            28 => Self::Rename { branch: small(random), to: random.below(5) },
            29..=31 => Self::DeleteBranch { branch: small(random), stale: random.one_in(4) },
            32 | 33 => Self::Checkpoint { name: random.below(4), message: small(random) },
            34 => Self::DeleteCheckpoint { name: random.below(4) },
            35..=37 => Self::Repeat { back: random.below(6) },
            38 => Self::Reuse { message: small(random), branch: small(random) },
            42.. => Self::Graft {
                branch: small(random),
                seen: small(random),
                size: if random.one_in(8) { 40 } else { random.below(4) },
                keyed: random.one_in(4),
                cut: random.one_in(6),
            },
            _ if random.one_in(4) => Self::DeleteChat { busy: random.one_in(3) },
            _ => Self::Patch { n: small(random) },
        }
    }

    /// Returns this many random steps.
    pub(crate) fn life(seed: u64, steps: usize) -> Vec<Self> {
        let mut random = Random::new(seed);
        (0..steps).map(|_| Self::random(&mut random)).collect()
    }
}
