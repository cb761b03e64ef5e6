//! The steps of a seed.

use std::time::Duration;

use context_simulator::faults::{Fault, Operation};
use context_simulator::{ProviderFault, Random};

use crate::scene::{CHATS, ChatSlot, USERS};
use crate::step::{DayStep, Reply};

/// The steps of a seed, without end. A step depends on the seed and its number alone.
#[derive(Clone, Debug)]
pub struct Schedule {
    seed: u64,
    number: u64,
}

impl Schedule {
    /// Creates the schedule of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, number: 0 }
    }
}

impl Iterator for Schedule {
    type Item = DayStep;

    fn next(&mut self) -> Option<DayStep> {
        let mut random = Random::new(self.seed ^ self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.number += 1;
        let mut random = Random::new(random.bits());
        Some(step(&mut random))
    }
}

/// The store calls that fail. Reads and writes, of every kind of data.
const FAILING: [Operation; 14] = [
    Operation::Commit,
    Operation::Commit,
    Operation::Commit,
    Operation::Chain,
    Operation::RecordRound,
    Operation::LoadRounds,
    Operation::WriteMemories,
    Operation::FindMemories,
    Operation::PutBlob,
    Operation::AppendStream,
    Operation::CreateStream,
    Operation::CreateChat,
    Operation::ActivateBranch,
    Operation::SetCheckpoint,
];

fn step(random: &mut Random) -> DayStep {
    // Some chats are used more than others. The last one of a user is the copy of another.
    let number = match random.below(12) {
        0..8 => 0,
        8..10 => 1,
        10 => 2,
        _ => CHATS.len() - 1,
    };
    let chat = ChatSlot { user: random.below(USERS.len()), chat: number };
    match random.below(1_000) {
        0..180 => DayStep::Ask { chat, words: words(random), picture: random.one_in(12) },
        180..740 => DayStep::Proceed {
            chat,
            reply: match random.below(5) {
                0..2 => Reply::Text { words: words(random) },
                _ => Reply::Calls { calls: 1 + random.below(3) },
            },
            fault: random.one_in(9).then(|| fault(random)),
            events: random.one_in(3),
            result_words: if random.one_in(6) { 1_000 } else { words(random) },
            unanswered: random.one_in(10),
        },
        740..760 => DayStep::SubAgent { chat, fork: random.one_in(2) },
        760..768 => DayStep::Cancel(chat),
        768..783 => DayStep::Suspend(chat),
        783..790 => DayStep::Abandon(chat),
        790..830 => DayStep::Resume(chat),
        830..837 => DayStep::Rewind { chat, back: random.below(12) },
        837..841 => DayStep::Branch(chat),
        841..846 => DayStep::Switch { chat, branch: random.below(6) },
        846..851 => DayStep::Checkpoint(chat),
        851..854 => DayStep::Restore(chat),
        854..857 => DayStep::Fork(chat),
        857..862 => DayStep::Redact { chat, back: random.below(12) },
        862..867 => DayStep::ChangeProvider(chat),
        867 => DayStep::Delete(chat),
        868..875 => DayStep::Remember(chat.user),
        875..880 => DayStep::Round(chat.user),
        880..890 => DayStep::Search { user: chat.user, about: random.below(USERS.len()) },
        890 => DayStep::Retain { user: chat.user, chats: 1 + random.below(3) },
        891 => DayStep::Erase(chat.user),
        892..912 => DayStep::StoreFault {
            operation: FAILING[random.below(FAILING.len())],
            fault: match random.below(6) {
                0..3 => Fault::BeforeApply,
                3..5 => Fault::AfterApply,
                _ => Fault::Delay(1 + random.below(3) as u32),
            },
        },
        912..914 => DayStep::StoreFault {
            operation: Operation::Commit,
            fault: if random.one_in(2) { Fault::Hang } else { Fault::HangAfterApply },
        },
        914..917 => DayStep::Restart { crash: random.one_in(2) },
        917..998 => DayStep::Wait {
            seconds: match random.below(30) {
                0 => 90_000,
                1..4 => 400,
                _ => 1 + random.below(60) as u64,
            },
        },
        _ => DayStep::Check,
    }
}

fn words(random: &mut Random) -> usize {
    if random.one_in(8) { 150 } else { 3 + random.below(40) }
}

fn fault(random: &mut Random) -> ProviderFault {
    match random.below(10) {
        0..2 => ProviderFault::Overflow,
        2 => ProviderFault::RateLimit { retry_after: None },
        3 => ProviderFault::RateLimit { retry_after: Some(Duration::from_secs(7)) },
        4 => ProviderFault::Overloaded,
        5 => ProviderFault::Server,
        6 => ProviderFault::BrokenStream { after_events: random.below(8) },
        7 => ProviderFault::FailsMidway { after_events: random.below(8) },
        8 if random.one_in(2) => ProviderFault::EmptyAnswer,
        8 => ProviderFault::ContentFilter,
        _ => ProviderFault::CutOff { tokens: random.below(20) as u64 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_steps() {
        let steps = |seed| Schedule::new(seed).take(500).collect::<Vec<_>>();
        assert_eq!(steps(7), steps(7));
        assert_ne!(steps(7), steps(8));
        let is_erasure = |step: &DayStep| matches!(step, DayStep::Erase(_));
        assert!(Schedule::new(1).take(5_000).any(|step| is_erasure(&step)));
    }
}
