//! Reading a chain. A script reads every window of every branch, and decides all errors. The most
//! common reads need only [plain commands](crate::history::branch_read). A window by tokens is read
//! repeatedly until it is large enough.

use context_core::store::{ChainEnd, Window};
use context_core::{BranchName, Chain, ChatRef, Error};
use redis::{Value, cmd};

use crate::chat::fields::{self, Generation};
use crate::chat::snapshot::chat_not_found;
use crate::connections::Values;
use crate::connections::shared::{BlockRange, Shared};
use crate::error::Result;
use crate::history::branch_read::{self, BranchRead};
use crate::history::runs::{MISSING, RunPart, chain_of};
use crate::scripts::CHAIN;
use crate::scripts::reply::Reply;

const OPERATION: &str = "chain";

/// The number of nodes that a read by tokens requests first. Each further request takes four times
/// as many.
const FIRST_COUNT: usize = 64;

/// Returns the window of a chain.
pub(crate) async fn chain(
    shared: &Shared,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Chain> {
    let read = match (end, window) {
        (ChainEnd::Branch(name), window) if branch_read::reads(window) => {
            plain(shared, chat, name, window).await?
        }
        _ => None,
    };
    match read {
        Some(chain) => Ok(chain),
        None => by_script(shared, chat, end, window).await,
    }
}

/// Returns the window of a chain, and decides every error.
pub(crate) async fn by_script(
    shared: &Shared,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Chain> {
    match window {
        Window::Tokens(budget) => by_tokens(shared, chat, end, *budget).await,
        _ => window_of(shared, chat, end, window).await,
    }
}

/// Reads a window with plain commands. Returns `None` if the script must read it.
async fn plain(
    shared: &Shared,
    chat: &ChatRef,
    branch: &BranchName,
    window: &Window,
) -> Result<Option<Chain>> {
    let mut get = cmd("HMGET");
    get.arg(shared.keys.chat(chat));
    let asked = branch_read::ask(shared, chat, &mut get, branch, window);
    let values: Values = shared.connection.run(&get).await?;
    let is_there = matches!(values.first(), Some(Some(_)));
    match BranchRead::of(values, window, asked) {
        Some(read) => read.chain(shared, chat).await,
        None => {
            if is_there {
                shared.blocks.learn(chat, BlockRange::NONE);
            }
            Ok(None)
        }
    }
}

/// Reads a window by tokens. Each request is a read of its own that sees one consistent state. Only
/// the last one is used.
async fn by_tokens(shared: &Shared, chat: &ChatRef, end: &ChainEnd, budget: u64) -> Result<Chain> {
    let window = Window::Tokens(budget);
    let mut count = FIRST_COUNT;
    loop {
        let chain = window_of(shared, chat, end, &Window::Last(count)).await?;
        let cut = window.of(&chain);
        if cut.len() < chain.len() || chain.is_whole() {
            return Ok(cut);
        }
        count = count.saturating_mul(4);
    }
}

async fn window_of(
    shared: &Shared,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Chain> {
    let mut call = CHAIN.key(shared.keys.chat(chat));
    match end {
        ChainEnd::Branch(name) => call.arg(fields::branch(name.as_str())),
        ChainEnd::Message(id) => call.arg(fields::id(id)),
    };
    match window {
        Window::Last(count) => call.arg("last").arg(*count),
        Window::Boundary => call.arg("boundary"),
        Window::After { message, generation } => {
            call.arg("after").arg(message.as_str()).arg(Generation::of_shown(*generation).write())
        }
        _ => call.arg("all"),
    };
    let mut reply = Reply::of(shared.connection.ask::<Value>(&call).await?)?;
    match reply.number()? {
        0 => return Err(chat_not_found(OPERATION, chat)),
        1 => {
            let error = match end {
                ChainEnd::Branch(name) => Error::not_found(OPERATION, "branch", name),
                ChainEnd::Message(id) => Error::not_found(OPERATION, "message", id),
            };
            return Err(error.into());
        }
        3 => {}
        _ => return Err(MISSING),
    }
    let generation = Generation::read(&reply.bytes()?)?;
    let skipped = reply.number()?;
    let mut parts = Vec::new();
    while !reply.is_empty() {
        let (leave, take) = (reply.number()?, reply.number()?);
        parts.push(RunPart { run: reply.bytes()?, leave, take });
    }
    Ok(chain_of(skipped, parts)?.with_generation(generation.shown()))
}
