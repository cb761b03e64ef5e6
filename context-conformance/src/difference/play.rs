//! One random sequence, played to all stores.

use std::ops::Range;

use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{
    BlobPrune, ChainEnd, ChatPatch, ChatQuery, NewBlob, SearchScope, TitleChange, Window,
};
use context_core::{CancelSignal, ChatRef, Metadata};

use super::memories::Memories;
use super::moves::{BlobMove, CHATS, Move, ReadMove};
use super::rounds::Rounds;
use super::store_set::{CallResult, StoreSet};
use super::streams::Streams;
use super::timestamp::earlier;
use crate::blob_fixture::noise;
use crate::chat_fixture::ChatFixture;
use crate::environment::FixedClock;
use crate::expect::{ensure, same};
use crate::script::{BIRTH, Script};
use crate::step::Step;
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

/// The chats of a sequence, and the generators of their next moves.
pub(super) struct Playback<'a> {
    stores: &'a StoreSet,
    scripts: Vec<Script>,
    streams: Streams,
    rounds: Rounds,
    memories: Memories,
    clock: FixedClock,
}

impl<'a> Playback<'a> {
    /// Creates chats for new users. `n` makes their names unique.
    pub(super) async fn begin(stores: &'a StoreSet, n: u64) -> Check<Self> {
        let users = ["ada", "ada", "bob"];
        let chat =
            |i: usize| ChatRef::new(format!("{}-{n}", users[i % users.len()]), format!("chat-{i}"));
        let scripts: Vec<_> = (0..CHATS).map(|i| Script::new(chat(i), false)).collect();
        let play = Self {
            stores,
            scripts,
            streams: Streams::default(),
            rounds: Rounds::default(),
            memories: Memories::default(),
            clock: FixedClock::at(BIRTH + 1_000_000),
        };
        for i in 0..CHATS {
            let birth = async |fixture: ChatFixture| {
                Ok(fixture.history().create_chat(Script::birth(fixture.chat.clone())).await.into())
            };
            play.ask(i, "creating the chat", birth).await?;
        }
        Ok(play)
    }

    pub(super) async fn play(&mut self, moves: &[(usize, Move)]) -> Check {
        for (i, (chat, action)) in moves.iter().enumerate() {
            let did = format!("move {i}, chat {chat}, {action:?}");
            match action {
                Move::Live(step) => self.live(*chat, &did, step).await?,
                Move::Update { n } => self.update(*chat, &did, *n).await?,
                Move::Read(look) => self.look(*chat, &did, look).await?,
                Move::Blob(blob) => self.blob(*chat, &did, blob).await?,
                Move::Stream { stream, action } => {
                    let at = self.clock.tick();
                    self.streams
                        .play(self.stores, &self.chat(*chat), &did, *stream, action, at)
                        .await?;
                }
                Move::Memory(action) => {
                    self.memories.play(self.stores, &self.chat(*chat), &did, action).await?;
                }
                Move::Round(action) => {
                    self.rounds.play(self.stores, &self.chat(*chat), &did, action).await?;
                }
            }
        }
        self.erase().await
    }

    fn chat(&self, chat: usize) -> ChatRef {
        self.scripts[chat].model.chat.chat.clone()
    }

    async fn ask<T: PartialEq + std::fmt::Debug>(
        &self,
        chat: usize,
        did: &str,
        ask: impl AsyncFn(ChatFixture) -> Check<CallResult<T>>,
    ) -> Check<Option<T>> {
        let chat = self.chat(chat);
        self.stores.compare(chat.user.as_str(), chat.chat.as_str(), did, ask).await
    }

    async fn live(&mut self, chat: usize, did: &str, step: &Step) -> Check {
        let Some(action) = self.scripts[chat].next(step) else { return Ok(()) };
        let _model_alone = self.scripts[chat].expect(&action);
        self.ask(chat, did, async |fixture| Ok(action.perform(&fixture).await.into())).await?;
        self.look_at_all(chat, did).await
    }

