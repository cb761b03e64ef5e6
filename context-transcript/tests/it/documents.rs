//! Chats as Markdown documents.

use std::sync::Arc;

use context_core::history::{BoundaryKind, StoredBoundary};
use context_core::message::{Media, MediaSource, NodeKind, Reasoning};
use context_core::{Chain, Message, Metadata, Node, Part, Role, Timestamp};
use context_transcript::MarkdownDocument;
use insta::assert_snapshot;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::json;

fn node(number: usize, message: Message) -> Arc<Node> {
    let at = Timestamp::from_micros(1_772_000_000_000_000 + number as i64 * 1_000_000);
    Arc::new(Node::new(format!("m{number}"), message, at))
}

fn chain(messages: impl IntoIterator<Item = Message>) -> Chain {
    Chain::from_nodes(0, messages.into_iter().enumerate().map(|(i, message)| node(i, message)))
}

fn thought(text: &str) -> Part {
    Part::Reasoning(Reasoning { text: text.into(), ..Reasoning::default() })
}

fn image(source: MediaSource) -> Part {
    Part::Image(Media {
        source,
        media_type: Some("image/png".into()),
        name: Some("a`b.png".into()),
        metadata: Metadata::default(),
    })
}

fn boundary() -> Arc<Node> {
    let stored: StoredBoundary = serde_json::from_value(json!({
        "kind": BoundaryKind::Snip.as_str(), "what": "2 turns <b>", "before": 9000, "after": 1200,
        "retained": 3, "since": 3,
        "front": [{"id": "s1", "message": {"role": "user",
            "parts": [{"type": "text", "text": "The trip so far:\n``` # x"}]}}],
    }))
    .unwrap();
    let at = Timestamp::from_micros(1_772_000_100_000_000);
    Arc::new(Node::from_encoded("b1".into(), NodeKind::Boundary, at, stored.encode()))
}

#[test]
fn a_rich_chat_is_a_document() {
    let long = (1..=200).map(|i| format!("line {i}\n")).collect::<String>();
    let mut failed = Part::tool_result("c2", "no such flight: </details>\n```\n# x");
    if let Part::ToolResult(result) = &mut failed {
        result.is_error = true;
    }
    let mut all = chain([
        Message::text(Role::System, "You book trips.\n</details><script>alert(1)</script>"),
        Message::new(
            Role::User,
            [
                Part::text("# Two tickets\nto <b>Lisbon</b>"),
                image(MediaSource::Base64("AAAA".into())),
            ],
        ),
        Message::new(
            Role::Assistant,
            [
                thought("Flights </details> first.\n~~~\n# not a heading"),
                Part::text("I look:\n\n```rust\nlet a: Vec<u8> = [];\n```\n- `HAT170`\n- ## no"),
                Part::tool_call(
                    "c1",
                    "list_flights",
                    json!({"days": [1, 2], "to": "LIS", "x": {}}),
                ),
                Part::tool_call("c2", "book`it\n# x", json!({"note": "````\n# x\u{202e}"})),
            ],
        ),
        Message::new(Role::Tool, [Part::tool_result("c1", long)]),
        Message::new(Role::Tool, [failed]),
        Message::text(Role::Assistant, "Sold out\n===\n![x](https://evil.example/p.png)\u{202e}"),
        Message::from("Then\r\ntomorrow.\n\n[1]: https://evil.example"),
        Message::new(Role::Assistant, [Part::tool_call("c3", "wait", json!({}))]),
        Message::new(Role::User, [image(MediaSource::Url("https://a.example/`b`.png".into()))]),
    ]);
    all.push(boundary());
    let document = MarkdownDocument::new("lisbon", &all)
        .title(Some("A trip <b>to</b> *Lisbon*"))
        .branch("main")
        .system_prompt("Ask first.\n```");
    assert_snapshot!(document.to_string());
    assert!(document.clone().in_full().to_string().contains("\nline 100\nline 101\n"));
    check(&all, &document.to_string());
}

/// Checks that the headings and the HTML of a document are its own.
fn check(chain: &Chain, document: &str) {
    let (mut headings, mut heading) = (0, None::<String>);
    let own = ["Turn ", "User", "Assistant", "Tool", "System", "→", "Message"];
    let own_html = ["<details>", "</details>", "<summary>"];
    for event in Parser::new_ext(document, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let text = heading.take().unwrap();
                let first = headings == 0;
                assert!(
                    first || own.iter().any(|own| text.starts_with(own)),
                    "{text:?}\n{document}"
                );
                headings += 1;
            }
            Event::Html(html) => {
                let line = html.trim();
                assert!(own_html.iter().any(|own| line.starts_with(own)), "{html:?}\n{document}");
            }
            Event::InlineHtml(html) => panic!("{html:?}\n{document}"),
            Event::Start(Tag::Image { .. } | Tag::MetadataBlock(_)) => panic!("{document}"),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    let turns = chain.iter().filter(|node| node.is_turn()).count();
    let calls = chain
        .iter()
        .filter(|node| node.role().is_some())
        .map(|node| node.message().unwrap().tool_calls().count());
    let expected = document.lines().filter(|line| line.starts_with('#')).count();
    assert!(headings >= 1 + turns + calls.sum::<usize>(), "{document}");
    assert!(headings <= expected, "{document}");
    // Folded content opens and closes in turn.
    let opened = document.matches("\n<details>\n").count();
    assert!(document.matches("\n</details>\n").count() >= opened);
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "#",
        "# a",
        "## b",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "```",
        "````",
        "~~~",
        "`",
        "<b>",
        "</details>",
        "<!--",
        "<script>",
        "<![CDATA[",
        "<?x",
        "\\",
        "> ",
        "- ",
        "1. ",
        "    ",
        "\t",
        "===",
        "---",
        "=",
        "-",
        "[a]: b",
        "[a",
        "]",
        "![a](b)",
        "!",
        "[",
        "<http://a.b>",
        "a",
        " ",
        "+++",
        "|",
        "\u{202e}",
        "\u{2028}",
        ":",
        "{#x}",
        "&lt;",
        "$$",
        "[^1]:",
        "* ",
        "+ ",
        "*",
        "_",
        "é",
        "a b",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn content_is_never_markup_of_the_document(
        texts in prop::collection::vec((0..6, hostile()), 0..6),
        title in hostile(),
    ) {
        let all = chain(texts.iter().map(|(kind, text)| match kind {
            0 => Message::from(text.as_str()),
            1 => Message::text(Role::Assistant, text.as_str()),
            2 => Message::new(Role::Assistant, [thought(text), Part::text(text.as_str())]),
            3 => Message::new(Role::Assistant,
                [Part::tool_call("c", text.as_str(), json!({"a": [text]}))]),
            4 => Message::new(Role::Tool, [Part::tool_result("c", text.as_str())]),
            _ => Message::text(Role::System, text.as_str()),
        }));
        let document = MarkdownDocument::new(&title, &all).title(Some(&title)).branch(&title)
            .system_prompt(&title).to_string();
        check(&all, &document);
    }
}
