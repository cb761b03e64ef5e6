//! `copy` from store to store: chat by chat, each verified against the original, so that the copy
//! can be interrupted and repeated.

use std::sync::Arc;

use context_runtime::transfer::{self, ChatDigest, LeftBehind, MigrateChat, Migrated, WrittenChat};
use context_runtime::{
    CancelSignal, ChatRef, Diagnostic, Error, ErrorKind, Store, UserId, store::OpenMode,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::Args;
use super::copy_progress::CopyProgress;
use crate::app::{App, Outcome};
use crate::commands::{all_chats_of, existing_chat};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count};

/// JSON record of `copy FROM TO` between stores: the outcome for one chat.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MigratedRecord<'a> {
    v: u32,
    user: &'a str,
    chat: &'a str,
    /// `copied`, `would_copy` with `--dry-run`, `unchanged` if the chat was already there,
    /// `different` if another chat of this name was there, `unfinished` if the chat is incomplete
    /// in the source store.
    status: &'static str,
    /// The number of messages copied, or in the chat if it was not copied.
    messages: u64,
    /// The number of branches copied, or in the chat if it was not copied.
    branches: u64,
    /// The number of blobs sent, if the chat was copied.
    blobs: Option<u64>,
    /// A hash of everything that was sent, if the chat was copied.
    digest: Option<String>,
    /// Whether the copy was read back and equals the original.
    verified: bool,
    /// The first difference, for `different`.
    part: Option<&'a str>,
    /// Inconsistencies, and how they were resolved.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

/// A chat to copy.
struct PendingCopy {
    chat: ChatRef,
    /// The display name, with the user if there are several.
    name: String,
    messages: u64,
    branches: u64,
}

/// The totals so far.
#[derive(Default)]
struct Totals {
    copied: usize,
    messages: u64,
    blobs: u64,
    missing: usize,
    unchanged: usize,
    /// The number of chats that were left unchanged and should be inspected.
    odd: usize,
}

pub(super) async fn run(args: &Args, app: &mut App) -> Result<Outcome, Failure> {
    let from = app.open(&args.from, OpenMode::Read).await?;
    let interrupt = app.interrupt();
    let progress = Progress::new(&app.out, "listing chats");
    let users = match args.all_users {
        true => users_of(&*from).await?,
        false => app.users().collect(),
    };
    let pending = pending(args, &users, &*from).await?;
    let mut left = LeftBehind::default();
    match args.chat.is_empty() {
        true => {
            for user in &users {
                left = left.and(LeftBehind::of_user(&*from, user).await?);
            }
        }
        false => {
            for next in &pending {
                left = left.and(LeftBehind::of_chat(&*from, &next.chat).await?);
            }
        }
    }
    args.may_stay.check(app, &left)?;
    let to = match args.dry_run {
        false => app.open(&args.to, OpenMode::Create).await?,
        // The target does not exist, and a dry run does not create it.
        true => match app.open(&args.to, OpenMode::Read).await {
            Err(failure) if failure.is_not_found() => app.open("mem:", OpenMode::Create).await?,
            opened => opened?,
        },
    };
    app.out.outlive_reader();
    let mut totals = Totals::default();
    let done = all(args, app, (&from, &to), &pending, &mut totals, (&progress, &interrupt)).await;
    // Chats that were copied before a failure are reported.
    totals.print(args, &users, progress.done(), app)?;
    done?;
    Ok(if totals.odd == 0 { Outcome::Success } else { Outcome::Findings })
}

/// Returns all users that have chats.
async fn users_of(from: &dyn Store) -> Result<Vec<UserId>, Failure> {
    let named = |error: Error| error.with("store", from.info().name);
    let missing =
        || named(Error::new(ErrorKind::Unsupported, "users", "this store does not list its users"));
    let maintenance = from.maintenance().ok_or_else(missing)?;
    Ok(super::super::all_users(maintenance).await.map_err(named)?)
}