    async fn update(&mut self, chat: usize, did: &str, n: usize) -> Check {
        let at = self.clock.tick();
        let patch = ChatPatch {
            title: match n % 4 {
                0 => TitleChange::Set(format!("title {n}")),
                2 => TitleChange::Remove,
                _ => TitleChange::Keep,
            },
            remove: vec![format!("k{}", n % 3)],
            set: Metadata::default().with(format!("k{}", n % 7), n as i64),
            add: Metadata::default().with("count", 2),
        };
        let model = &mut self.scripts[chat].model.chat;
        if patch.apply(model).is_ok() {
            model.updated_at = at;
        }
        let update = async |fixture: ChatFixture| {
            Ok(fixture.history().update_chat(&fixture.chat, &patch, at).await.into())
        };
        self.ask(chat, did, update).await?;
        self.look_at_all(chat, did).await
    }

    /// Compares the complete visible state of a chat.
    async fn look_at_all(&self, chat: usize, did: &str) -> Check {
        let did = format!("the chat after {did}");
        let all =
            async |fixture: ChatFixture| Ok(CallResult::Answer(VisibleChat::of(&fixture).await?));
        self.ask(chat, &did, all).await.map(drop)
    }

    async fn look(&self, chat: usize, did: &str, look: &ReadMove) -> Check {
        match *look {
            ReadMove::Window { branch, kind, n } => {
                let branches = &self.scripts[chat].model.branches;
                let branch = &branches[branch % branches.len()];
                let (end, placed) = (ChainEnd::Branch(branch.name.clone()), branch.head.clone());
                let window = async |fixture: ChatFixture| {
                    let history = fixture.history();
                    let window = match (kind, &placed) {
                        (0, _) => Window::Last(n),
                        (1, _) => Window::Boundary,
                        (2, _) => Window::Tokens(n as u64 * 4),
                        (3, Some(head)) => {
                            let generation = history
                                .chain(&fixture.chat, &end, &Window::Last(1))
                                .await?
                                .generation();
                            Window::After { message: head.clone(), generation }
                        }
                        _ => Window::Whole,
                    };
                    Ok(history.chain(&fixture.chat, &end, &window).await.into())
                };
                self.ask(chat, did, window).await.map(drop)
            }
            ReadMove::Messages { n } => {
                let ids: Vec<_> = (n..n + 8).map(|i| format!("n{}", i % 40).into()).collect();
                let messages = async |fixture: ChatFixture| {
                    Ok(fixture.history().messages(&fixture.chat, &ids).await.into())
                };
                self.ask(chat, did, messages).await.map(drop)
            }
            ReadMove::Listing { limit } => {
                let listing = async |fixture: ChatFixture| {
                    let mut query = ChatQuery { limit, ..ChatQuery::new(&fixture.chat.user) };
                    let mut pages = Vec::new();
                    loop {
                        let page = fixture.history().list_chats(&query).await?;
                        pages.push(page.items);
                        query.after = page.next;
                        if query.after.is_none() || pages.len() > CHATS {
                            return Ok(CallResult::Answer(pages));
                        }
                    }
                };
                self.ask(chat, did, listing).await.map(drop)
            }
            ReadMove::Size => {
                // The size in bytes may differ between stores.
                let size = async |fixture: ChatFixture| {
                    Ok(fixture
                        .history()
                        .chat_size(&fixture.chat)
                        .await
                        .map(|size| size.messages)
                        .into())
                };
                self.ask(chat, did, size).await.map(drop)
            }
            ReadMove::Found { word, prefix } => {
                let words = ["words", "amended", "redacted", "something else", "this"];
                let text =
                    words.get(word).map_or_else(|| format!("n{word}"), |word| (*word).to_owned());
                let found = async |fixture: ChatFixture| {
                    if fixture.store.search().is_none() {
                        return Ok(CallResult::Unable);
                    }
                    let mut query = fixture.asks_chat(&text);
                    (query.prefix, query.scope) = (prefix, SearchScope::User);
                    // The order of hits is checked by the suite, not here.
                    let hits = fixture.hits(&query).await?;
                    let mut hits: Vec<_> =
                        hits.into_iter().map(|hit| (hit.chat, hit.message)).collect();
                    hits.sort();
                    Ok(CallResult::Answer(hits))
                };
                self.ask(chat, did, found).await.map(drop)
            }
        }
    }

