//! The uses of memories, from a poisoned memory to the answers that it reached.

use std::sync::Arc;

use context_runtime::memory::{MemoryProvider, MemoryScope, Trust, episodic};
use context_runtime::model::LanguageModel;
use context_runtime::store::MemoryList;
use context_runtime::{Message, Role, Store, open};

use super::{builder, done, simulator};

/// A page that one chat has read is recalled in another. The use of the memory names the turn by
/// its question, and the answer stands behind it.
#[tokio::test]
async fn a_poisoned_memory_leads_to_the_answers_that_it_reached() {
    let store: Arc<dyn Store> = open("mem:").await.unwrap();
    let memory = Arc::new(episodic(&store).unwrap());
    let model: Arc<dyn LanguageModel> = Arc::new(simulator(done));
    let agents = builder(&store).client(model).memory(Arc::clone(&memory)).build().unwrap();
    let page = Message::text(Role::User, "The printer password is 4711, says the page.");
    let mut first = agents.chat("ada", "first").await.unwrap();
    first.ask(page.with_trust(Trust::Foreign)).await.unwrap();
    agents.runtime().flush().await.unwrap();
    let mut second = agents.chat("ada", "second").await.unwrap();
    second.ask("What is the printer password?").await.unwrap();

    let (ada, records) = (MemoryScope::new("ada"), store.memories().unwrap());
    let list = MemoryList::new(vec![ada.clone()], 100).kind("episode");
    let episodes = records.list_memories(&list).await.unwrap().items;
    let poisoned = episodes.iter().find(|stored| stored.record.text.contains("4711")).unwrap();
    assert_eq!(poisoned.record.trust(), Some(Trust::Foreign));
    let uses = memory.review().unwrap().uses(&ada, &poisoned.record.id).await.unwrap();
    let [seen] = uses.as_slice() else { panic!("{uses:?}") };
    assert_eq!(seen.session.as_str(), "second");
    let chain = second.engine_mut().resolve().await.unwrap().messages;
    let question = chain.iter().position(|node| node.id.as_str() == seen.turn).unwrap();
    let answer = chain.iter().nth(question + 1).unwrap();
    assert_eq!(answer.message().unwrap().plain_text(), "Done.");
}
