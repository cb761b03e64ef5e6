//! Shadows: the chats of another store that represent those of the history.

use context_core::base::limits;
use context_core::store::{Chat, ChatQuery, CheckReport, Finding, NewChat, PageWalk};
use context_core::{ChatId, ChatRef, Error, ErrorKind, Metadata, Result, Store, Timestamp, UserId};

/// The user whose chats name the users who have shadows.
const REGISTER: &str = "context.split";
/// The metadata key under which a shadow names its chat.
const SHADOWED: &str = "chat";

/// Returns the shadow of a chat in its present life.
pub(super) fn of(chat: &Chat) -> ChatRef {
    let (id, born) = (chat.chat.chat.as_str(), chat.created_at.as_micros());
    let plain = format!("{id}@{born}");
    // Ids that begin with `#` are hashed, so no plain name is equal to a hashed one.
    let name = if plain.len() <= limits::MAX_ID_BYTES && !id.starts_with('#') {
        plain
    } else {
        format!("#{}@{born}", context_core::base::BlobId::of(id.as_bytes()))
    };
    ChatRef::new(chat.chat.user.clone(), name)
}

/// Whether a user of the other store is the register.
pub(super) fn is_register(user: &UserId) -> bool {
    user.as_str() == REGISTER
}

fn entry(user: &UserId) -> ChatRef {
    ChatRef::new(REGISTER, user.as_str())
}

/// Creates the shadow of a chat, after noting in the register that the user has shadows.
pub(super) async fn make(other: &dyn Store, chat: &Chat, at: Timestamp) -> Result<()> {
    let _noted = other.history().create_chat(NewChat::new(entry(&chat.chat.user), at)).await?;
    let mut new = NewChat::new(of(chat), at);
    new.metadata = Metadata::default().with(SHADOWED, chat.chat.chat.as_str());
    let _made = other.history().create_chat(new).await?;
    Ok(())
}

/// Deletes the shadows of a chat, except for that of the chat that exists now.
pub(super) async fn sweep(other: &dyn Store, chat: &ChatRef, now: Option<&Chat>) -> Result<()> {
    let keep = now.map(of);
    let mut query = ChatQuery::new(chat.user.clone());
    query.metadata = vec![(SHADOWED.to_owned(), chat.chat.as_str().into())];
    let mut walk = PageWalk::new("list_chats", "chat");
    loop {
        let page = other.history().list_chats(&query).await?;
        let next = walk.next(&page)?;
        for shadow in page.items {
            if Some(&shadow.chat.chat) != keep.as_ref() {
                other.history().delete_chat(&shadow.chat.chat, None).await?;
            }
        }
        match next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Removes a user from the register. Returns whether the user was in it.
pub(super) async fn forget(other: &dyn Store, user: &UserId) -> Result<bool> {
    other.history().delete_chat(&entry(user), None).await
}

/// Whether a user is in the register.
pub(super) async fn is_noted(other: &dyn Store, user: &UserId) -> Result<bool> {
    Ok(other.history().chat(&entry(user)).await?.is_some())
}

/// Reports shadows of chats that do not exist.
pub(super) async fn find_orphans(
    main: &dyn Store,
    other: &dyn Store,
    cancel: &context_core::CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    let mut users = ChatQuery::new(REGISTER);
    let mut walk = PageWalk::new("list_chats", "chat");
    loop {
        let page = other.history().list_chats(&users).await?;
        let next = walk.next(&page)?;
        for user in &page.items {
            let user = UserId::from(user.chat.chat.chat.as_str());
            find_orphans_of(main, other, &user, cancel, report).await?;
        }
        match next {
            Some(next) => users.after = Some(next),
            None => return Ok(()),
        }
    }
}

async fn find_orphans_of(
    main: &dyn Store,
    other: &dyn Store,
    user: &UserId,
    cancel: &context_core::CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    let mut query = ChatQuery::new(user.clone());
    let mut walk = PageWalk::new("list_chats", "chat");
    loop {
        let page = other.history().list_chats(&query).await?;
        let next = walk.next(&page)?;
        for shadow in &page.items {
            cancel.check("check")?;
            let shadowed =
                shadow.chat.metadata.get(SHADOWED).and_then(|id| id.parse::<String>().ok());
            // Other chats of that store do not belong to the split store.
            let Some(id) = shadowed else { continue };
            let chat = ChatRef::new(user.clone(), ChatId::from(id));
            let there = main.history().chat(&chat).await?;
            if there.as_ref().map(of).as_ref() != Some(&shadow.chat.chat) {
                let about = format!("shadow {}", shadow.chat.chat.chat);
                report.findings.push(Finding::new(
                    Some(&chat),
                    about,
                    "its chat does not exist any more: delete it again",
                ));
            }
        }
        match next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Returns the chat, which must exist in the history.
pub(super) async fn chat(
    main: &dyn Store,
    operation: &'static str,
    chat: &ChatRef,
) -> Result<Chat> {
    limits::check_chat(operation, chat)?;
    let found = main.history().chat(chat).await?;
    found.ok_or_else(|| Error::not_found(operation, "chat", &chat.chat))
}

/// Returns an empty value if the shadow does not exist.
pub(super) fn or_none<T: Default>(result: Result<T>) -> Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
        result => result,
    }
}
