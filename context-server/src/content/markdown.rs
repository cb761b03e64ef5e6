//! Markdown of messages as HTML.

use std::sync::LazyLock;

use ammonia::Builder;
use maud::{Markup, PreEscaped};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use super::code;

/// A text longer than this is shown as it was written.
const LONGEST: usize = 256 * 1024;

/// The markup that is let through. The renderer writes no other; this is a second wall.
static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = Builder::default();
    cleaner
        .rm_tags(["img", "area", "map"])
        .add_generic_attributes(["class"])
        .add_tag_attributes("pre", ["tabindex"])
        .url_schemes(["http", "https", "mailto"].into())
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"))
        .set_tag_attribute_value("a", "target", "_blank")
        // A wide table scrolls within itself, so the keyboard has to reach it.
        .set_tag_attribute_value("table", "tabindex", "0");
    cleaner
});

/// Returns a text with its Markdown as HTML. HTML within the text is shown as text, code is
/// coloured, images are named and not loaded, and single line breaks stay.
pub(crate) fn markdown(text: &str) -> Markup {
    if text.len() > LONGEST {
        return super::long::plain(text);
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut events = Vec::new();
    let mut fence: Option<(String, String)> = None;
    let mut image: Option<String> = None;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                fence = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, code)) = fence.take() {
                    let block = code::block(&code, &language).into_string();
                    events.push(Event::Html(CowStr::from(block)));
                }
            }
            Event::Text(text) if fence.is_some() => {
                if let Some((_, code)) = &mut fence {
                    code.push_str(&text);
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => image = Some(dest_url.into_string()),
            Event::End(TagEnd::Image) => {
                let url = image.take().unwrap_or_default();
                let shown = if url.starts_with("data:") { "inline data" } else { url.as_str() };
                events.push(Event::Text(CowStr::from(format!(" [image: {shown}]"))));
            }
            // An address that names a program is text.
            Event::Start(Tag::Link { link_type: LinkType::Email | LinkType::Autolink, .. })
            | Event::Start(Tag::Link { .. })
            | Event::End(TagEnd::Link) => events.push(event),
            Event::Html(text) | Event::InlineHtml(text) => events.push(Event::Text(text)),
            // A box of a form would need a label.
            Event::TaskListMarker(done) => {
                events.push(Event::Text(CowStr::Borrowed(if done { "☑ " } else { "☐ " })));
            }
            Event::SoftBreak => events.push(Event::HardBreak),
            event => events.push(event),
        }
    }
    let mut written = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut written, events.into_iter());
    PreEscaped(CLEANER.clean(&written).to_string())
}
