//! Reading a chain with one script, whatever the window. A window by tokens is read repeatedly
//! until it is large enough.

use context_core::store::{ChainEnd, Window};
use context_core::{Chain, ChatRef, Error};
use context_store_kit::pack;
use context_store_kit::pack::PackedRun;
use redis::Value;

use crate::chat::fields::{self, Generation};
use crate::chat::snapshot::chat_not_found;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::history::runs::{MISSING, packed};
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
    match window {
        Window::Tokens(budget) => by_tokens(shared, chat, end, *budget).await,
        Window::Whole | Window::Last(_) | Window::Boundary | Window::After { .. } => {
            window_of(shared, chat, end, window).await
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