/// Returns the chats to copy, most recent activity first.
async fn pending(
    args: &Args,
    users: &[UserId],
    from: &dyn Store,
) -> Result<Vec<PendingCopy>, Failure> {
    let mut pending = Vec::new();
    let shown = |chat: &ChatRef| {
        let name = if users.len() > 1 {
            format!("{}/{}", chat.user, chat.chat)
        } else {
            chat.chat.to_string()
        };
        clean(&name).into_owned()
    };
    for user in users {
        if args.chat.is_empty() {
            let all = all_chats_of(user, from.history()).await?;
            pending.extend(all.into_iter().map(|summary| PendingCopy {
                name: shown(&summary.chat.chat),
                chat: summary.chat.chat,
                messages: summary.messages,
                branches: summary.branches,
            }));
        }
        for name in &args.chat {
            let chat = ChatRef::new(user.clone(), name.as_str());
            existing_chat(from.history(), &chat).await?;
            let branches = from.history().branches(&chat).await?.len() as u64;
            let messages = from.history().chat_size(&chat).await?.messages;
            pending.push(PendingCopy { name: shown(&chat), chat, messages, branches });
        }
    }
    Ok(pending)
}

async fn all(
    args: &Args,
    app: &mut App,
    (from, to): (&Arc<dyn Store>, &Arc<dyn Store>),
    pending: &[PendingCopy],
    totals: &mut Totals,
    (progress, interrupt): (&Progress, &CancelSignal),
) -> Result<(), Failure> {
    let mut options = MigrateChat::default();
    if args.no_verify {
        options = options.without_verifying();
    }
    if args.dry_run {
        options = options.dry_run();
    }
    progress.phase(if args.dry_run { "comparing" } else { "copying" });
    let all = pending.iter().map(|chat| chat.messages).sum();
    let mut copied = CopyProgress::new(progress, all, !args.no_verify);
    for (at, next) in pending.iter().enumerate() {
        progress.items("chat", at, pending.len());
        copied.chat(next.messages);
        // Checked only between two chats: a partly sent chat would have to be sent again.
        interrupt.check("copy")?;
        let mut reach = |phase, messages| copied.reach(phase, messages);
        let migrated =
            transfer::migrate_chat(&**from, &next.chat, &**to, &next.chat, &options, &mut reach)
                .await;
        match migrated {
            Ok(migrated) => report(args, app, next, &migrated, totals)?,
            // The chat was deleted after it was listed.
            Err(error)
                if error.is_not_found() && from.history().chat(&next.chat).await?.is_none() => {}
            Err(error) => return Err(about(error, &next.chat).into()),
        }
    }
    Ok(())
}

/// Adds the chat to an error.
fn about(error: Error, chat: &ChatRef) -> Error {
    let named = error.get("chat").is_some() || error.kind() == ErrorKind::Cancelled;
    if named { error } else { error.with("chat", &chat.chat) }
}

fn report(
    args: &Args,
    app: &mut App,
    chat: &PendingCopy,
    migrated: &Migrated,
    totals: &mut Totals,
) -> Result<(), Failure> {
    let copied = match migrated {
        Migrated::Copied(sent, written) => Some((&**sent, written)),
        _ => None,
    };
    let (status, part) = totals.count(copied, migrated);
    if app.out.is_json() {
        return app.out.record(&MigratedRecord {
            v: 1,
            user: chat.chat.user.as_str(),
            chat: chat.chat.chat.as_str(),
            status,
            messages: copied.map_or(chat.messages, |(_, written)| written.messages),
            branches: copied.map_or(chat.branches, |(_, written)| written.branches),
            blobs: copied.map(|(sent, _)| sent.blobs.count),
            digest: copied.map(|(sent, _)| sent.to_string()),
            verified: copied.is_some() && !args.no_verify,
            part,
            diagnostics: copied.map_or(&[], |(_, written)| &written.diagnostics),
        });
    }
    let name = &chat.name;
    match (migrated, part) {
        (Migrated::Copied(_, written), _) => app.out.diagnostics(name, &written.diagnostics),
        (Migrated::Missing, _) => {
            let size = count(usize::try_from(chat.messages).unwrap_or(usize::MAX), "message");
            app.out.line(format_args!("would copy  {name}  {size}"))?;
        }
        (Migrated::Unfinished, _) => {
            app.out.note(format_args!("{name}: incomplete in the source store; left out"));
        }
        (_, Some(part)) => {
            let part =
                if part == "chat" { "title, metadata, active branch or times" } else { part };
            let text = format_args!(
                "{name}: another chat of this name exists; its {part} differ; it was not changed"
            );
            app.out.note(text);
        }
        _ => {}
    }
    Ok(())
}

