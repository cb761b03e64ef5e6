//! Backups and erasures.

use std::fs;
use std::path::Path;

use context_conformance::power::{DiskState, PowerOutcome, PowerSettings, PowerTest, acknowledge};
use context_core::store::{Durability, Maintenance};
use context_core::{CancelSignal, Store, UserId};
use context_store_sqlite::SqliteStore;

use crate::chats::{FILE, Tried, append, chat, create, is_usable, lengths, open, reopen};
use crate::{block_on, is_index_of_log};

const MESSAGES: usize = 8;

fn maintenance(store: &SqliteStore) -> Tried<&dyn Maintenance> {
    Ok(store.maintenance().ok_or("the store has no maintenance")?)
}

/// Returns the number of backups: more of them for more states.
fn backups() -> usize {
    2 + PowerSettings::from_env(0).states / 300
}

/// Writes a chat of some messages for each of these users.
fn prepare(folder: &Path, users: &[&str]) -> PowerOutcome {
    block_on(async {
        let store = open(folder, Durability::PowerLoss).await?;
        for user in users {
            create(&store, &chat(user, 0)).await?;
            for n in 0..MESSAGES {
                append(&store, &chat(user, 0), n, None).await?;
            }
        }
        Ok(store.close().await?)
    })
}

pub(crate) fn a_reported_backup_outlives_a_loss_of_power() -> Backup {
    Backup
}

pub(crate) fn an_erased_user_does_not_come_back() -> Erase {
    Erase
}

/// Backups of a store that is in use: each is complete or absent, and there once it was reported.
pub(crate) struct Backup;

impl PowerTest for Backup {
    fn name(&self) -> &str {
        "a_reported_backup_outlives_a_loss_of_power"
    }

    fn states(&self) -> usize {
        8
    }

    fn may_be_mapped(&self, path: &Path) -> bool {
        is_index_of_log(path)
    }

    fn prepare(&self, folder: &Path) -> PowerOutcome {
        prepare(folder, &["ada"])
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        block_on(async {
            let store = open(folder, Durability::ProcessCrash).await?;
            for n in 0..backups() {
                append(&store, &chat("ada", 0), MESSAGES + n, None).await?;
                maintenance(&store)?.backup(&folder.join(format!("{n}.db"))).await?;
                acknowledge(&format!("{n}.db"))?;
            }
            Ok(())
        })
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        block_on(async {
            let store = reopen(&state.folder().join(FILE)).await?.ok_or("the store is lost")?;
            if lengths(&store, "ada").await?.first().is_none_or(|length| *length < MESSAGES) {
                return Err("the store has lost synced messages".into());
            }
            store.close().await?;
            for n in 0..backups() {
                let name = format!("{n}.db");
                match reopen(&state.folder().join(&name)).await? {
                    Some(backup) => {
                        let left = lengths(&backup, "ada").await?;
                        if left != [MESSAGES + n + 1] {
                            return Err(format!("{name} has {left:?}").into());
                        }
                        is_usable(&backup).await?;
                        backup.close().await?;
                    }
                    None if state.acknowledged().contains(&name) => {
                        return Err(format!("{name} was reported, and is lost").into());
                    }
                    None => {}
                }
            }
            Ok(())
        })
    }
}

/// The erasure of a user: the others' chats stay, and no trace comes back once it was reported.
pub(crate) struct Erase;

impl PowerTest for Erase {
    fn name(&self) -> &str {
        "an_erased_user_does_not_come_back"
    }

    fn states(&self) -> usize {
        8
    }

    fn may_be_mapped(&self, path: &Path) -> bool {
        is_index_of_log(path)
    }

    fn prepare(&self, folder: &Path) -> PowerOutcome {
        prepare(folder, &["ada", "mallory"])
    }

    fn write(&self, folder: &Path) -> PowerOutcome {
        block_on(async {
            let store = open(folder, Durability::ProcessCrash).await?;
            append(&store, &chat("mallory", 0), MESSAGES, None).await?;
            let user = UserId::from("mallory");
            let erased = maintenance(&store)?.erase_user(&user, &CancelSignal::never()).await?;
            if erased.remaining > 0 {
                return Err(format!("{erased:?}").into());
            }
            acknowledge("erased")?;
            for n in MESSAGES..MESSAGES + 3 {
                append(&store, &chat("ada", 0), n, None).await?;
            }
            Ok(())
        })
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        if !state.acknowledged().is_empty() {
            for entry in fs::read_dir(state.folder())? {
                let path = entry?.path();
                let bytes = fs::read(&path)?;
                if bytes.windows(7).any(|window| window == b"mallory") {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    return Err(format!("an erased user is in {name}").into());
                }
            }
        }
        block_on(async {
            let store = reopen(&state.folder().join(FILE)).await?.ok_or("the store is lost")?;
            let left = lengths(&store, "ada").await?;
            if left.first().is_none_or(|length| *length < MESSAGES) {
                return Err(format!("another user's messages are lost: {left:?}").into());
            }
            is_usable(&store).await?;
            Ok(store.close().await?)
        })
    }
}
