//! Reading a branch with plain commands, which keep the server for a fraction of the time of a
//! script that copies every run.
//!
//! One command returns what the branch needs, at one moment. Messages behind the first block are
//! read by a second command, which is accepted only if the structure of the chat has the same
//! version: then only appends can have come in between. They never change a block that is full, and
//! all names that a run of the last block can have are in one command. Only branches that begin at
//! the root are read, and everything that is missing or damaged is left to the script.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use context_core::store::Window;
use context_core::{BranchName, Chain, ChatRef};
use redis::{Cmd, cmd};

use crate::chat::fields::{self, BLOCK, Generation, Position, Tip};
use crate::chat::tree::FIRST_PIECE;
use crate::connections::Values;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::history::runs::{RunPart, chain_of};
use crate::values::Numbers;

/// The maximum number of messages of a branch that is read without the script.
const MAX_MESSAGES: u64 = 1 << 20;

/// The names that the runs of the first block can have. Asking for all of them takes the server two
/// microseconds more than asking for those that exist, and a second command three to six.
static FIRST_BLOCK: LazyLock<Vec<String>> = LazyLock::new(|| (1..=BLOCK).map(run).collect());

fn run(pos: u64) -> String {
    fields::run(Position { piece: FIRST_PIECE, pos })
}

/// A window of a branch on the first piece of its chat, as it was at one moment.
pub(crate) struct BranchRead {
    version: Vec<u8>,
    generation: u64,
    /// The number of messages.
    own: u64,
    /// The first position of the window. Behind the end if the window is empty.
    start: u64,
    /// The first position that was not asked for.
    next: u64,
    runs: BTreeMap<u64, Bytes>,
}

/// Whether windows of this kind are read by plain commands.
pub(crate) fn reads(window: &Window) -> bool {
    matches!(window, Window::Whole | Window::Boundary | Window::After { .. })
}

/// Adds the fields of a branch to a command: the version, what every window needs, what this one
/// needs, and the runs of the first block if the window may need them.
pub(crate) fn ask(
    shared: &Shared,
    chat: &ChatRef,
    get: &mut Cmd,
    branch: &BranchName,
    window: &Window,
) {
    get.arg("v").arg("o").arg(fields::branch(branch.as_str())).arg(fields::piece(FIRST_PIECE));
    let first_block = match window {
        Window::Whole => true,
        Window::Boundary => {
            get.arg(fields::boundaries(FIRST_PIECE));
            true
        }
        Window::After { message, .. } => {
            get.arg(fields::id(message));
            false
        }
        Window::Last(_) | Window::Tokens(_) => false,
    };
    if first_block && shared.first_blocks.are_needed(chat) {
        get.arg(&*FIRST_BLOCK);
    }
}

impl BranchRead {
    /// Reads the fields that [`ask`] asks for. Returns `None` if something is missing or cannot be
    /// read, if the branch is on another piece, or if the script must read the window.
    pub(crate) fn of(
        values: impl IntoIterator<Item = Option<Vec<u8>>>,
        window: &Window,
    ) -> Option<Self> {
        let mut values = values.into_iter();
        let version = values.next()??;
        let generation = Generation::read(&values.next()??).ok()?.shown();
        let Tip { piece, own, .. } = Tip::read(&values.next()??).ok()?;
        let before = Numbers::of(&values.next()??).number().ok()?;
        if piece != FIRST_PIECE || before != 0 || own > MAX_MESSAGES {
            return None;
        }
        let start = match window {
            Window::Whole => 1,
            Window::Boundary => {
                let boundaries = fields::read_boundaries(values.next()?.as_deref()).ok()?;
                boundaries.into_iter().rev().find(|pos| (1..=own).contains(pos)).unwrap_or(1)
            }
            Window::After { generation: seen, .. } => {
                let at = values.next()?.map(|at| Position::read(&at)).transpose().ok()?;
                let is_here = |at: &Position| at.piece == FIRST_PIECE && at.pos <= own;
                at.filter(|at| generation == *seen && is_here(at)).map_or(1, |at| at.pos + 1)
            }
            Window::Last(_) | Window::Tokens(_) => return None,
        };
        let (mut runs, mut next) = (BTreeMap::new(), 1);
        for value in values {
            if let Some(value) = value {
                runs.insert(next, value.into());
            }
            next += 1;
        }
        Some(Self { version, generation, own, start, next, runs })
    }

    /// Returns the window. Returns `None` if the script must read it.
    pub(crate) async fn chain(mut self, shared: &Shared, chat: &ChatRef) -> Result<Option<Chain>> {
        if self.start > self.own {
            let nothing = Chain::from_nodes(self.own, []);
            return Ok(Some(nothing.with_generation(self.generation)));
        }
        if self.next > 1 && self.start > self.next {
            shared.first_blocks.skip(chat);
        }
        let mut missing = self.names();
        // Full blocks of large messages have several runs, which the third command reads.
        for _ in 0..2 {
            if !self.read(shared, chat, &missing).await? {
                return Ok(None);
            }
            let mut parts = Vec::new();
            missing = self.walk(&mut parts);
            if missing.is_empty() {
                let chain = chain_of(self.start - 1, parts).ok();
                return Ok(chain.map(|chain| chain.with_generation(self.generation)));
            }
        }
        Ok(None)
    }

    /// Returns the positions to ask for: the starts of full blocks, and all of the last block.
    fn names(&self) -> Vec<u64> {
        let mut names = Vec::new();
        let mut pos = block(self.start).max(self.next);
        while pos <= self.own {
            let end = pos + BLOCK - 1;
            if end <= self.own {
                names.push(pos);
            } else {
                names.extend(pos..=self.own);
            }
            pos += BLOCK;
        }
        names
    }

    /// Reads runs by position. Returns whether the chat still has its version.
    async fn read(&mut self, shared: &Shared, chat: &ChatRef, names: &[u64]) -> Result<bool> {
        if names.is_empty() {
            return Ok(true);
        }
        let mut get = cmd("HMGET");
        get.arg(shared.keys.chat(chat)).arg("v");
        names.iter().for_each(|pos| _ = get.arg(run(*pos)));
        let mut values = shared.connection.run::<Values>(&get).await?.into_iter();
        if values.next().flatten().as_ref() != Some(&self.version) {
            return Ok(false);
        }
        let found = names.iter().zip(values).filter_map(|(pos, run)| Some((*pos, run?.into())));
        self.runs.extend(found);
        Ok(true)
    }

    /// Collects the runs of the window. Returns the positions that further runs may have.
    fn walk(&self, parts: &mut Vec<RunPart>) -> Vec<u64> {
        let (mut pos, mut missing) = (block(self.start), Vec::new());
        while pos <= self.own {
            let run = self.runs.get(&pos);
            let count = run.and_then(|run| run.first()).copied().map_or(0, u64::from);
            let Some(run) = run.filter(|_| count > 0) else {
                let end = block(pos) + BLOCK;
                missing.extend(pos..end.min(self.own + 1));
                pos = end;
                continue;
            };
            if pos + count > self.start {
                let leave = self.start.saturating_sub(pos);
                let take = count.min(self.own + 1 - pos) - leave;
                parts.push(RunPart { run: run.clone(), leave, take });
            }
            pos += count;
        }
        missing
    }
}

/// Returns the first position of the block that contains this one.
fn block(pos: u64) -> u64 {
    Position { piece: FIRST_PIECE, pos }.block()
}
