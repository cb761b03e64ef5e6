//! The candidates of each kind of argument. Names are at most [`MOST`], the newest first where
//! there is an order of time.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter};
use context_runtime::compaction::POLICIES;
use context_runtime::display::is_hidden;
use context_runtime::memory::MemoryScope;
use context_runtime::store::{ChainEnd, ChatQuery, HistoryStore, MemoryList, RoundQuery, Window};
use context_runtime::{ChatRef, Result, Store, limits};

use super::line::is_plain;
use super::typed::Typed;
use crate::cli::GROUPS;
use crate::config::KEYS;
use crate::text::{clean, count, node_preview, preview, role};

/// The most names that are offered.
const MOST: usize = 200;
/// The newest messages of a branch and memories of a scope that are offered.
const NEWEST: usize = 50;
/// The pages of chats that are read for the names with a prefix.
const PAGES: usize = 4;
/// The characters of a help.
const HELP: usize = 60;

/// A name, and what it stands for.
type Named = (String, String);

fn named(name: impl ToString) -> Named {
    (name.to_string(), String::new())
}

/// Whether a shell can be given this name. One with hidden characters is left out: it may be made
/// to look like another one. So is one that would be read as an option.
fn is_offered(typed: &Typed, name: &str) -> bool {
    !name.is_empty()
        && !name.contains(is_hidden)
        && (typed.is_escaped || !name.starts_with('-'))
        && (!typed.only_plain || name.chars().all(is_plain))
}

/// Returns the candidates that continue the word at the cursor.
fn candidates(
    typed: &Typed,
    current: &OsStr,
    names: impl IntoIterator<Item = Named>,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let names = names.into_iter().filter(|(name, _)| name.starts_with(&*current));
    let names = names.filter(|(name, _)| is_offered(typed, name)).take(MOST);
    let candidate = |(name, help): Named| {
        let help = (!help.is_empty()).then(|| clean(&help).into_owned().into());
        CompletionCandidate::new(name).help(help)
    };
    names.map(candidate).collect()
}

/// Returns the candidates that a store holds, none if it does not answer.
fn read(
    typed: &Typed,
    current: &OsStr,
    names: impl AsyncFnOnce(&dyn Store) -> Result<Vec<Named>>,
) -> Vec<CompletionCandidate> {
    let names = typed.read(async |store| names(&*store).await);
    candidates(typed, current, names.unwrap_or_default())
}

/// Returns the candidates that the chat on the line holds.
fn read_chat(
    typed: &Typed,
    current: &OsStr,
    names: impl AsyncFnOnce(&dyn Store, &ChatRef) -> Result<Vec<Named>>,
) -> Vec<CompletionCandidate> {
    let Some(chat) = &typed.chat else { return Vec::new() };
    read(typed, current, async |store| names(store, chat).await)
}

/// Returns the chats, those written to last first. No store lists chats by prefix, so of very many
/// chats only the newest pages are looked at.
pub(super) fn chats(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    let prefix = current.to_string_lossy();
    read(typed, current, async |store| {
        let limit = if prefix.is_empty() { MOST } else { limits::MAX_PAGE };
        let mut query = ChatQuery { limit, ..ChatQuery::new(typed.user.clone()) };
        let mut names: Vec<Named> = Vec::new();
        for _ in 0..PAGES {
            let page = store.history().list_chats(&query).await?;
            for chat in page.items {
                let name = chat.chat.chat.chat.to_string();
                if name.starts_with(&*prefix) {
                    let messages =
                        count(usize::try_from(chat.messages).unwrap_or(usize::MAX), "message");
                    let title = chat.chat.title.map(|title| preview(&title, HELP));
                    names.push((name, title.unwrap_or(messages)));
                }
            }
            query.after = page.next;
            if names.len() >= MOST || query.after.is_none() {
                break;
            }
        }
        Ok(names)
    })
}

pub(super) fn users(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read(typed, current, async |store| {
        let Some(maintenance) = store.maintenance() else { return Ok(Vec::new()) };
        let users = maintenance.users(limits::MAX_PAGE, None).await?;
        Ok(users.items.iter().map(named).collect())
    })
}

pub(super) fn branches(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read_chat(typed, current, async |store, chat| {
        let branches = store.history().branches(chat).await?;
        let help = |active| if active { "the active one" } else { "" };
        let branches = branches.into_iter();
        Ok(branches.map(|one| (one.name.to_string(), help(one.active).to_owned())).collect())
    })
}

pub(super) fn checkpoints(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read_chat(typed, current, async |store, chat| {
        let checkpoints = store.history().checkpoints(chat).await?.into_iter();
        Ok(checkpoints.map(|one| (one.name.to_string(), format!("at {}", one.message))).collect())
    })
}

/// Returns the newest messages of the branch on the line, or of the active one, newest first.
pub(super) fn messages(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read_chat(typed, current, async |store, chat| {
        let history = store.history();
        let Some(end) = end(typed, history, chat).await? else { return Ok(Vec::new()) };
        let chain = history.chain(chat, &end, &Window::Last(NEWEST)).await?;
        let help = |node| format!("{}: {}", role(node), preview(&node_preview(node), HELP));
        Ok(chain.iter().rev().map(|node| (node.id.to_string(), help(node))).collect())
    })
}