impl Totals {
    /// Counts a chat. Returns its status and the first difference.
    fn count<'a>(
        &mut self,
        copied: Option<(&ChatDigest, &WrittenChat)>,
        migrated: &Migrated,
    ) -> (&'static str, Option<&'a str>) {
        if let Some((sent, written)) = copied {
            self.copied += 1;
            self.messages += written.messages;
            self.blobs += sent.blobs.count;
        }
        match migrated {
            Migrated::Copied(..) => ("copied", None),
            Migrated::Missing => {
                self.missing += 1;
                ("would_copy", None)
            }
            Migrated::Different(part) => {
                self.odd += 1;
                ("different", Some(part))
            }
            Migrated::Unfinished => {
                self.odd += 1;
                ("unfinished", None)
            }
            _ => {
                self.unchanged += 1;
                ("unchanged", None)
            }
        }
    }

    fn print(
        &self,
        args: &Args,
        users: &[UserId],
        elapsed: Option<String>,
        app: &mut App,
    ) -> Result<(), Failure> {
        if app.out.is_json() {
            return Ok(());
        }
        let mut facts = Vec::new();
        if args.dry_run {
            facts.push(format!("{} would be copied", count(self.missing, "chat")));
        } else {
            let number = |n: u64, what| count(usize::try_from(n).unwrap_or(usize::MAX), what);
            let mut what =
                format!("{}, {}", count(self.copied, "chat"), number(self.messages, "message"));
            if self.blobs > 0 {
                what = format!("{what}, {}", number(self.blobs, "blob"));
            }
            let verified =
                if args.no_verify || self.copied == 0 { "" } else { ", read back and compared" };
            facts.push(format!("{} {what}{verified}", app.out.paint(Style::Green, "copied")));
        }
        if self.unchanged > 0 {
            facts.push(format!("{} there already", count(self.unchanged, "chat")));
        }
        if self.odd > 0 {
            facts.push(format!("{} left out", count(self.odd, "chat")));
        }
        facts.extend(elapsed);
        app.out.line(facts.join("; "))?;
        if self.copied + self.missing + self.unchanged + self.odd == 0 {
            let names: Vec<_> = users.iter().map(UserId::to_string).collect();
            app.out.note(match names.is_empty() {
                true => "no user has chats there".into(),
                false => {
                    clean(&format!("user {} has no chats there", names.join(", "))).into_owned()
                }
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use context_runtime::{
        Timestamp,
        store::{FragmentStore, HistoryStore, NewChat, StoreInfo},
    };

    use super::*;
    use crate::output::failure_text;

    /// A store with chats but without the maintenance ability.
    #[derive(Debug)]
    struct Bare(Arc<dyn Store>);

    impl Store for Bare {
        fn info(&self) -> StoreInfo {
            self.0.info()
        }

        fn history(&self) -> &dyn HistoryStore {
            self.0.history()
        }

        fn fragments(&self) -> &dyn FragmentStore {
            self.0.fragments()
        }
    }

    #[tokio::test]
    async fn users_are_listed_page_by_page_or_it_is_said_that_they_are_not() {
        let store = context_runtime::open("mem:").await.expect("a store in memory");
        for n in 0..=context_runtime::limits::MAX_PAGE {
            let chat = ChatRef::new(format!("user-{n:06}"), "c");
            let made = store.history().create_chat(NewChat::new(chat, Timestamp::default())).await;
            assert!(made.is_ok(), "{made:?}");
        }
        let users = users_of(&*store).await.expect("a store in memory lists its users");
        assert_eq!(users.len(), context_runtime::limits::MAX_PAGE + 1);
        assert!(users.is_sorted());
        let failure = users_of(&Bare(store)).await.expect_err("nobody lists them");
        insta::assert_snapshot!(failure_text(&failure), @"
        error: this store does not list its users
          store inmem
          name the users; --user may be given more than once
        ");
    }
}
