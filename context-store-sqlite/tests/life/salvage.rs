//! Saving what is sound of damaged files: whatever the damage left alone is saved, whatever is
//! missing is named, and nothing is saved that was not there.
//!
//! `CONTEXT_SALVAGED_FILES` is the number of damaged files, `CONTEXT_DAMAGE_SEED` the first seed. A
//! failure reports its seed, and `CONTEXT_SALVAGED_FILES=1 CONTEXT_DAMAGE_SEED=<seed>` reproduces
//! the file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use async_trait::async_trait;
use context_core::{CancelSignal, ChatRef, ErrorKind, Result, Store};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};
use context_store_sqlite::{SqliteConfig, SqliteStore, salvage};

use crate::damage::{a_file, damage, number};
use crate::store_fixture::{StoreFixture, many};

/// Seeds of files that were once saved wrongly: a page of the schema was lost with the tables of
/// rounds, whose rows were then not found; a page of the schema held another page, and the file was
/// taken for one of an older version.
const REGRESSIONS: [u64; 2] = [79, 2077];

/// The saved pieces of a file, by their kind and name.
#[derive(Default)]
struct Saved {
    chat: Option<ChatRef>,
    pieces: BTreeMap<(LostKind, String, String), String>,
    losses: Vec<Loss>,
}

#[async_trait]
impl SalvageSink for Saved {
    async fn take(&mut self, piece: SalvagedPiece) -> Result<()> {
        let (kind, name, value) = match piece {
            SalvagedPiece::Chat(chat) => {
                self.chat = Some(chat.chat.clone());
                (LostKind::Chat, chat.chat.chat.to_string(), format!("{chat:?}"))
            }
            SalvagedPiece::Branch(branch) => {
                (LostKind::Branch, branch.name.to_string(), format!("{branch:?}"))
            }
            SalvagedPiece::Checkpoint(checkpoint) => {
                (LostKind::Checkpoint, checkpoint.name.to_string(), format!("{checkpoint:?}"))
            }
            SalvagedPiece::Fragment(fragment) => {
                let name = fragment.id.as_ref().map(ToString::to_string);
                let value = format!("{fragment:?}");
                (LostKind::Fragment, name.unwrap_or(value.clone()), value)
            }
            SalvagedPiece::Blob(new, used_at) => {
                let id = context_core::base::BlobId::of(&new.bytes);
                (LostKind::Blob, id.to_string(), format!("{new:?} {used_at:?}"))
            }
            SalvagedPiece::Message { node, parent, revisions } => {
                let value = format!("{parent:?} {node:?} {revisions:?}");
                (LostKind::Message, node.id.to_string(), value)
            }
            SalvagedPiece::Stream(stream, chunks) => {
                (LostKind::Stream, stream.id.to_string(), format!("{stream:?} {chunks:?}"))
            }
            SalvagedPiece::Round(record) => {
                self.chat = None;
                (LostKind::Round, record.head.round.to_string(), format!("{record:?}"))
            }
            SalvagedPiece::Memory { record, words, vector } => {
                self.chat = None;
                let value = format!("{record:?} {words:?} {vector:?}");
                (LostKind::Memory, record.id.to_string(), value)
            }
            _ => unreachable!("all kinds of pieces are above"),
        };
        let chat = self.chat.as_ref().map(|chat| format!("{}/{}", chat.user, chat.chat));
        let known = self.pieces.insert((kind, chat.unwrap_or_default(), name), value);
        assert_eq!(known, None, "a piece is saved twice");
        Ok(())
    }

    fn lose(&mut self, loss: Loss) {
        self.losses.push(loss);
    }
}

async fn saved(path: &Path) -> Saved {
    let mut saved = Saved::default();
    salvage(path, &mut saved, &CancelSignal::never()).await.unwrap();
    saved
}

impl Saved {
    /// Whether a loss tells that this piece is missing or differs.
    fn tells(&self, kind: LostKind, chat: &str, name: &str, is_missing: bool) -> bool {
        self.losses.iter().any(|loss| {
            let of_chat = match (&loss.user, &loss.chat) {
                (Some(user), Some(other)) => format!("{user}/{other}") == chat,
                (Some(user), None) => chat.is_empty() || chat.starts_with(&format!("{user}/")),
                _ => true,
            };
            let is_named = loss.name.is_empty()
                || loss.name == name
                || loss.name.starts_with("number ")
                || loss.name.contains(" of branch ");
            of_chat
                && match loss.kind {
                    LostKind::Chat => loss.name.starts_with("number ") || loss.chat.is_some(),
                    LostKind::ChatDetails => {
                        matches!(kind, LostKind::Chat | LostKind::Branch) && !is_missing
                    }
                    LostKind::Branch => {
                        kind == LostKind::Branch && (is_named || !is_missing)
                            // The newest messages are in the row of their branch.
                            || kind == LostKind::Message
                            || kind == LostKind::Checkpoint && is_missing && is_named
                    }
                    LostKind::Message if kind == LostKind::Message => !is_missing || is_named,
                    LostKind::Message => kind == LostKind::Branch && !is_missing,
                    LostKind::Revision => kind == LostKind::Message && !is_missing,
                    LostKind::MemoryIndex => kind == LostKind::Memory && !is_missing,
                    LostKind::Rows => tells_of_rows(&loss.name, kind),
                    lost => lost == kind && is_named,
                }
        })
    }
}

