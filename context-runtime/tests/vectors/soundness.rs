//! Invariants of a suspect case at every step, independent of the recorded behaviour.
//!
//! The rules compare the stored content before and after a step, what the case set, and what was
//! shown:
//!
//! * *history kept*: no message and no branch is lost, no parent changes, no branch loses messages,
//!   and a text only changes as a new revision;
//! * *scoped*: an engine's operation does not change other chats, and shows only what was set in
//!   its chat;
//! * *saved*: what was set is on the branch after a save;
//! * *stored as shown*: with nothing pending the prompt's messages are those of the branch, with
//!   their ids;
//! * *persisted*: a fragment saved with `persist` is in every later prompt of its chat;
//! * *branch names*: they are unique, a new one is the lowest free version, and one branch is
//!   active;
//! * *found*: a search without roles or limit finds exactly the messages of the chat whose texts
//!   have all words of the query, and shows a part of the text;
//! * *well-formed*: an independent parser reads a prompt in XML, TOML or TOON;
//! * *loaded*: every text that a loader returns is in a later prompt;
//! * *counted*: an estimate is the sum of prompt, messages and framing, each message counts, it
//!   costs its tokens times the price, and says whether it exceeds the window;
//! * *typed error*: an error is not a bug of the library, contains no driver text, and leaves the
//!   store unchanged;
//! * *streamed*: see [`streams`].

mod streams;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use context_runtime::search::Terms;
use context_runtime::{
    ChatRef, ErrorKind,
    store::{Chain, ChainEnd, Window},
};
use serde_json::Value;

use crate::judge::{BoxError, Difference};
use crate::peer::{OperationResult, World, item};
use crate::xml;

/// The stored content of a chat.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    /// Parent, text and revision of each message, by id.
    messages: BTreeMap<String, (Option<String>, String, u32)>,
    /// Ids and texts of each branch, root first, by its name. Placeholders have no text.
    branches: Vec<(String, Vec<(String, String)>)>,
    active: Vec<String>,
}

/// A message that was set and not saved.
struct Pending {
    id: Option<String>,
    lazy: bool,
    text: String,
}

/// Checks a case, step by step.
#[derive(Default)]
pub(crate) struct SoundnessCheck {
    before: BTreeMap<ChatKey, State>,
    streams: streams::Streams,
    branch: Option<String>,
    pending: HashMap<String, Vec<Pending>>,
    unsaved_fragments: HashMap<String, Vec<String>>,
    /// Texts that the loaders of an engine's fragments return.
    lazy: HashMap<String, Vec<String>>,
    persisted: HashMap<ChatKey, BTreeSet<String>>,
    texts: HashMap<ChatKey, BTreeSet<String>>,
    applied: BTreeSet<&'static str>,
}

/// A user and one of their chats.
type ChatKey = (String, String);

fn key(chat: &ChatRef) -> ChatKey {
    (chat.user.to_string(), chat.chat.to_string())
}

type Checked = Result<(), Difference>;

impl SoundnessCheck {
    /// Returns the names of the rules that were applied.
    pub(crate) fn rules(&self) -> String {
        let names: Vec<_> = self.applied.iter().copied().collect();
        format!("sound: {}", names.join(", "))
    }

    /// Reads the store before a step.
    pub(crate) async fn before(&mut self, world: &World, op: &Value) -> Result<(), BoxError> {
        self.before = snapshot(world).await?;
        self.streams = streams::snapshot(world).await?;
        let engine = op[1].as_str().unwrap_or_default();
        self.branch = world.place(engine).map(|(_, branch)| branch.to_owned());
        Ok(())
    }

    /// Judges a step.
    pub(crate) async fn after(
        &mut self,
        world: &World,
        op: &Value,
        given: &OperationResult,
    ) -> Result<Checked, BoxError> {
        let after = snapshot(world).await?;
        match streams::check(op, given, &self.streams, &streams::snapshot(world).await?) {
            Ok(rule) => self.applied.extend(rule),
            Err(difference) => return Ok(Err(difference)),
        }
        Ok(self.check(world, op, given, &after))
    }

    fn counted(&mut self, value: &Value) -> Checked {
        self.applied.insert("counted");
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let parts: Vec<_> = value["parts"].as_array().into_iter().flatten().map(number).collect();
        let total = number(&value["tokens"]);
        let cost = value["cost"].as_f64().unwrap_or_default();
        let is_sound = total == parts.iter().sum::<u64>()
            && parts.iter().take(2).all(|part| *part > 0)
            && (cost - total as f64 * 2e-6).abs() < 1e-12
            && value["exceedsContext"] == Value::Bool(total > 50);
        match is_sound {
            true => Ok(()),
            false => Err(Difference::new(
                "counted",
                "a sum of parts, its cost and whether it fits",
                value.to_string(),
            )),
        }
    }

