//! Import and export of a whole session in a folder.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use context_core::store::{RecordOutcome, RoundCommit, TrajectoryStore};
use context_core::trajectory::{AgentRef, RoundRecord, RoundRef, TrajectoryNodeKind};
use context_core::{Error, Result, SessionId, Timestamp, UserId};

use super::export::{Export, Generation, Omission, export_round};
use super::finding::{ImportFinding, Problem};
use super::import::{commits, import_round};
use context_trajectory::local_file::{failed, read_whole, write_new};

/// The imported rounds of a session.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FolderImport {
    /// The rounds, by agent and number.
    pub rounds: Vec<RoundRecord>,
    /// The findings, file by file.
    pub findings: Vec<ImportFinding>,
}

impl FolderImport {
    /// Returns the commits that create the rounds in a store. The commit keys are deterministic.
    pub fn commits(&self) -> Vec<RoundCommit> {
        self.rounds.iter().flat_map(commits).collect()
    }

    /// Writes the rounds to a store. Returns the rounds that the store already had, which are left
    /// unchanged.
    pub async fn store(&self, store: &dyn TrajectoryStore) -> Result<Vec<RoundRef>> {
        let mut there = Vec::new();
        for record in &self.rounds {
            for commit in commits(record) {
                match store.record_round(&commit).await? {
                    RecordOutcome::Applied | RecordOutcome::Replayed => {}
                    _ => {
                        there.push(record.head.round.clone());
                        break;
                    }
                }
            }
        }
        Ok(there)
    }
}

/// The outcome of an export to a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderExport {
    /// The number of rounds written, two files each.
    pub rounds: usize,
    /// The parts that could not be written, with their round.
    pub left_out: Vec<(RoundRef, Omission)>,
}

/// Reads all rounds in a folder as rounds of one session. Files with other names are ignored.
/// Blocks.
///
/// # Errors
///
/// Fails if the folder or a file in it cannot be read. Errors within a file are findings.
pub fn import_folder(
    folder: &Path,
    user: impl Into<UserId>,
    session: impl Into<SessionId>,
    at: Timestamp,
) -> Result<FolderImport> {
    const OPERATION: &str = "import_folder";
    let session = AgentRef::main(user, session);
    let mut files: BTreeMap<(u32, u32), (bool, bool)> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(|error| failed(OPERATION, folder, error))? {
        let name = entry.map_err(|error| failed(OPERATION, folder, error))?.file_name();
        if let Some((agent, round, is_graph)) = name.to_str().and_then(numbers) {
            let known = files.entry((agent, round)).or_default();
            if is_graph { known.0 = true } else { known.1 = true }
        }
    }
    let read = |name: &str| -> Result<String> {
        let path = folder.join(name);
        let bytes = read_whole(OPERATION, &path)?;
        // Invalid UTF-8 is damage, which parsing the file reports.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut import = FolderImport::default();
    // Generated labels are numbered on from round to round.
    let mut before: Option<(u32, [u32; TrajectoryNodeKind::ALL.len()])> = None;
    for ((agent, round), (graph, pointers)) in files {
        let [graph_name, pointers_name] = names(agent, round);
        if !graph {
            import.findings.push(ImportFinding::new(&pointers_name, Problem::NoGraph));
            continue;
        }
        let pointers = if pointers { Some(read(&pointers_name)?) } else { None };
        let round = AgentRef { agent, ..session.clone() }.round(round);
        let read_round = import_round(&round, &read(&graph_name)?, pointers.as_deref(), at);
        let of_file =
            |finding: ImportFinding| ImportFinding { file: graph_name.clone(), ..finding };
        import.findings.extend(read_round.findings.into_iter().map(of_file));
        import.rounds.extend(read_round.round.map(|mut record| {
            if let Some((_, numbers)) = before.filter(|(known, _)| *known == agent) {
                record
                    .head
                    .numbers
                    .iter_mut()
                    .zip(numbers)
                    .for_each(|(own, number)| *own = number.max(*own));
            }
            before = Some((agent, record.head.numbers));
            record
        }));
    }
    Ok(import)
}

/// Writes rounds of one session to an existing folder, each file completely or not at all. File
/// names state the round and the agent but not the session, so a folder holds one session. Blocks.
///
/// # Errors
///
/// [`ErrorKind::Invalid`](context_core::ErrorKind::Invalid), before anything is written, with the
/// `file` that already exists or that two of the rounds would share: files are never overwritten.
/// Otherwise fails if a file cannot be written; the files before it remain.
pub fn export_folder(
    folder: &Path,
    rounds: &[RoundRecord],
    generation: Generation,
) -> Result<FolderExport> {
    const OPERATION: &str = "export_folder";
    check_free(OPERATION, folder, rounds)?;
    let mut done = FolderExport::default();
    let mut titles = HashSet::new();
    for record in rounds {
        let round = &record.head.round;
        let [graph_name, pointers_name] = names(round.agent.agent, round.round);
        let Export { graph, pointers, left_out } = export_round(record, generation);
        write_new(OPERATION, &folder.join(graph_name), graph.as_bytes())?;
        write_new(OPERATION, &folder.join(pointers_name), pointers.as_bytes())?;
        done.rounds += 1;
        done.left_out.extend(left_out.into_iter().map(|part| (round.clone(), part)));
        for node in &record.nodes {
            let title = node.title();
            if !titles.insert((round.agent.agent, title.clone())) {
                done.left_out.push((round.clone(), Omission::SameName { node: title.to_string() }));
            }
        }
    }
    Ok(done)
}

/// Fails if a file exists already or two rounds have the same file.
fn check_free(operation: &'static str, folder: &Path, rounds: &[RoundRecord]) -> Result<()> {
    let mut taken = HashSet::new();
    for record in rounds {
        let round = &record.head.round;
        for name in names(round.agent.agent, round.round) {
            let path = folder.join(&name);
            let problem = match path.symlink_metadata() {
                Ok(_) => "a file of this name is there; nothing was written",
                Err(_) if !taken.insert(name) => {
                    "two rounds have the same file; nothing was written"
                }
                Err(_) => continue,
            };
            return Err(Error::invalid(operation, problem).with("file", path.display()));
        }
    }
    Ok(())
}

fn names(agent: u32, round: u32) -> [String; 2] {
    let stem = format!("Run{round}_Sub{agent}");
    [format!("{stem}.json"), format!("{stem}.meta.json")]
}

/// Returns the agent and the round in a file name, and whether the file is a graph.
fn numbers(name: &str) -> Option<(u32, u32, bool)> {
    let (stem, is_graph) = match name.strip_suffix(".meta.json") {
        Some(stem) => (stem, false),
        None => (name.strip_suffix(".json")?, true),
    };
    let (round, agent) = stem.strip_prefix("Run")?.split_once("_Sub")?;
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| number.to_string() == text);
    Some((number(agent)?, number(round)?, is_graph))
}
