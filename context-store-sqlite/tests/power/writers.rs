//! Writers of chats, one call after another or several together.

use std::path::Path;

use context_conformance::power::{DiskState, PowerOutcome, PowerSettings, PowerTest, acknowledge};
use context_core::Store;
use context_core::store::Durability;
use context_core::store::Durability::{PowerLoss, ProcessCrash};

use crate::chats::{FILE, append, chat, create, is_usable, lengths, open, reopen};
use crate::{block_on, is_index_of_log};

const USER: &str = "ada";
const CHATS: usize = 2;
const MESSAGES: usize = 6;

/// Returns the number of times that the store is closed, which copies the log into the file: more
/// often for more states. It is not closed after the last chats.
fn closes() -> usize {
    2 + PowerSettings::from_env(0).states / 100
}

pub(crate) fn what_a_loss_of_power_takes_is_the_newest() -> Writer {
    let name = "what_a_loss_of_power_takes_is_the_newest";
    Writer { name, durability: ProcessCrash, asked: None }
}

pub(crate) fn full_commits_outlive_a_loss_of_power() -> Writer {
    let name = "full_commits_outlive_a_loss_of_power";
    Writer { name, durability: PowerLoss, asked: None }
}

pub(crate) fn commits_that_ask_for_more_outlive_a_loss_of_power() -> Writer {
    let name = "commits_that_ask_for_more_outlive_a_loss_of_power";
    Writer { name, durability: ProcessCrash, asked: Some(PowerLoss) }
}

pub(crate) fn commits_that_ask_for_less_do_no_harm() -> Writer {
    let name = "commits_that_ask_for_less_do_no_harm";
    Writer { name, durability: PowerLoss, asked: Some(ProcessCrash) }
}

pub(crate) fn commits_of_one_transaction_are_sound_after_a_loss_of_power() -> Together {
    let name = "commits_of_one_transaction_are_sound_after_a_loss_of_power";
    Together { name, durability: ProcessCrash }
}

pub(crate) fn full_commits_of_one_transaction_outlive_a_loss_of_power() -> Together {
    let name = "full_commits_of_one_transaction_outlive_a_loss_of_power";
    Together { name, durability: PowerLoss }
}

/// A single writer: chats one after another, messages one after another.
pub(crate) struct Writer {
    name: &'static str,
    durability: Durability,
    /// The durability that every third commit asks for.
    asked: Option<Durability>,
}

impl Writer {
    /// Returns the durability that a commit asks for.
    fn asked(&self, n: usize) -> Option<Durability> {
        self.asked.filter(|_| n % 3 == 2)
    }
}

impl PowerTest for Writer {
    fn name(&self) -> &str {
        self.name
    }

    fn states(&self) -> usize {
        8
    }

    fn may_be_mapped(&self, path: &Path) -> bool {
        is_index_of_log(path)
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        block_on(async {
            for closed in 0..=closes() {
                let store = open(folder, self.durability).await?;
                for number in 0..CHATS {
                    let number = closed * CHATS + number;
                    let chat = chat(USER, number);
                    create(&store, &chat).await?;
                    for n in 0..MESSAGES {
                        append(&store, &chat, n, self.asked(n)).await?;
                        if self.asked(n).unwrap_or(self.durability) == Durability::PowerLoss {
                            acknowledge(&format!("{number} {n}"))?;
                        }
                    }
                }
                if closed < closes() {
                    store.close().await?;
                }
            }
            Ok(())
        })
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        block_on(async {
            let left = match reopen(&state.folder().join(FILE)).await? {
                None => Vec::new(),
                Some(store) => {
                    let left = lengths(&store, USER).await?;
                    is_usable(&store).await?;
                    store.close().await?;
                    left
                }
            };
            // Every chat but the last one that is there is complete.
            if let Some((_, complete)) = left.split_last()
                && complete.iter().any(|length| *length < MESSAGES)
            {
                return Err(format!("the loss is not the newest: {left:?}").into());
            }
            let Some(last) = state.acknowledged().last() else { return Ok(()) };
            let (number, n) = last.split_once(' ').ok_or("an acknowledgement of two numbers")?;
            let (number, n): (usize, usize) = (number.parse()?, n.parse()?);
            if left.get(number).is_none_or(|length| *length <= n) {
                return Err(format!("acknowledged: {last}; left: {left:?}").into());
            }
            Ok(())
        })
    }
}

/// Several chats that are written to at the same time, whose commits share transactions.
pub(crate) struct Together {
    name: &'static str,
    durability: Durability,
}

/// The number of chats that are written to at the same time.
const SIDES: usize = 4;

/// Returns the number of messages in each of these chats.
fn steps() -> usize {
    8 + PowerSettings::from_env(0).states / 20
}

impl PowerTest for Together {
    fn name(&self) -> &str {
        self.name
    }

    fn states(&self) -> usize {
        8
    }

    fn may_be_mapped(&self, path: &Path) -> bool {
        is_index_of_log(path)
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        block_on(async {
            let store = std::sync::Arc::new(open(folder, self.durability).await?);
            for side in 0..SIDES {
                create(&*store, &chat(USER, side)).await?;
            }
            let mut writers = tokio::task::JoinSet::new();
            for side in 0..SIDES {
                let store = std::sync::Arc::clone(&store);
                let acknowledges = self.durability == Durability::PowerLoss;
                writers.spawn(async move {
                    for n in 0..steps() {
                        append(&*store as &dyn Store, &chat(USER, side), n, None).await?;
                        if acknowledges {
                            acknowledge(&format!("{side} {n}"))?;
                        }
                    }
                    PowerOutcome::Ok(())
                });
            }
            while let Some(joined) = writers.join_next().await {
                joined??;
            }
            Ok(())
        })
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        block_on(async {
            let left = match reopen(&state.folder().join(FILE)).await? {
                None => Vec::new(),
                Some(store) => {
                    let left = lengths(&store, USER).await?;
                    is_usable(&store).await?;
                    store.close().await?;
                    left
                }
            };
            for line in state.acknowledged() {
                let (side, n) = line.split_once(' ').ok_or("an acknowledgement of two numbers")?;
                let (side, n): (usize, usize) = (side.parse()?, n.parse()?);
                if left.get(side).is_none_or(|length| *length <= n) {
                    return Err(format!("acknowledged: {line}; left: {left:?}").into());
                }
            }
            Ok(())
        })
    }
}
