//! An import and a check tell how many bytes of a file are done.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use context_runtime::CancelSignal;
use context_runtime::transfer::{ImportJsonl, check_jsonl, import_jsonl};

use super::{Step, export, import, lenient, make};
use crate::kit::store;

type Told = Arc<Mutex<Vec<u64>>>;

/// Returns a signal, and the numbers of bytes that are reported to it.
fn telling() -> (CancelSignal, Told) {
    let told = Told::default();
    let listener = Arc::clone(&told);
    let signal = CancelSignal::never().reporting(move |steps, done| {
        assert_eq!(steps, "byte");
        listener.lock().unwrap().push(done);
    });
    (signal, told)
}

#[tokio::test]
async fn an_import_tells_the_bytes_that_are_done() {
    let (from, to) = (store().await, store().await);
    for name in ["a", "b", "c"] {
        make(&*from, name, vec![Step::Extend(0, 3)]).await;
    }
    let there = import(&*to, &export(&*from, &["b"]).await, &lenient()).await.unwrap();
    assert_eq!(there.chats.len(), 1);
    let text = export(&*from, &["a", "b", "c"]).await.replacen("\"c\"", "\"c\" broken", 1);
    let length = text.len() as u64;
    for options in [lenient(), ImportJsonl { strict: false, ..ImportJsonl::new("bob") }] {
        let (signal, told) = telling();
        let mut input = Cursor::new(&text);
        let imported = import_jsonl(&*to, &mut input, &options, &signal, &mut |_| {}).await;
        assert_eq!(imported.unwrap().chats.len(), 2);
        let told = told.lock().unwrap();
        assert!(told.is_sorted(), "{told:?}");
        assert_eq!(told.last(), Some(&length));
    }
}

#[tokio::test]
async fn a_chat_counts_in_part_when_it_is_checked() {
    let (from, to) = (store().await, store().await);
    make(&*from, "c", vec![Step::Extend(0, 3)]).await;
    let text = export(&*from, &["c"]).await;
    let length = text.len() as u64;

    let (signal, told) = telling();
    check_jsonl(&mut Cursor::new(&text), &signal).unwrap();
    let checked = told.lock().unwrap().clone();
    assert!(checked.is_sorted() && checked.len() > 3, "{checked:?}");
    assert_eq!(checked.last(), Some(&length));

    let (signal, told) = telling();
    let mut at_first_write = None;
    let mut progress = |_| {
        at_first_write.get_or_insert(*told.lock().unwrap().last().unwrap());
    };
    let options = ImportJsonl { strict: true, chat: Some("d".into()), ..lenient() };
    let mut input = Cursor::new(&text);
    let imported = import_jsonl(&*to, &mut input, &options, &signal, &mut progress).await;
    assert_eq!(imported.unwrap().chats.len(), 1);
    let at_first_write = at_first_write.unwrap();
    assert!((length / 4..length / 2).contains(&at_first_write), "{at_first_write} of {length}");
    let told = told.lock().unwrap();
    assert!(told.is_sorted(), "{told:?}");
    assert_eq!(told.last(), Some(&length));
}