    async fn blob(&self, chat: usize, did: &str, action: &BlobMove) -> Check {
        let (now, before) = (self.clock.tick(), |back: usize| earlier(self.clock.tick(), back));
        match *action {
            BlobMove::Put { blob, typed } => {
                let new = NewBlob::new(bytes(blob), now);
                let new = if typed { new.media_type(format!("text/x-{}", blob % 2)) } else { new };
                let put = async |fixture: ChatFixture| {
                    let Ok(blobs) = fixture.blobs() else { return Ok(CallResult::Unable) };
                    Ok(blobs.put_blob(&fixture.chat, new.clone()).await.into())
                };
                self.ask(chat, did, put).await?;
            }
            BlobMove::Read { blob, from, to, used } => {
                let (id, range): (_, Range<u64>) = (BlobId::of(&bytes(blob)), from..to);
                let read = async |fixture: ChatFixture| {
                    let Ok(blobs) = fixture.blobs() else { return Ok(CallResult::Unable) };
                    let at = used.then_some(now);
                    Ok(blobs.read_blob(&fixture.chat, &id, range.clone(), at).await.into())
                };
                self.ask(chat, did, read).await?;
            }
            BlobMove::Remove { blob } => {
                let id = BlobId::of(&bytes(blob));
                let remove = async |fixture: ChatFixture| {
                    let Ok(blobs) = fixture.blobs() else { return Ok(CallResult::Unable) };
                    Ok(blobs.remove_blob(&fixture.chat, &id).await.into())
                };
                self.ask(chat, did, remove).await?;
            }
            BlobMove::Prune { back, of_chat } => {
                let since = before(back);
                let prune = async |fixture: ChatFixture| {
                    let Ok(blobs) = fixture.blobs() else { return Ok(CallResult::Unable) };
                    let prune = BlobPrune::new(&fixture.chat.user, since);
                    let prune = if of_chat { prune.of_chat(&fixture.chat.chat) } else { prune };
                    Ok(blobs.prune_blobs(&prune).await.into())
                };
                self.ask(chat, did, prune).await?;
            }
        }
        for chat in 0..CHATS {
            let all = async |fixture: ChatFixture| match fixture.blobs() {
                Ok(_) => Ok(CallResult::Answer(fixture.all_blobs(2).await?)),
                Err(_) => Ok(CallResult::Unable),
            };
            self.ask(chat, &format!("the blobs of chat {chat} after {did}"), all).await?;
        }
        Ok(())
    }

    /// Erases the users at the end.
    async fn erase(&self) -> Check {
        for chat in [0, CHATS - 1] {
            let erase = async |fixture: ChatFixture| {
                let Some(maintenance) = fixture.store.maintenance() else {
                    return Ok(CallResult::Unable);
                };
                let erased =
                    maintenance.erase_user(&fixture.chat.user, &CancelSignal::never()).await?;
                same("what was left of a user that was erased", &erased.remaining, &0)?;
                // Not all stores count blobs and streams, so they are not compared.
                Ok(CallResult::Answer((erased.chats, erased.messages)))
            };
            self.ask(chat, "erasing a user", erase).await?;
            let gone = async |fixture: ChatFixture| {
                if fixture.store.maintenance().is_none() {
                    let _was_there = fixture.history().delete_chat(&fixture.chat, None).await?;
                }
                let there = fixture.history().chat(&fixture.chat).await?.is_some();
                ensure(!there, || "a chat is there after its user was erased".to_owned())?;
                Ok(CallResult::Answer(()))
            };
            self.ask(chat, "looking for a chat of an erased user", gone).await?;
        }
        Ok(())
    }
}

fn bytes(blob: usize) -> Bytes {
    noise([0, 1, 700, 70_000, 70_001][blob % 5], blob as u8)
}