async fn end(
    typed: &Typed,
    history: &dyn HistoryStore,
    chat: &ChatRef,
) -> Result<Option<ChainEnd>> {
    let branch = match &typed.branch {
        Some(branch) => Some(branch.as_str().into()),
        None => history.chat(chat).await?.map(|chat| chat.active),
    };
    Ok(branch.map(ChainEnd::Branch))
}

pub(super) fn streams(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read_chat(typed, current, async |store, chat| {
        let Some(streams) = store.streams() else { return Ok(Vec::new()) };
        let page = streams.streams(chat, MOST, None).await?;
        Ok(page.items.iter().map(|stream| named(&stream.id)).collect())
    })
}

pub(super) fn blobs(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read_chat(typed, current, async |store, chat| {
        let Some(blobs) = store.blobs() else { return Ok(Vec::new()) };
        let page = blobs.blobs(chat, MOST, None).await?;
        Ok(page.items.iter().map(|blob| named(blob.id)).collect())
    })
}

/// Returns the sessions with recorded rounds.
pub(super) fn sessions(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read(typed, current, async |store| {
        let Some(rounds) = store.trajectories() else { return Ok(Vec::new()) };
        let query = RoundQuery::of_user(typed.user.clone()).limit(limits::MAX_PAGE);
        let page = rounds.rounds(&query).await?;
        let names: BTreeSet<_> =
            page.items.iter().map(|head| head.round.agent.session.to_string()).collect();
        Ok(names.into_iter().map(named).collect())
    })
}

/// Returns the newest memories that are visible from the scope on the line.
pub(super) fn memories(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    read(typed, current, async |store| {
        let Some(memories) = store.memories() else { return Ok(Vec::new()) };
        let page = memories.list_memories(&MemoryList::new(typed.scope.visible(), NEWEST)).await?;
        let records = page.items.into_iter().map(|stored| stored.record);
        Ok(records.map(|record| (record.id.to_string(), preview(&record.text, HELP))).collect())
    })
}

/// Returns the different names that a part of the scopes of memories has.
fn scopes(
    typed: &Typed,
    current: &OsStr,
    part: fn(MemoryScope) -> Option<String>,
) -> Vec<CompletionCandidate> {
    read(typed, current, async |store| {
        let Some(memories) = store.memories() else { return Ok(Vec::new()) };
        let page = memories.memory_stats(&typed.user, MOST, None).await?;
        let names: BTreeSet<_> =
            page.items.into_iter().filter_map(|stats| part(stats.scope)).collect();
        Ok(names.into_iter().map(named).collect())
    })
}

pub(super) fn projects(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    scopes(typed, current, |scope| scope.project)
}

pub(super) fn agents(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    scopes(typed, current, |scope| scope.agent)
}

pub(super) fn memory_sessions(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    scopes(typed, current, |scope| scope.session.map(|session| session.to_string()))
}

pub(super) fn models(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, current, typed.settings.models.models().map(|model| named(model.name())))
}

/// Returns the keys of the configuration.
pub(super) fn settings(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    let keys = KEYS.iter().map(|(key, about)| ((*key).to_owned(), (*about).to_owned()));
    candidates(typed, current, keys)
}

pub(super) fn commands(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    candidates(typed, current, names.filter(|name| **name != "help").map(named))
}

pub(super) fn policies(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, current, POLICIES.iter().map(named))
}

/// Returns files, and the beginnings of the URLs that can be opened.
pub(super) fn stores(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    const FILE: &str = "sqlite:";
    if let Some(path) = current.to_str().and_then(|current| current.strip_prefix(FILE)) {
        let files = files(typed, path.as_ref()).into_iter();
        return files.map(|candidate| candidate.add_prefix(FILE)).collect();
    }
    let beginning = |scheme: &str| match scheme {
        "mem" | "sqlite" => format!("{scheme}:"),
        scheme => format!("{scheme}://"),
    };
    let schemes = typed.stores.schemes().map(|scheme| named(beginning(scheme)));
    both(candidates(typed, current, schemes), files(typed, current))
}

/// Returns the files whose path continues the word.
fn files(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    let files = ArgValueCompleter::new(PathCompleter::any()).complete(current);
    let is_offered = |file: &CompletionCandidate| {
        file.get_value().to_str().is_some_and(|name| is_offered(typed, name))
    };
    files.into_iter().filter(is_offered).take(MOST).collect()
}

fn both(
    mut one: Vec<CompletionCandidate>,
    other: Vec<CompletionCandidate>,
) -> Vec<CompletionCandidate> {
    one.extend(other);
    one
}

pub(super) fn chats_and_files(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    both(chats(typed, current), files(typed, current))
}

pub(super) fn chats_and_stores(typed: &Typed, current: &OsStr) -> Vec<CompletionCandidate> {
    both(chats(typed, current), stores(typed, current))
}
