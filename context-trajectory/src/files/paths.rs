//! The folders and files of rounds.

use std::io;
use std::path::{Path, PathBuf};

use context_core::trajectory::{AgentRef, RoundRef};
use context_core::{Result, SessionId, UserId};

use super::names::{folder_name, is_hashed, text_of};
use crate::journal::{failed, sync_folder};

const GRAPH: &str = ".jsonl";
const HEAD: &str = ".meta.json";

/// The file paths of one round.
#[derive(Clone, Debug)]
pub(super) struct RoundPaths {
    pub(super) round: RoundRef,
    pub(super) graph: PathBuf,
    pub(super) head: PathBuf,
}

impl RoundPaths {
    pub(super) fn new(root: &Path, round: &RoundRef) -> Self {
        Self::within(&session_folder(root, &round.agent), round)
    }

    fn within(folder: &Path, round: &RoundRef) -> Self {
        let (graph, head) = files(folder, (round.agent.agent, round.round));
        Self { round: round.clone(), graph, head }
    }

    /// Returns the length of the graph file in bytes, or `None` if there is no file.
    pub(super) fn bytes(&self, operation: &'static str) -> Result<Option<u64>> {
        match self.graph.metadata() {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(failed(operation, &self.graph, error)),
        }
    }

    /// Creates the folders of user and session. With `sync`, those that were missing above them are
    /// on disk on return.
    pub(super) fn make_folders(&self, operation: &'static str, sync: bool) -> Result<()> {
        let Some(folder) = self.graph.parent().filter(|folder| !folder.is_dir()) else {
            return Ok(());
        };
        let missing: Vec<_> = folder.ancestors().take_while(|folder| !folder.is_dir()).collect();
        std::fs::create_dir_all(folder).map_err(|error| failed(operation, folder, error))?;
        for made in missing.into_iter().filter(|_| sync) {
            sync_folder(made).map_err(|error| failed(operation, made, error))?;
        }
        Ok(())
    }

    /// Waits until the folders of user and session are on disk: the process that created them may
    /// have been killed before it waited.
    pub(super) fn sync_folders(&self, operation: &'static str, root: &Path) -> Result<()> {
        let folders = self.graph.ancestors().skip(1);
        for folder in folders.take_while(|folder| folder.starts_with(root)) {
            sync_folder(folder).map_err(|error| failed(operation, folder, error))?;
        }
        Ok(())
    }

    /// Removes the round's files, and folders that become empty.
    pub(super) fn remove(&self, operation: &'static str) -> Result<()> {
        // The head file goes first: a graph without a head is complete, but a head alone would be
        // taken for that of a later graph.
        for file in [&self.head, &self.graph] {
            match std::fs::remove_file(file) {
                Err(error) if !is_absent(&error) => return Err(failed(operation, file, error)),
                _ => {}
            }
        }
        for folder in self.graph.ancestors().skip(1).take(2) {
            // Fails unless the folder is empty.
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the paths of a round's graph file and head file.
fn files(folder: &Path, (agent, round): (u32, u32)) -> (PathBuf, PathBuf) {
    let stem = format!("agent-{agent}.round-{round}");
    (folder.join(format!("{stem}{GRAPH}")), folder.join(format!("{stem}{HEAD}")))
}

fn session_folder(root: &Path, agent: &AgentRef) -> PathBuf {
    root.join(folder_name(agent.user.as_str())).join(folder_name(agent.session.as_str()))
}

/// Returns the numbers of an agent's rounds, ascending.
pub(super) fn agent_rounds(
    operation: &'static str,
    root: &Path,
    agent: &AgentRef,
) -> Result<Vec<u32>> {
    let files = files_of(operation, &session_folder(root, agent))?;
    let theirs = files.into_iter().filter(|(number, _)| *number == agent.agent);
    Ok(theirs.map(|(_, round)| round).collect())
}

/// The folder of a session: the session's name, if the folder name tells it, and its rounds by
/// agent and number.
#[derive(Debug)]
pub(super) struct SessionFolder {
    path: PathBuf,
    pub(super) session: Option<String>,
    pub(super) rounds: Vec<(u32, u32)>,
}

impl SessionFolder {
    /// Returns the paths of one of the rounds.
    pub(super) fn paths(
        &self,
        user: &UserId,
        session: &str,
        (agent, round): (u32, u32),
    ) -> RoundPaths {
        RoundPaths::within(&self.path, &AgentRef::new(user.clone(), session, agent).round(round))
    }

    /// Returns the graph file and the head file of one of the rounds.
    pub(super) fn files(&self, numbers: (u32, u32)) -> (PathBuf, PathBuf) {
        files(&self.path, numbers)
    }
}

/// Returns the sessions of a user in no particular order, or only the given one.
pub(super) fn session_folders(
    operation: &'static str,
    root: &Path,
    user: &UserId,
    only: Option<&SessionId>,
) -> Result<Vec<SessionFolder>> {
    let folder = root.join(folder_name(user.as_str()));
    let names = match only {
        Some(session) => vec![(folder_name(session.as_str()), Some(session.as_str().to_owned()))],
        None => {
            let names = names_in(operation, &folder)?.into_iter();
            let named = names.map(|name| (text_of(&name), name));
            named
                .filter(|(text, name)| text.is_some() || is_hashed(name))
                .map(|(text, name)| (name, text))
                .collect()
        }
    };
    let mut sessions = Vec::new();
    for (name, session) in names {
        let path = folder.join(name);
        let rounds = files_of(operation, &path)?;
        if !rounds.is_empty() {
            sessions.push(SessionFolder { path, session, rounds });
        }
    }
    Ok(sessions)
}

/// Returns the rounds in a folder by agent and number, ascending.
fn files_of(operation: &'static str, folder: &Path) -> Result<Vec<(u32, u32)>> {
    let names = names_in(operation, folder)?;
    let mut rounds: Vec<_> = names.iter().filter_map(|name| numbers(name)).collect();
    rounds.sort_unstable();
    Ok(rounds)
}

/// Returns the agent and the round in a graph file's name.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (agent, round) = name.strip_suffix(GRAPH)?.strip_prefix("agent-")?.split_once(".round-")?;
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| number.to_string() == text);
    Some((number(agent)?, number(round)?))
}

/// Returns the names in a folder, or none if there is no folder. Names that are not UTF-8 do not
/// belong to the channel and are skipped.
fn names_in(operation: &'static str, folder: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(failed(operation, folder, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| failed(operation, folder, error))?;
        names.extend(entry.file_name().into_string().ok());
    }
    Ok(names)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
