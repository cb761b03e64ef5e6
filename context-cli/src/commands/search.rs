//! `search`: finds messages by their words, best match first.

use clap::ValueEnum;
use context_runtime::search::Terms;
use context_runtime::store::Snippet;
use context_runtime::{
    Error, ErrorKind, Role,
    store::{Cursor, SearchHit, SearchQuery, SearchScope},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::existing_chat;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::progress::Progress;
use crate::text::{clean, one_line, parse_limit, short_id, time};

/// Find messages by words, best match first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context search lisbon tickets              messages that have both words
  context search refund --chat support-7 --branch main-v2
  context search 'what is' --role user --role system
  context search lis --prefix                search as you type

A message matches if it contains all words, in any order; case and accents are ignored. Words that
are joined by punctuation (`foo:bar`) must follow each other. There are no operators.
With --json: one record per hit, then one with the cursor of the next page.")]
pub(crate) struct Args {
    /// The words
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Only in this chat
    #[arg(long, value_name = "NAME")]
    chat: Option<String>,
    /// Only on this branch of the chat, from its root to its head
    #[arg(long, value_name = "NAME", requires = "chat")]
    branch: Option<String>,
    /// Only messages of this role; may be repeated
    #[arg(long, value_enum)]
    role: Vec<Speaker>,
    /// Match words that start with the last word
    #[arg(long)]
    prefix: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = parse_limit)]
    limit: usize,
    /// Continue after the page with this cursor
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

/// The role of a message.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Speaker {
    /// The application
    System,
    /// The user
    User,
    /// The model
    Assistant,
    /// A tool
    Tool,
}

impl Speaker {
    fn role(self) -> Role {
        match self {
            Self::System => Role::System,
            Self::User => Role::User,
            Self::Assistant => Role::Assistant,
            Self::Tool => Role::Tool,
        }
    }
}

/// JSON record of `search`: hits, best first, then the end of the page.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum SearchRecord<'a> {
    /// A matching message.
    Hit {
        v: u32,
        chat: &'a str,
        message: &'a str,
        role: &'static str,
        created_at: String,
        /// The score, higher for better matches and comparable only within one search.
        score: f64,
        /// A part of the text. `marks` are the byte ranges of the words in its UTF-8 form.
        #[schemars(with = "serde_json::Value")]
        snippet: &'a Snippet,
    },
    /// The end of the page.
    Page {
        v: u32,
        /// The cursor for `--after`. Null on the last page.
        next: Option<&'a str>,
    },
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let missing = || {
        let info = store.info();
        let why = match info.encrypted {
            true => "this store is encrypted and cannot be searched",
            false => "this store keeps no index of words",
        };
        Error::new(ErrorKind::Unsupported, "search", why).with("store", info.name)
    };
    let search = store.search().ok_or_else(missing)?;
    if let Some(chat) = &args.chat {
        existing_chat(store.history(), &app.chat(chat)).await?;
    }
    let mut query = SearchQuery::new(app.user.clone(), args.text.join(" "));
    query.scope = match (args.chat, args.branch) {
        (None, _) => SearchScope::User,
        (Some(chat), None) => SearchScope::Chat(chat.into()),
        (Some(chat), Some(branch)) => SearchScope::Branch(chat.into(), branch.into()),
    };
    query.prefix = args.prefix;
    query.roles = args.role.into_iter().map(Speaker::role).collect();
    query.limit = args.limit;
    query.after = args.after.map(Cursor::new);
    let searching = Progress::new(&app.out, "searching");
    let page = search.search(&query).await?;
    drop(searching);
    let next = page.next.as_ref().map(Cursor::as_str);
    for hit in &page.items {
        write(&mut app.out, hit)?;
    }
    if app.out.is_json() {
        app.out.record(&SearchRecord::Page { v: 1, next })?;
    } else if Terms::parse(&query.text, query.prefix).phrases().is_empty() {
        app.out.note("the query has no word to search for");
    } else if page.items.is_empty() {
        app.out.note(if query.after.is_some() { "no more matches" } else { "nothing is found" });
    } else if let Some(next) = next {
        app.out.end_note(format_args!("there are more; repeat with --after {next}"))?;
    }
    Ok(Outcome::Success)
}

fn write(out: &mut Output, hit: &SearchHit) -> Result<(), Failure> {
    let (chat, message, role) = (hit.chat.chat.as_str(), &hit.message, hit.role.as_str());
    if out.is_json() {
        return out.record(&SearchRecord::Hit {
            v: 1,
            chat,
            message: message.as_str(),
            role,
            created_at: time(hit.created_at),
            score: hit.score,
            snippet: &hit.snippet,
        });
    }
    let head = format!("{}  {}", clean(chat), short_id(message));
    let head = out.paint(Style::Bold, head).to_string();
    let when = out.paint(Style::Dim, out.when(hit.created_at)).to_string();
    out.line(format_args!("{head}  {role}  {when}"))?;
    let shown = marked(out, &hit.snippet);
    out.line(format_args!("    {shown}"))
}

/// Returns a snippet on one line with its words highlighted: by colour if available, else between
/// `«` and `»`.
fn marked(out: &Output, snippet: &Snippet) -> String {
    let text = &snippet.text;
    let mut line = String::new();
    let mut from = 0;
    for mark in &snippet.marks {
        line.push_str(&one_line(&text[from..mark.start]));
        let word = one_line(&text[mark.clone()]);
        line.push_str(&match out.is_coloured() {
            true => out.paint(Style::Bold, word).to_string(),
            false => format!("«{word}»"),
        });
        from = mark.end;
    }
    line.push_str(&one_line(&text[from..]));
    let (before, after) =
        (if snippet.cut_before { "…" } else { "" }, if snippet.cut_after { "…" } else { "" });
    format!("{before}{}{after}", line.trim())
}
