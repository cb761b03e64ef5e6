//! Server-sent events are parsed the same way for chunks of any size.

use context_http::{EventParser, TooLong};
use proptest::prelude::*;

/// Returns the events of these chunks, with names.
fn read<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<(Option<String>, String)> {
    let mut parser = EventParser::new(1 << 20);
    let mut events = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut events).unwrap();
    }
    events.extend(parser.finish());
    events.into_iter().map(|event| (event.name, event.data)).collect()
}

fn whole(text: &str) -> Vec<(Option<String>, String)> {
    read([text.as_bytes()])
}

fn data(text: &str) -> Vec<String> {
    whole(text).into_iter().map(|(_, data)| data).collect()
}

/// A second implementation of the standard's rules, over the whole text at once.
fn by_the_book(text: &str) -> Vec<(Option<String>, String)> {
    let text =
        text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), Vec::new());
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();
    // The end of a stream ends its last event.
    lines.push("");
    for line in lines {
        match line.split_once(':').unwrap_or((line, "")) {
            ("", "") if line.is_empty() => {
                let name = std::mem::take(&mut name);
                if !data.is_empty() {
                    events.push((Some(name).filter(|name| !name.is_empty()), data.join("\n")));
                }
                data.clear();
            }
            ("data", value) => data.push(value.strip_prefix(' ').unwrap_or(value).to_owned()),
            ("event", value) => name = value.strip_prefix(' ').unwrap_or(value).to_owned(),
            _ => {}
        }
    }
    events
}

#[test]
fn lines_end_in_three_ways() {
    for end in ["\n", "\r", "\r\n"] {
        let text = ["event: a", "data: 1", "data: 2", "", "data:3", "", ""].join(end);
        assert_eq!(
            whole(&text),
            [(Some("a".into()), "1\n2".into()), (None, "3".into())],
            "{end:?}"
        );
    }
}

#[test]
fn comments_ids_and_unknown_fields_are_passed_over() {
    assert_eq!(
        data(": ping\nid: 7\nretry: 10\nother: x\nnocolon\ndata: a\n\n: only this\n\n"),
        ["a"]
    );
}

#[test]
fn one_space_is_taken_off_and_no_more() {
    assert_eq!(data("data:  a \n\ndata\n\ndata:\n\n"), [" a ", "", ""]);
}

#[test]
fn an_event_without_data_is_none_and_its_name_is_forgotten() {
    assert_eq!(whole("event: a\n\ndata: 1\n\n"), [(None, "1".into())]);
}

#[test]
fn a_byte_order_mark_belongs_to_nothing() {
    assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
    assert_eq!(data("data: a\n\n\u{feff}data: b\n\n"), ["a"]);
}

#[test]
fn the_end_of_a_stream_ends_an_event_but_no_line() {
    assert_eq!(data("data: a\n\ndata: b\n"), ["a", "b"]);
    assert_eq!(data("data: a\n\ndata: b\ndata: c"), ["a", "b"]);
    assert_eq!(data("data: a"), [""; 0]);
}

#[test]
fn what_is_not_utf_8_is_replaced() {
    assert_eq!(read([&b"data: a\xff\n\n"[..]]), [(None, "a\u{fffd}".into())]);
}

#[test]
fn an_event_too_long_is_refused_before_it_is_whole() {
    let long = "x".repeat(20);
    for text in [
        format!("data: {long}"),
        format!("data: 0123456789\ndata: {long}"),
        format!(": comment {long}"),
    ] {
        let mut parser = EventParser::new(24);
        let mut events = Vec::new();
        let read: Result<(), _> =
            text.as_bytes().chunks(5).try_for_each(|piece| parser.push(piece, &mut events));
        assert_eq!((read, events), (Err(TooLong::Event), vec![]), "{text}");
    }
    // There may be many small events, and those before one that is too long are returned.
    let mut events = Vec::new();
    let mut parser = EventParser::new(24);
    let many = format!("{}data: {long}", "data: 0123456789\n\n".repeat(100));
    assert_eq!(parser.push(many.as_bytes(), &mut events), Err(TooLong::Event));
    assert_eq!(events.len(), 100);
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("data: ".to_owned()),
        Just("data:".to_owned()),
        Just("event: ".to_owned()),
        Just(": ".to_owned()),
        Just("\u{feff}".to_owned()),
        "[a-zé:€ ]{0,4}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256,
        ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same_events(text in pieces(),
        cuts in prop::collection::vec(0usize..200, 0..12)) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut split = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            split.push(&bytes[from..cut]);
            from = cut;
        }
        prop_assert_eq!(read(split), whole(&text));
        prop_assert_eq!(read(bytes.chunks(1)), whole(&text));
        prop_assert_eq!(whole(&text), by_the_book(&text));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(read(bytes.chunks(3)), read([bytes.as_slice()]));
    }
}
