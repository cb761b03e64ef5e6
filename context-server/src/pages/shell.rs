//! The frame of every page: head, bar, views of a chat.

use context_runtime::display::grouped;
use maud::{DOCTYPE, Markup, html};

use crate::links::{Links, encode};

/// The view that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    None,
    Chat,
    Sent,
    Compare,
    Branches,
    Run,
    Prompt,
}

/// The views of a chat: tab, path, name, and key.
const TABS: [(Tab, &str, &str, &str); 6] = [
    (Tab::Chat, "", "Chat", "c"),
    (Tab::Sent, "sent", "Sent", "s"),
    (Tab::Compare, "compare", "Difference", "d"),
    (Tab::Branches, "branches", "Branches", "b"),
    (Tab::Run, "run", "Run", "r"),
    (Tab::Prompt, "prompt", "Prompt", "p"),
];

/// Said where a view needs a chat.
pub(super) const NO_CHAT: &str = "This session has no stored chat.";

/// The frame of a page.
pub(crate) struct Shell<'a> {
    links: &'a Links,
    title: &'a str,
    tab: Tab,
    chat: Option<(&'a str, Option<&'a str>)>,
    session: Option<&'a str>,
    words: &'a str,
}

impl<'a> Shell<'a> {
    pub(crate) fn new(links: &'a Links, title: &'a str, tab: Tab) -> Self {
        Self { links, title, tab, chat: None, session: None, words: "" }
    }

    /// Sets the chat of the page and its branch, if it is not the active one.
    pub(crate) fn chat(mut self, chat: &'a str, branch: Option<&'a str>) -> Self {
        self.chat = Some((chat, branch));
        self
    }

    /// Sets the session whose run the page shows. Without a chat, its run is the only view.
    pub(crate) fn session(mut self, session: &'a str) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets the words in the search field.
    pub(crate) fn words(mut self, words: &'a str) -> Self {
        self.words = words;
        self
    }

    /// Returns the page.
    pub(crate) fn page(&self, body: &Markup) -> Markup {
        let links = self.links;
        html! {
            (DOCTYPE)
            html lang="en" data-root=(links.to("")) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · context" }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href=(links.to("/assets/page.css"));
                    script src=(links.to("/assets/theme.js")) {}
                    script type="module" src=(links.to("/assets/page.js")) {}
                }
                body {
                    a class="skip" href="#main" { "Skip to content" }
                    (self.bar())
                    (body)
                    div id="toast" role="status" aria-live="polite" {}
                }
            }
        }
    }

    fn bar(&self) -> Markup {
        let links = self.links;
        html! {
            header class="bar" {
                a class="home" href=(links.to("/")) title="All chats (g c)" {
                    span class="mark" aria-hidden="true" { "❯" } span { "context" }
                }
                @if self.chat.is_some() || self.session.is_some() {
                    span class="title" title=(self.title) { bdi { (self.title) } }
                    @let branch = self.chat.and_then(|(_, branch)| branch);
                    nav class="tabs" aria-label="Views of this chat" {
                        @for (tab, path, name, key) in TABS {
                            @let run = self.session.filter(|_| tab == Tab::Run);
                            @if let Some((of, branch)) = run.map(|it| (it, branch)).or(self.chat) {
                                a href={ (links.chat(of, path)) (query(branch)) }
                                    title={ (name) " (" (key) ")" }
                                    aria-current=[(tab == self.tab).then_some("page")] { (name) }
                            } @else {
                                span title=(NO_CHAT) { (name) }
                            }
                        }
                    }
                }
                @if self.chat.is_none() && self.session.is_none() {
                    a class="memories-link" href=(links.to("/memory")) title="Memory (g m)" {
                        "Memory" }
                }
                form class="find" role="search" action=(links.to("/search")) {
                    @if let Some((chat, _)) = self.chat {
                        input type="hidden" name="chat" value=(chat);
                    }
                    input type="search" name="q" value=(self.words) placeholder="Search  /"
                        aria-label="Search messages" autocomplete="off";
                }
                button type="button" class="icon" data-do="theme" title="Light or dark"
                    aria-label="Light or dark" { "◐" }
                button type="button" class="icon" data-do="help" title="Keys (?)"
                    aria-label="Keys" { "?" }
            }
        }
    }
}

/// Returns the query that names a branch.
pub(crate) fn query(branch: Option<&str>) -> String {
    branch.map(|branch| format!("?branch={}", encode(branch))).unwrap_or_default()
}

/// Returns a number of things, by the word for one of them.
pub(crate) fn counted(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(number as u64))
}

/// Returns a time for a `time` element: the whole, which scripts show as people say it.
pub(crate) fn time(at: context_runtime::Timestamp) -> Markup {
    let shown = jiff::Timestamp::from_microsecond(at.as_micros());
    html! {
        @match shown {
            Ok(shown) => {
                @let shown = shown.to_string();
                time datetime=(shown) { (shown.get(..16).unwrap_or(&shown).replace('T', " ")) }
            }
            Err(_) => time { "–" },
        }
    }
}