    fn check(
        &mut self,
        world: &World,
        op: &Value,
        given: &OperationResult,
        after: &BTreeMap<ChatKey, State>,
    ) -> Checked {
        let name = op[0].as_str().unwrap_or_default();
        if name != "deleteChat" {
            self.history_kept(after)?;
        }
        self.branch_names(name, after)?;
        match given {
            OperationResult::Error(error) => self.typed_error(error, after),
            OperationResult::Missing(_) => Ok(()),
            OperationResult::Value(value) if name == "search" => self.found(op, value, after),
            OperationResult::Value(value) if name == "estimate" => self.counted(value),
            OperationResult::Value(_) if name == "parallelSave" => {
                for engine in op[1].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let Some((chat, branch)) = world.place(engine) else { continue };
                    self.saved(engine, &key(chat), branch, after)?;
                }
                Ok(())
            }
            OperationResult::Value(value) => {
                let engine = op[1].as_str().unwrap_or_default();
                let Some((chat, branch)) = world.place(engine) else { return Ok(()) };
                let chat = key(chat);
                self.others_untouched(&chat, after)?;
                match name {
                    "set" => self.note(engine, &chat, &op[2]),
                    "save" => return self.saved(engine, &chat, branch, after),
                    "resolve" => {
                        self.well_formed(op[2].as_str().unwrap_or("xml"), value)?;
                        self.loaded(engine, value)?;
                        return self.shown(engine, &chat, branch, &world.raw(value), after);
                    }
                    "rewind" | "restore" | "switch" => {
                        self.pending.remove(engine);
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }

    fn found(&mut self, op: &Value, given: &Value, after: &BTreeMap<ChatKey, State>) -> Checked {
        const RULE: &str = "found";
        self.applied.insert(RULE);
        let terms = Terms::parse(op[2].as_str().unwrap_or_default(), false);
        let states = after.iter().filter(|((_, chat), _)| Some(chat.as_str()) == op[1].as_str());
        let fits = states
            .flat_map(|(_, state)| &state.messages)
            .filter(|(_, (_, text, _))| terms.count(text).is_hit());
        let fits: BTreeMap<_, _> =
            fits.map(|(id, (_, text, _))| (id.as_str(), text.as_str())).collect();
        let hits: BTreeMap<_, _> = given
            .as_array()
            .into_iter()
            .flatten()
            .map(|hit| (hit[0].as_str().unwrap_or_default(), hit[1].as_str().unwrap_or_default()))
            .collect();
        let of_text =
            hits.iter().all(|(id, part)| fits.get(id).is_some_and(|text| text.contains(part)));
        let all = op[3].is_object() || hits.len() == fits.len();
        if of_text && all {
            Ok(())
        } else {
            Err(Difference::new(RULE, format!("{fits:?}"), format!("{hits:?}")))
        }
    }

    fn history_kept(&mut self, after: &BTreeMap<ChatKey, State>) -> Checked {
        const RULE: &str = "history kept";
        for (chat, before) in &self.before {
            self.applied.insert(RULE);
            let lost =
                |what: String| Err(Difference::new(RULE, what, format!("{:?}", after.get(chat))));
            let Some(after) = after.get(chat) else { return lost(format!("chat {chat:?}")) };
            for (id, (parent, text, revision)) in &before.messages {
                let kept =
                    after.messages.get(id).is_some_and(|(parent_now, text_now, revision_now)| {
                        parent_now == parent && (text_now == text || revision_now > revision)
                    });
                if !kept {
                    return lost(format!("message {id:?} behind {parent:?}: {text:?}"));
                }
            }
            for (name, chain) in &before.branches {
                let now =
                    after.branches.iter().find(|(other, _)| other == name).map(|(_, chain)| chain);
                let kept = now.is_some_and(|now| {
                    now.len() >= chain.len()
                        && chain.iter().zip(now).all(|(old, new)| old.0 == new.0)
                });
                if !kept {
                    return lost(format!("branch {name:?}: {chain:?}"));
                }
            }
        }
        Ok(())
    }

    fn others_untouched(&mut self, own: &ChatKey, after: &BTreeMap<ChatKey, State>) -> Checked {
        for (chat, before) in self.before.iter().filter(|(chat, _)| *chat != own) {
            self.applied.insert("scoped");
            if after.get(chat) != Some(before) {
                let ours = format!("{:?}", after.get(chat));
                return Err(Difference::new(
                    "scoped",
                    format!("{chat:?} as it was: {before:?}"),
                    ours,
                ));
            }
        }
        Ok(())
    }

    fn branch_names(&mut self, op: &str, after: &BTreeMap<ChatKey, State>) -> Checked {
        const RULE: &str = "branch names";
        for (chat, state) in after {
            self.applied.insert(RULE);
            let names: Vec<_> = state.branches.iter().map(|(name, _)| name.clone()).collect();
            let unique: BTreeSet<_> = names.iter().collect();
            if unique.len() != names.len() || state.active.len() != 1 {
                let ours = format!("{names:?}, active {:?}", state.active);
                return Err(Difference::new(RULE, "unique names, one active", ours));
            }
            let (Some(before), Some(base)) = (self.before.get(chat), &self.branch) else {
                continue;
            };
            let taken: Vec<_> = before.branches.iter().map(|(name, _)| name).collect();
            let new = names.iter().find(|name| !taken.contains(name));
            // A version of a version counts on: the version after `main-v2` is `main-v3`.
            let stem = match base.rsplit_once("-v") {
                Some((stem, end)) if end.parse::<u32>().is_ok() => stem,
                _ => base,
            };
            let lowest = (2..).map(|k| format!("{stem}-v{k}")).find(|name| !taken.contains(&name));
            if op != "createBranch" && new.is_some() && new != lowest.as_ref() {
                return Err(Difference::new(RULE, format!("{lowest:?}"), format!("{new:?}")));
            }
        }
        Ok(())
    }

    fn typed_error(
        &mut self,
        error: &context_runtime::Error,
        after: &BTreeMap<ChatKey, State>,
    ) -> Checked {
        const RULE: &str = "typed error";
        self.applied.insert(RULE);
        let text = error.to_string();
        let driver = ["constraint", "sqlite", "sql", "undefined"];
        let leaks = driver.iter().any(|word| text.to_lowercase().contains(word));
        if leaks || error.kind() == ErrorKind::Bug {
            return Err(Difference::new(RULE, "no driver's text, no fault", text));
        }
        for (chat, before) in &self.before {
            if after.get(chat) != Some(before) {
                let ours = format!("{text}, and {:?}", after.get(chat));
                return Err(Difference::new(RULE, format!("nothing written: {before:?}"), ours));
            }
        }
        Ok(())
    }

    /// Records what was set.
    fn note(&mut self, engine: &str, chat: &ChatKey, items: &Value) {
        for value in items.as_array().into_iter().flatten() {
            let Ok(item) = item(value) else { continue };
            let loaded = [&value["value"], &value["policyLazy"]];
            self.lazy
                .entry(engine.to_owned())
                .or_default()
                .extend(loaded.into_iter().flat_map(texts_in));
            if let Some(text) = item.text {
                self.texts.entry(chat.clone()).or_default().insert(text.clone());
                let id = item.fragment.id().map(ToString::to_string);
                let pending = self.pending.entry(engine.to_owned()).or_default();
                // The last is used of two with the same id, and of two lazy ones.
                pending.retain(|p| !(p.id.is_some() && p.id == id || p.lazy && item.lazy));
                pending.push(Pending { id, lazy: item.lazy, text });
            } else if item.fragment.is_persisted() && !item.fragment.is_message() {
                let names = self.unsaved_fragments.entry(engine.to_owned()).or_default();
                names.push(item.fragment.name().to_owned());
            }
        }
    }

    fn saved(
        &mut self,
        engine: &str,
        chat: &ChatKey,
        branch: &str,
        after: &BTreeMap<ChatKey, State>,
    ) -> Checked {
        self.applied.insert("saved");
        let names = self.unsaved_fragments.remove(engine).unwrap_or_default();
        self.persisted.entry(chat.clone()).or_default().extend(names);
        let chain = chain(after, chat, branch);
        for Pending { text, .. } in self.pending.remove(engine).unwrap_or_default() {
            if !chain.iter().any(|(_, stored)| *stored == text) {
                return Err(Difference::new(
                    "saved",
                    format!("{text:?} on {branch}"),
                    format!("{chain:?}"),
                ));
            }
        }
        Ok(())
    }

    fn well_formed(&mut self, format: &str, resolved: &Value) -> Checked {
        const RULE: &str = "well-formed";
        let prompt = resolved["systemPrompt"].as_str().unwrap_or_default();
        let read = match format {
            "xml" => xml::read(prompt).map(|_| ()).map_err(|error| error.to_string()),
            "toml" => prompt.parse::<toml::Table>().map(|_| ()).map_err(|error| error.to_string()),
            "toon" => toon_format::decode_default::<Value>(prompt)
                .map(|_| ())
                .map_err(|error| error.to_string()),
            _ => return Ok(()),
        };
        self.applied.insert(RULE);
        read.map_err(|error| Difference::new(RULE, error, prompt))
    }

    fn loaded(&mut self, engine: &str, resolved: &Value) -> Checked {
        const RULE: &str = "loaded";
        let prompt = resolved["systemPrompt"].as_str().unwrap_or_default();
        for text in self.lazy.get(engine).into_iter().flatten() {
            self.applied.insert(RULE);
            if !prompt.contains(text.as_str()) {
                return Err(Difference::new(RULE, text, prompt));
            }
        }
        Ok(())
    }

    fn shown(
        &mut self,
        engine: &str,
        chat: &ChatKey,
        branch: &str,
        resolved: &Value,
        after: &BTreeMap<ChatKey, State>,
    ) -> Checked {
        let messages = resolved["messages"].as_array().into_iter().flatten();
        let text = |row: &Value, column: usize| row[column].as_str().unwrap_or_default().to_owned();
        let shown: Vec<_> = messages.map(|row| (text(row, 0), text(row, 2))).collect();
        let known = self.texts.get(chat);
        self.applied.insert("scoped");
        if let Some((_, text)) =
            shown.iter().find(|(_, text)| !known.is_some_and(|k| k.contains(text)))
        {
            return Err(Difference::new("scoped", format!("only of {chat:?}: {known:?}"), text));
        }
        if self.pending.get(engine).is_none_or(Vec::is_empty) {
            self.applied.insert("stored as shown");
            let mut stored = chain(after, chat, branch).to_vec();
            stored.retain(|(_, text)| !text.is_empty());
            if after.contains_key(chat) && stored != shown {
                let (stored, shown) = (format!("{stored:?}"), format!("{shown:?}"));
                return Err(Difference::new("stored as shown", stored, shown));
            }
        }
        let prompt = resolved["systemPrompt"].as_str().unwrap_or_default();
        for name in self.persisted.get(chat).into_iter().flatten() {
            self.applied.insert("persisted");
            if !prompt.contains(&format!("<{name}>")) {
                return Err(Difference::new("persisted", format!("<{name}>"), prompt));
            }
        }
        Ok(())
    }
}

fn chain<'a>(
    states: &'a BTreeMap<ChatKey, State>,
    chat: &ChatKey,
    branch: &str,
) -> &'a [(String, String)] {
    let branches = states.get(chat).map(|state| state.branches.as_slice()).unwrap_or_default();
    branches
        .iter()
        .find(|(name, _)| name == branch)
        .map(|(_, chain)| chain.as_slice())
        .unwrap_or_default()
}

/// Returns the texts in a value.
fn texts_in(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts_in).collect(),
        Value::Object(map) => map.values().flat_map(texts_in).collect(),
        _ => Vec::new(),
    }
}

