//! Files of messages, and files that are written at once.

use std::fs;
use std::path::Path;

use context_conformance::power::{DiskState, PowerOutcome, PowerSettings, PowerTest, acknowledge};
use context_core::ErrorKind;
use context_trajectory::local_file::write_new;
use context_trajectory::messages::{MessageLog, MessageRecord, RecordKind};

use crate::block_on;

const FILE: &str = "messages.jsonl";

/// Returns the number of appends: more of them for more states.
fn appends() -> usize {
    25 + PowerSettings::from_env(0).states / 4
}

pub(crate) fn a_log_without_syncs_loses_only_the_newest() -> Messages {
    Messages { name: "a_log_without_syncs_loses_only_the_newest", synced: false }
}

pub(crate) fn appended_messages_outlive_a_loss_of_power() -> Messages {
    Messages { name: "appended_messages_outlive_a_loss_of_power", synced: true }
}

pub(crate) fn a_new_file_is_complete_or_absent() -> NewFile {
    NewFile
}

/// A log of messages, some longer than a page.
pub(crate) struct Messages {
    name: &'static str,
    synced: bool,
}

fn record(n: usize) -> MessageRecord {
    let text = format!("message {n}; ").repeat(if n % 4 == 3 { 500 } else { 2 });
    MessageRecord::new(RecordKind::Human, text.as_str())
}

impl PowerTest for Messages {
    fn name(&self) -> &str {
        self.name
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        block_on(async {
            for n in 0..appends() {
                let (log, _) = MessageLog::open(folder.join(FILE)).await?;
                let log = if self.synced { log } else { log.unsynced() };
                log.append(&[record(2 * n), record(2 * n + 1)]).await?;
                if self.synced {
                    acknowledge("two records")?;
                }
            }
            Ok(())
        })
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        block_on(async {
            let file = state.folder().join(FILE);
            let read = match MessageLog::read(&file).await {
                Ok(read) => read.records,
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            let (log, opened) = MessageLog::open(&file).await?;
            let written: Vec<_> = (0..2 * appends()).map(record).collect();
            if opened.records != read || !written.starts_with(&read) {
                return Err("the records are not a prefix of those that were written".into());
            }
            let acknowledged = 2 * state.acknowledged().len();
            if read.len() < acknowledged {
                return Err(format!("{acknowledged} acknowledged, {} left", read.len()).into());
            }
            log.append(&[record(1_000)]).await?;
            match MessageLog::read(&file).await?.records.last() == Some(&record(1_000)) {
                true => Ok(()),
                false => Err("a later record is lost".into()),
            }
        })
    }
}

/// A file that is written completely or not at all.
pub(crate) struct NewFile;

fn content() -> Vec<u8> {
    (0..3_000).flat_map(|n: u32| n.to_le_bytes()).collect()
}

impl PowerTest for NewFile {
    fn name(&self) -> &str {
        "a_new_file_is_complete_or_absent"
    }

    fn states(&self) -> usize {
        20
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        write_new("test", &folder.join("new"), &content())?;
        Ok(acknowledge("new")?)
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        match fs::read(state.folder().join("new")) {
            Ok(found) if found == content() => Ok(()),
            Ok(found) => Err(format!("a file of {} bytes", found.len()).into()),
            Err(_) if state.acknowledged().is_empty() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
