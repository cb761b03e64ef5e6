//! Bare commands over one multiplexed connection: messages in a list for each chat.

use async_trait::async_trait;
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;

use super::{ROLES, ids};
use crate::bare_servers;
use crate::data;
use crate::place::Place;
use crate::run::{Side, Texts};

pub(crate) struct Bare {
    reads: bool,
    prefix: String,
    connection: MultiplexedConnection,
}

impl Bare {
    pub(crate) async fn create(place: &Place, reads: bool, chats: usize, messages: usize) -> Self {
        let bare =
            Self { reads, prefix: place.name(), connection: bare_servers::redis(&place.url).await };
        let texts: Vec<String> = (0..messages).map(data::text).collect();
        for chat in 0..chats {
            bare.insert(chat, &texts).await;
        }
        bare
    }

    fn list(&self, chat: usize) -> String {
        format!("{}:list:{chat}", self.prefix)
    }

    async fn insert(&self, chat: usize, texts: &[String]) {
        let mut head = String::new();
        let item = |(text, role): (&String, &&str)| {
            [head, _] = ids();
            format!("{head}\n{role}\n{text}")
        };
        let items: Vec<String> = texts.iter().zip(ROLES.iter().cycle()).map(item).collect();
        let mut turn = redis::pipe();
        turn.atomic().rpush(self.list(chat), items).ignore();
        turn.set(format!("{}:head:{chat}", self.prefix), head).ignore();
        turn.exec_async(&mut self.connection.clone()).await.unwrap();
    }
}

#[async_trait]
impl Side for Bare {
    async fn turn(&self, chat: usize, texts: &Texts) {
        if self.reads {
            let mut connection = self.connection.clone();
            let items: Vec<Vec<u8>> = connection.lrange(self.list(chat), 0, -1).await.unwrap();
            std::hint::black_box(items);
        }
        self.insert(chat, texts).await;
    }

    async fn search(&self, _chat: usize, _words: &str) {}

    async fn recall(&self, _chat: usize, _words: &str) {}
}
