//! The storage of a run: a SQLite file and a folder of files, or the folder alone.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_runtime::trajectory::{FileChannel, RoundRecord};
use context_runtime::{Store, store::TrajectoryStore, trajectory::AgentRef};
use context_simulator::Random;
use serde::{Deserialize, Serialize};

/// The highest number a round can have.
const LAST: u32 = i32::MAX as u32;

/// The channels of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Channels {
    Both,
    Files,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunStorage {
    folder: PathBuf,
    pub(crate) channels: Channels,
}

impl RunStorage {
    pub(crate) fn new(folder: &Path, channels: Channels) -> Self {
        Self { folder: folder.to_owned(), channels }
    }

    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        let file = self.folder.join("runs.db");
        context_runtime::open(&format!("sqlite:{}?readers=1&full_text=off", file.display()))
            .await
            .unwrap()
    }

    pub(crate) fn files(&self) -> FileChannel {
        FileChannel::new(self.folder.join("files"))
    }

    /// Returns what each channel has of an agent.
    pub(crate) async fn stored(&self, agent: &AgentRef) -> Vec<Vec<RoundRecord>> {
        let mut stored = vec![self.files().load_rounds(agent, 0..=LAST).await.unwrap()];
        if self.channels == Channels::Both {
            let store = self.store().await;
            let rounds = store.trajectories().unwrap();
            stored.push(rounds.load_rounds(agent, 0..=LAST).await.unwrap());
        }
        stored
    }

    /// Cuts the newest commit of a round off its file, at any byte. Returns whether there was one:
    /// a file that was rewritten as a whole was replaced atomically, so it cannot be incomplete.
    pub(crate) fn cut(&self, agent: &AgentRef, round: u32, random: &mut Random) -> bool {
        let Some(file) = self.graph_of(agent, round) else { return false };
        let bytes = fs::read(&file).unwrap();
        let whole = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let begin = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = String::from_utf8_lossy(&whole[begin..]);
        if !line.contains(r#""record":{"commit":"#) {
            return false;
        }
        let left = begin + random.below(whole.len() - begin);
        OpenOptions::new().write(true).open(&file).unwrap().set_len(left as u64).unwrap();
        true
    }

    /// Returns the file of a round, whatever its session folder is called.
    fn graph_of(&self, agent: &AgentRef, round: u32) -> Option<PathBuf> {
        let name = format!("agent-{}.round-{round}.jsonl", agent.agent);
        let session = agent.session.as_str().replace('/', "%2f");
        let sessions = fs::read_dir(self.folder.join("files").join(agent.user.as_str())).ok()?;
        let folders = sessions.map(|entry| entry.unwrap().path());
        let mut files = folders
            .filter(|folder| folder.file_name().unwrap().to_string_lossy() == session)
            .map(|folder| folder.join(&name));
        files.find(|file| file.exists())
    }
}
