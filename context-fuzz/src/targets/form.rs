//! Messages in the format of another tool.

use context_trajectory::messages::{
    Cleaning, MessageRecord, clean, format_context, import_messages, to_messages,
};

/// Checks that records are the same when they are written and read again, and that cleaning is
/// idempotent.
pub(crate) fn peer_messages(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(imported) = import_messages(text) else { return false };
    for record in &imported.records {
        let again =
            MessageRecord::from_json(&record.to_json()).expect("what was written can be read");
        assert_eq!(&again, record);
    }
    let _ = to_messages(&imported.records);
    let _ = format_context(&imported.records);
    let once = clean(imported.records, Cleaning::default()).records;
    let twice = clean(once.clone(), Cleaning::default()).records;
    assert_eq!(twice, once);
    true
}

pub(crate) fn peer_messages_seeds() -> Vec<Vec<u8>> {
    super::texts([include_str!("../../seeds/peer-messages.json")])
}