async fn snapshot(world: &World) -> Result<BTreeMap<ChatKey, State>, BoxError> {
    let (store, chats) = world.chats();
    let history = store.history();
    let mut states = BTreeMap::new();
    for chat in chats {
        if history.chat(chat).await?.is_none() {
            continue;
        }
        let mut state = State::default();
        let page = history.all_messages(chat, 1000, None).await?;
        for placed in page.items {
            let parent = placed.parent.map(|id| id.to_string());
            let text = placed.node.message()?.plain_text().into_owned();
            state.messages.insert(placed.node.id.to_string(), (parent, text, placed.node.revision));
        }
        for branch in history.branches(chat).await? {
            let end = ChainEnd::Branch(branch.name.clone());
            let chain = history.chain(chat, &end, &Window::Whole).await?;
            state.branches.push((branch.name.to_string(), texts(&chain)?));
            if branch.active {
                state.active.push(branch.name.to_string());
            }
        }
        states.insert(key(chat), state);
    }
    Ok(states)
}

fn texts(chain: &Chain) -> Result<Vec<(String, String)>, BoxError> {
    let text = |node: &context_runtime::store::Node| {
        Ok((node.id.to_string(), node.message()?.plain_text().into_owned()))
    };
    chain.iter().map(|node| text(node)).collect()
}
