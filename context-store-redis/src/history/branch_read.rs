//! Reading a branch with plain commands, which keep the server for a fraction of the time of a
//! script that copies every run.
//!
//! One command returns the state of the branch and the runs that are probably needed: those of the
//! first block, or of the blocks that this handle read before. What it did not ask for is read by a
//! second command, which is accepted only if the structure of the chat has the same version. Then
//! only appends can have come in between, which change no message and only join runs of the last
//! block. Only branches that begin at the root are read, and everything that is missing or damaged
//! is left to the script.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use context_core::store::Window;
use context_core::{BranchName, Chain, ChatRef};
use redis::{Cmd, cmd};

use crate::chat::fields::{self, BLOCK, Generation, Position, Tip};
use crate::chat::tree::FIRST_PIECE;
use crate::connections::Values;
use crate::connections::shared::{BlockRange, Shared};
use crate::error::Result;
use crate::history::runs::{RunPart, chain_of};
use crate::values::Numbers;

/// The maximum number of messages of a branch that is read without the script.
const MAX_MESSAGES: u64 = 1 << 20;

/// The names of the first runs, so that they are not written for each read.
static FIRST_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| (1..=1024).map(name).collect());

fn name(pos: u64) -> String {
    fields::run(Position { piece: FIRST_PIECE, pos })
}

/// Adds the runs at these positions to a command.
fn ask_runs(get: &mut Cmd, positions: &[u64]) {
    for &pos in positions {
        let known = usize::try_from(pos - 1).ok().and_then(|nth| FIRST_NAMES.get(nth));
        match known {
            Some(name) => get.arg(name),
            None => get.arg(name(pos)),
        };
    }
}

/// Returns the positions that runs from one block to the end can have: the starts of full blocks,
/// and all of the last block.
fn positions(first: u64, end: u64) -> Vec<u64> {
    let (mut all, mut pos) = (Vec::new(), first);
    while pos <= end {
        if pos + BLOCK <= end + 1 {
            all.push(pos)
        } else {
            all.extend(pos..=end)
        }
        pos += BLOCK;
    }
    all
}

/// A window of a branch on the first piece of its chat, as it was at one moment.
pub(crate) struct BranchRead {
    version: Vec<u8>,
    generation: u64,
    /// The number of messages.
    own: u64,
    /// The first position of the window. Behind the end if the window is empty.
    start: u64,
    /// Whether the window begins where the next one probably does.
    is_usual: bool,
    /// The positions that were asked for, in order.
    asked: Vec<u64>,
    runs: BTreeMap<u64, Bytes>,
}

/// Whether windows of this kind are read by plain commands.
pub(crate) fn reads(window: &Window) -> bool {
    matches!(window, Window::Whole | Window::Boundary | Window::After { .. })
}

/// Adds the fields of a branch to a command: the version, what every window needs, what this one
/// needs, and the runs that it probably needs. Returns their positions.
///
/// Without knowledge these are all positions of the first block. Those that do not exist take the
/// server two microseconds, a second command three to six.
pub(crate) fn ask(
    shared: &Shared,
    chat: &ChatRef,
    get: &mut Cmd,
    branch: &BranchName,
    window: &Window,
) -> Vec<u64> {
    get.arg("v").arg("o").arg(fields::branch(branch.as_str())).arg(fields::piece(FIRST_PIECE));
    let BlockRange { first, last } = shared.blocks.of(chat);
    let first = match window {
        Window::Whole => 1,
        Window::Boundary => {
            get.arg(fields::boundaries(FIRST_PIECE));
            first
        }
        Window::After { message, .. } => {
            get.arg(fields::id(message));
            return Vec::new();
        }
        Window::Last(_) | Window::Tokens(_) => return Vec::new(),
    };
    let mut asked = positions(first, last.saturating_sub(1));
    if last > 0 {
        asked.extend(last..last + BLOCK);
    }
    ask_runs(get, &asked);
    asked
}

impl BranchRead {
    /// Reads the fields that [`ask`] asks for. Returns `None` if something is missing or cannot be
    /// read, if the branch is on another piece, or if the script must read the window.
    pub(crate) fn of(
        values: impl IntoIterator<Item = Option<Vec<u8>>>,
        window: &Window,
        asked: Vec<u64>,
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
        let found = asked.iter().zip(values).filter_map(|(pos, run)| Some((*pos, run?.into())));
        let runs = found.collect();
        let is_usual = *window == Window::Boundary;
        Some(Self { version, generation, own, start, is_usual, asked, runs })
    }

    /// Returns the window. Returns `None` if the script must read it.
    pub(crate) async fn chain(mut self, shared: &Shared, chat: &ChatRef) -> Result<Option<Chain>> {
        if self.start > self.own {
            let nothing = Chain::from_nodes(self.own, []);
            return Ok(Some(nothing.with_generation(self.generation)));
        }
        let first = if self.is_usual { block(self.start) } else { shared.blocks.of(chat).first };
        shared.blocks.learn(chat, BlockRange { first, last: block(self.own) });
        let mut missing = positions(block(self.start), self.own);
        missing.retain(|pos| self.asked.binary_search(pos).is_err());
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

    /// Reads runs by position. Returns whether the chat still has its version.
    async fn read(&mut self, shared: &Shared, chat: &ChatRef, positions: &[u64]) -> Result<bool> {
        if positions.is_empty() {
            return Ok(true);
        }
        let mut get = cmd("HMGET");
        get.arg(shared.keys.chat(chat)).arg("v");
        ask_runs(&mut get, positions);
        let mut values = shared.connection.run::<Values>(&get).await?.into_iter();
        if values.next().flatten().as_ref() != Some(&self.version) {
            return Ok(false);
        }
        let found = positions.iter().zip(values).filter_map(|(pos, run)| Some((*pos, run?.into())));
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
