//! Many processes on one branch, none of which loses a write.

use std::collections::HashMap;
use std::time::Duration;

use context_core::store::{ChainEnd, NewChat, Window};
use context_core::{ChatRef, Result, Store, Timestamp};

use crate::backend::{Backend, CellStore};
use crate::child::{Task, Work, Worker};
use crate::error::CellError;
use crate::table::Row;
use crate::{numbers, writer};

/// The number of processes.
const WRITERS: u64 = 16;
/// The timeout for all of them: a base, and an addition per message. A writer that is still waiting
/// then is stuck.
const PATIENCE: Duration = Duration::from_secs(240);
const PER_MESSAGE: Duration = Duration::from_millis(60);

pub(crate) async fn run(backend: Backend) -> std::result::Result<Row, CellError> {
    let home = CellStore::new(backend).await?;
    let mut row =
        Row { fault: "contention".to_owned(), backend: backend.to_string(), ..Row::default() };
    let Some(place) = home.place().cloned() else { return Ok(row) };
    let (chat, all) = (ChatRef::new("ada", "chat"), numbers::contention());
    let store = home.open().await?;
    let _created =
        store.history().create_chat(NewChat::new(chat.clone(), Timestamp::from_micros(1))).await?;
    let share = |i: u64| all / WRITERS + u64::from(i < all % WRITERS);
    let mut workers = Vec::new();
    for i in 0..WRITERS {
        let work = Work::Compete { name: format!("w{i}"), messages: share(i) };
        workers.push(Worker::start(&Task { place: place.clone(), chat: chat.clone(), work })?);
    }
    workers.iter_mut().try_for_each(Worker::go)?;
    let ending = workers.into_iter().map(|worker| tokio::task::spawn_blocking(|| worker.ended()));
    let ending: Vec<_> = ending.collect();
    let patience = PATIENCE + PER_MESSAGE * u32::try_from(all).unwrap_or(u32::MAX);
    let ended = tokio::time::timeout(patience, async {
        let mut ended = Vec::new();
        for worker in ending {
            ended.push(worker.await.map_err(std::io::Error::other)??);
        }
        Ok::<_, CellError>(ended)
    });
    let ended = ended
        .await
        .map_err(|_| CellError::Story(format!("not all writers were done after {patience:?}")))??;
    for (well, said) in ended {
        if !well {
            return Err(CellError::Story(format!("a writer did not end well: {said}")));
        }
    }
    row.runs = 1;
    row.acknowledged = all;
    let fresh = home.open().await?;
    count(&*fresh, &chat, &mut row, share).await?;
    let findings = writer::check(&*fresh).await?;
    row.findings = findings.len() as u64;
    row.stories.extend(findings);
    Ok(row)
}

/// Counts each writer's messages, which must all be there, once, in the order they were written.
async fn count(
    store: &dyn Store,
    chat: &ChatRef,
    row: &mut Row,
    share: impl Fn(u64) -> u64,
) -> Result<()> {
    let chain =
        store.history().chain(chat, &ChainEnd::Branch("main".into()), &Window::Whole).await?;
    let mut next: HashMap<&str, u64> = HashMap::new();
    for node in chain.iter() {
        let known = node
            .id
            .as_str()
            .rsplit_once('-')
            .and_then(|(name, n)| Some((name, n.parse::<u64>().ok()?)));
        let Some((name, n)) = known else {
            row.duplicated += 1;
            continue;
        };
        let next = next.entry(name).or_default();
        if n == *next {
            *next += 1;
        } else {
            row.duplicated += 1;
            row.stories.push(format!("{} where {name}-{next} was next", node.id));
        }
    }
    for i in 0..WRITERS {
        let there = next.get(format!("w{i}").as_str()).copied().unwrap_or(0);
        row.lost += share(i).saturating_sub(there);
    }
    Ok(())
}
