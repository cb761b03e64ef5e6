//! The channel of local files.

use std::fs;
use std::path::{Path, PathBuf};

use context_conformance::power::{DiskState, PowerOutcome, PowerSettings, PowerTest, acknowledge};
use context_core::store::{RecordOutcome, RoundQuery, TrajectoryStore};
use context_core::trajectory::{AgentRef, RoundRecord};
use context_trajectory::FileChannel;

use crate::block_on;
use crate::rounds::{Commits, round};

pub(crate) fn each_round_loses_only_its_newest_commits() -> Channel {
    let name = "each_round_loses_only_its_newest_commits";
    Channel { name, synced: false, torn: false }
}

pub(crate) fn commits_of_a_synced_channel_outlive_a_loss_of_power() -> Channel {
    let name = "commits_of_a_synced_channel_outlive_a_loss_of_power";
    Channel { name, synced: true, torn: false }
}

pub(crate) fn so_do_those_after_a_crash() -> Channel {
    Channel { name: "so_do_those_after_a_crash", synced: true, torn: true }
}

/// Rounds of one agent, which are recorded one after another.
pub(crate) struct Channel {
    name: &'static str,
    synced: bool,
    /// Whether the files begin with one of a process that was killed while it wrote a line, and
    /// whose folders and files were not synced.
    torn: bool,
}

fn agent() -> AgentRef {
    AgentRef::main("ada", "s")
}

/// Returns rounds with few and with many changes: more of them for more states.
fn rounds() -> Vec<Commits> {
    let agent = agent();
    let actions_and_changes = [(8, 0), (2, 30), (7, 0), (3, 4)];
    let count = 4 + PowerSettings::from_env(0).states / 50;
    (0..count)
        .map(|number| {
            let (actions, changes) = actions_and_changes[number % 4];
            round(&agent, number as u32, actions, changes)
        })
        .collect()
}

impl Channel {
    fn open(&self, folder: &Path) -> FileChannel {
        // Folders that the channel has to make.
        let root = root(folder);
        if self.synced { FileChannel::synced(root) } else { FileChannel::new(root) }
    }
}

fn root(folder: &Path) -> PathBuf {
    folder.join("data/rounds")
}

impl PowerTest for Channel {
    fn name(&self) -> &str {
        self.name
    }

    fn prepare(&self, folder: &Path) -> PowerOutcome {
        if self.torn {
            fs::create_dir_all(root(folder))?;
        }
        Ok(())
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        block_on(async {
            if self.torn {
                let first = FileChannel::new(root(folder));
                for (commit, _) in &rounds()[0][..2] {
                    let _ = first.record_round(commit).await?;
                }
                first.close().await?;
                let graph = root(folder).join("ada/s/agent-0.round-0.jsonl");
                let mut text = fs::read(&graph)?;
                text.truncate(text.len() - 40);
                fs::write(&graph, text)?;
            }
            let mut files = self.open(folder);
            for (number, commits) in rounds().iter().enumerate() {
                for (n, (commit, _)) in commits.iter().enumerate() {
                    // The killed process has written the first commit, and not synced it.
                    let expected = match self.torn && (number, n) == (0, 0) {
                        true => RecordOutcome::Replayed,
                        false => RecordOutcome::Applied,
                    };
                    let outcome = files.record_round(commit).await?;
                    if outcome != expected {
                        return Err(format!("commit {n} of round {number}: {outcome:?}").into());
                    }
                    if self.synced {
                        acknowledge(&format!("{number} {n}"))?;
                    }
                    if n % 5 == 4 {
                        files.close().await?;
                        files = self.open(folder);
                    }
                }
            }
            Ok(())
        })
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        block_on(async {
            let files = self.open(state.folder());
            let heads = files.rounds(&RoundQuery::of_user("ada")).await?.items;
            let left = files.load_rounds(&agent(), 0..=u32::MAX).await?;
            let mut listed: Vec<_> = left.iter().map(|record| record.head.clone()).collect();
            listed.reverse();
            if heads != listed {
                return Err(format!("listed: {heads:?}, but loaded: {listed:?}").into());
            }
            let found = |number: usize| -> Option<&RoundRecord> {
                left.iter().find(|record| record.head.round.round as usize == number)
            };
            for (number, commits) in rounds().iter().enumerate() {
                // Files of several rounds reach the disk independently.
                let acknowledged = self.acknowledged(state, number)?;
                let length = match found(number) {
                    None => 0,
                    Some(record) => {
                        1 + commits
                            .iter()
                            .position(|(_, state)| state == record)
                            .ok_or_else(|| format!("round {number} was never in this state"))?
                    }
                };
                if length < acknowledged {
                    let text = format!("round {number}: {acknowledged} commits were acknowledged");
                    return Err(format!("{text}, {length} are left").into());
                }
                // Recording goes on.
                if let Some((commit, after)) = commits.get(length) {
                    let _ = files.record_round(commit).await?;
                    let again = self.open(state.folder());
                    let there = again.load_rounds(&agent(), number as u32..=number as u32).await?;
                    if there != [after.clone()] {
                        return Err(format!("round {number} has lost a later commit").into());
                    }
                }
            }
            Ok(())
        })
    }
}

impl Channel {
    /// Returns the number of acknowledged commits of a round.
    fn acknowledged(
        &self,
        state: &DiskState,
        number: usize,
    ) -> Result<usize, std::num::ParseIntError> {
        let prefix = format!("{number} ");
        let mut of_round =
            state.acknowledged().iter().filter_map(|line| line.strip_prefix(&prefix));
        of_round.next_back().map_or(Ok(0), |n| n.parse::<usize>().map(|n| n + 1))
    }
}
