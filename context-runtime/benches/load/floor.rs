//! The floors: the same turns with the bare driver.

mod postgres;
mod redis;
mod sqlite;

use std::sync::Arc;

use crate::options::Store;
use crate::place::Place;
use crate::run::Side;

/// Returns the ids of a turn's messages, which no other turn has.
fn ids() -> [String; 2] {
    [(); 2].map(|()| uuid::Uuid::now_v7().to_string())
}

/// The roles of a turn's messages.
const ROLES: [&str; 2] = ["user", "assistant"];

/// Creates a floor with this many chats of this many messages. A turn reads its chat if `reads`.
pub(crate) async fn create(
    place: &Place,
    full_text: bool,
    reads: bool,
    chats: usize,
    messages: usize,
) -> Arc<dyn Side> {
    match place.store {
        Store::Sqlite => Arc::new(sqlite::Bare::create(place, full_text, reads, chats, messages)),
        Store::Postgres => {
            Arc::new(postgres::Bare::create(place, full_text, reads, chats, messages).await)
        }
        Store::Redis => Arc::new(redis::Bare::create(place, reads, chats, messages).await),
    }
}
