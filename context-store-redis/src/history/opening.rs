//! Reading what a turn begins with: the chat, its fragments and a branch, with one plain command if
//! the branch is short and there are no fragments.

use context_core::store::{ChainEnd, OpenedChat, Window};
use context_core::{BranchName, Chain, ChatRef};
use futures_util::future::join;
use redis::cmd;

use crate::connections::Values;
use crate::connections::shared::{BlockRange, Shared};
use crate::error::Result;
use crate::fragments;
use crate::history::branch_read::{self, BranchRead};
use crate::history::chats::{self, SUMMARY};
use crate::history::read;

/// The branch that most chats are on.
const USUAL: &str = "main";

pub(crate) async fn open(
    shared: &Shared,
    chat: &ChatRef,
    branch: Option<&BranchName>,
    window: &Window,
) -> Result<Option<OpenedChat>> {
    let guess = branch.cloned().unwrap_or_else(|| USUAL.into());
    let mut get = cmd("HMGET");
    get.arg(shared.keys.chat(chat)).arg(&SUMMARY).arg("x");
    let asked = branch_read::ask(shared, chat, &mut get, &guess, window);
    let state = shared.connection.run::<Values>(&get);
    // A window that only the script reads is read at the same time.
    let (values, other) = if branch_read::reads(window) {
        (state.await?, None)
    } else {
        let end = ChainEnd::Branch(guess.clone());
        let (values, chain) = join(state, read::chain(shared, chat, &end, window)).await;
        (values?, Some(chain))
    };
    let mut values = values.into_iter();
    let summary = chats::summary(values.by_ref().take(SUMMARY.len()).collect())?;
    let Some(found) = summary.map(|summary| summary.chat) else { return Ok(None) };
    let list = values.next().flatten();
    let values: Values = values.collect();
    let version = values.first().cloned().flatten();
    let is_guess = branch.is_some() || found.active == guess;
    let read = BranchRead::of(values, window, asked).filter(|_| is_guess);
    if read.is_none() && branch_read::reads(window) {
        shared.blocks.learn(chat, BlockRange::NONE);
    }
    let fragments = async {
        if let Some(version) = version
            && let Some(fragments) = fragments::of_list(shared, chat, &version, list).await?
        {
            return Ok(fragments);
        }
        fragments::list(shared, chat).await
    };
    let chain = async {
        if is_guess {
            match other {
                Some(chain) => chain,
                None => chain(shared, chat, read, &guess, window).await,
            }
        } else {
            let end = ChainEnd::Branch(found.active.clone());
            read::chain(shared, chat, &end, window).await
        }
    };
    let (chain, fragments) = join(chain, fragments).await;
    let chain = chain?;
    Ok(Some(OpenedChat::new(found, fragments?, chain)))
}

/// Returns the window of a branch of which some fields were read.
async fn chain(
    shared: &Shared,
    chat: &ChatRef,
    read: Option<BranchRead>,
    branch: &BranchName,
    window: &Window,
) -> Result<Chain> {
    if let Some(read) = read
        && let Some(chain) = read.chain(shared, chat).await?
    {
        return Ok(chain);
    }
    read::by_script(shared, chat, &ChainEnd::Branch(branch.clone()), window).await
}
