//! Reading a chain with one script, whatever the window. A window by tokens is read repeatedly
//! until it is large enough. An engine that asks for news, and there are none, needs no script.

use context_core::store::{ChainEnd, Window};
use context_core::{Chain, ChatRef, Error, MessageId};
use context_store_kit::pack;
use context_store_kit::pack::PackedRun;
use redis::{Value, cmd};

use crate::chat::fields::{self, Generation, Tip};
use crate::chat::snapshot::chat_not_found;
use crate::chat::tree::FIRST_PIECE;
use crate::connections::Values;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::history::runs::{MISSING, packed};
use crate::scripts::CHAIN;
use crate::scripts::reply::Reply;
use crate::values::Numbers;

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
    match window {
        Window::Tokens(budget) => by_tokens(shared, chat, end, *budget).await,
        Window::After { message, generation } => {
            match nothing_after(shared, chat, end, message, *generation).await? {
                Some(nothing) => Ok(nothing),
                None => window_of(shared, chat, end, window).await,
            }
        }
        Window::Whole | Window::Last(_) | Window::Boundary => {
            window_of(shared, chat, end, window).await
        }
    }
}

/// Returns the empty chain after the message that still is the end of a branch, in one command,
/// which keeps the server for a quarter of the time of the script. Returns `None` if there may be
/// something else to return, or if the branch is not the one that the chat began with.
async fn nothing_after(
    shared: &Shared,
    chat: &ChatRef,
    end: &ChainEnd,
    message: &MessageId,
    generation: u64,
) -> Result<Option<Chain>> {
    let ChainEnd::Branch(name) = end else { return Ok(None) };
    let mut get = cmd("HMGET");
    get.arg(shared.keys.chat(chat)).arg("o");
    get.arg(fields::branch(name.as_str())).arg(fields::piece(FIRST_PIECE));
    let found: Values = shared.connection.run(&get).await?;
    let [Some(found), Some(tip), Some(piece)] = &found[..] else { return Ok(None) };
    let (found, tip) = (Generation::read(found)?.shown(), Tip::read(tip)?);
    let is_end = tip.piece == FIRST_PIECE && tip.head.as_ref() == Some(message);
    if found != generation || !is_end {
        return Ok(None);
    }
    let before = Numbers::of(piece).number()?;
    Ok(Some(Chain::from_nodes(before + tip.own, []).with_generation(found)))
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
    let (mut runs, mut expected) = (Vec::new(), 0);
    while !reply.is_empty() {
        let (leave, take) = (length(reply.number()?)?, length(reply.number()?)?);
        let mut bytes = packed(&reply.bytes()?)?;
        if leave > 0 {
            bytes = pack::split_at(&bytes, leave)?.1;
        }
        expected += take;
        runs.push(PackedRun { bytes, take, is_whole: false });
    }
    let chain = context_store_kit::pack::chain(skipped, runs)?.with_generation(generation.shown());
    if chain.len() != expected {
        return Err(MISSING);
    }
    Ok(chain)
}

fn length(number: u64) -> Result<usize> {
    usize::try_from(number).map_err(|_| MISSING)
}