/// Whether the rows of a table that are lost may be those of a piece whose name is kept nowhere
/// else.
fn tells_of_rows(rows: &str, kind: LostKind) -> bool {
    if rows == "the file" {
        // It is cut off, and the indexes with the names may be behind the cut.
        return true;
    }
    let tables: &[&str] = match kind {
        LostKind::Memory => &["memory_vector", "memory_kind", "memory_word"],
        LostKind::Message => &["revision"],
        _ => &[],
    };
    tables.iter().any(|table| rows.starts_with(&format!("table {table}")))
}

/// Compares what was saved of a damaged file with what there was.
fn problems(before: &Saved, after: &Saved) -> Vec<String> {
    let mut problems = Vec::new();
    for ((kind, chat, name), value) in &before.pieces {
        let now = after.pieces.get(&(*kind, chat.clone(), name.clone()));
        if now != Some(value) && !after.tells(*kind, chat, name, now.is_none()) {
            problems.push(format!("{kind:?} {chat} {name}, not told: {now:?} instead of {value}"));
        }
    }
    for (kind, chat, name) in after.pieces.keys() {
        let is_new = !before.pieces.contains_key(&(*kind, chat.clone(), name.clone()));
        if is_new && !(*kind == LostKind::Branch && name.contains("-rest-")) {
            problems.push(format!("{kind:?} {chat} {name} was never there"));
        }
    }
    for loss in &after.losses {
        let (Some(user), Some(chat)) = (&loss.user, &loss.chat) else { continue };
        let key = (loss.kind, format!("{user}/{chat}"), loss.name.clone());
        if before.pieces.contains_key(&key)
            && before.pieces.get(&key) == after.pieces.get(&key)
            && loss.kind != LostKind::Branch
        {
            problems.push(format!("{loss} is there"));
        }
    }
    problems
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_a_sound_file_is_saved_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.db");
    a_file(&path).await;
    let saved = saved(&path).await;
    assert_eq!(saved.losses, []);
    let store = SqliteStore::open(SqliteConfig::new(&path)).await.unwrap();
    let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    let count = |wanted| saved.pieces.keys().filter(|(kind, ..)| *kind == wanted).count() as u64;
    let kinds =
        [LostKind::Chat, LostKind::Message, LostKind::Stream, LostKind::Round, LostKind::Memory];
    assert_eq!(
        kinds.map(count),
        [report.chats, report.messages, report.streams, report.rounds, report.memories]
    );
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_loses_only_what_it_hit_and_all_of_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sound = a_file(&folder.path().join("sound.db")).await;
    let before = saved(&folder.path().join("sound.db")).await;
    let (first, count) = (number("CONTEXT_DAMAGE_SEED", 1), number("CONTEXT_SALVAGED_FILES", 25));
    let (mut whole, mut lossy, mut pieces, mut wrong) = (0, 0, 0, Vec::new());
    for seed in REGRESSIONS.into_iter().chain(first..first + count) {
        let path = folder.path().join("damaged.db");
        let mut file = sound.clone();
        let how = damage(&mut file, seed);
        fs::write(&path, &file).unwrap();
        let mut after = Saved::default();
        match salvage(&path, &mut after, &CancelSignal::never()).await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Unsupported && file.is_empty() => continue,
            Err(error) => wrong.push(format!("seed {seed}, {how}: {error:?}")),
        }
        let same = before.pieces.iter().filter(|(key, value)| after.pieces.get(key) == Some(value));
        pieces += same.count();
        if after.losses.is_empty() {
            whole += 1
        } else {
            lossy += 1
        }
        let problems = problems(&before, &after);
        if !problems.is_empty() {
            for loss in &after.losses {
                println!("seed {seed}, told: {loss}");
            }
        }
        for problem in problems {
            let problem: String = problem.chars().take(500).collect();
            println!("seed {seed}, {how}: {problem}");
            wrong.push(format!("seed {seed}, {how}: {problem}"));
        }
        assert_eq!(fs::read(&path).unwrap(), file, "the damaged file is only read");
    }
    println!(
        "{count} damaged files: nothing is lost of {whole}, something of {lossy}; {pieces} of {} \
         pieces are as before",
        before.pieces.len() as u64 * (count + REGRESSIONS.len() as u64)
    );
    assert!(wrong.is_empty(), "{} problems:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[tokio::test]
async fn a_file_of_a_version_without_checksums_is_refused() {
    for (version, is_refused) in [("v7", true), ("v8", false), ("v10", false)] {
        let file = format!("{}/tests/old/{version}.db", env!("CARGO_MANIFEST_DIR"));
        let mut saved = Saved::default();
        let read = salvage(Path::new(&file), &mut saved, &CancelSignal::never()).await;
        let kind = read.err().map(|error| error.kind());
        assert_eq!(kind, is_refused.then_some(ErrorKind::Unsupported), "{version}");
        assert_eq!(saved.pieces.is_empty(), is_refused, "{version}");
    }
}

/// The log beside a file belongs to it: what was committed there and is not yet in the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_are_only_in_the_log_are_saved() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 3)).await;
    let copy = tempfile::tempdir().unwrap();
    for end in ["", "-wal"] {
        let file = format!("s.db{end}");
        fs::copy(fixture.folder.path().join(&file), copy.path().join(&file)).unwrap();
    }
    let saved = saved(&copy.path().join("s.db")).await;
    assert_eq!(saved.losses, []);
    let messages = saved.pieces.keys().filter(|(kind, ..)| *kind == LostKind::Message);
    assert_eq!(messages.count(), 3);
}
