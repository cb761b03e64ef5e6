//! Cases about errors: they are actionable and contain neither content nor secrets.

use context_core::store::{ChatPatch, Commit, NewChat};
use context_core::{ErrorKind, Metadata, Retry};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, says, stored};
use crate::expect::{ensure, refused, same};
use crate::verdict::Check;

cases!("hygiene": errors_say_what_was_tried, debug_shows_no_content, works_on_after_errors);

const SECRET: &str = "hunter2-do-not-show";

async fn errors_say_what_was_tried(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let absent = fixture.other("ada", "absent");
    let history = fixture.history();
    let errors = [
        (
            "branches",
            refused("branches", history.branches(&absent.chat).await, ErrorKind::NotFound)?,
        ),
        (
            "commit",
            refused("commit", history.commit(absent.extend("", ["a"])).await, ErrorKind::NotFound)?,
        ),
        (
            "set_checkpoint",
            refused(
                "set_checkpoint",
                history
                    .set_checkpoint(&fixture.chat, &"c".into(), &"ghost".into(), fixture.at())
                    .await,
                ErrorKind::NotFound,
            )?,
        ),
        (
            "rename_branch",
            refused(
                "rename_branch",
                history
                    .rename_branch(&fixture.chat, &"ghost".into(), &"x".into(), fixture.at())
                    .await,
                ErrorKind::NotFound,
            )?,
        ),
        (
            "delete_branch",
            refused(
                "delete_branch",
                history.delete_branch(&fixture.chat, &"main".into(), None, fixture.at()).await,
                ErrorKind::Invalid,
            )?,
        ),
        (
            "chat_size",
            refused("chat_size", history.chat_size(&absent.chat).await, ErrorKind::NotFound)?,
        ),
        ("create_chat", {
            let new = NewChat::new(fixture.other("", "c").chat, fixture.at());
            refused("create_chat", history.create_chat(new).await, ErrorKind::Invalid)?
        }),
    ];
    for (operation, error) in errors {
        same("the operation an error names", &error.operation(), &operation)?;
        same(format!("whether to retry {operation}"), &error.retry(), &Retry::Never)?;
        let message = error.message();
        let proper = !message.is_empty()
            && !message.ends_with('.')
            && !message.starts_with(char::is_uppercase);
        ensure(proper, || {
            format!(
                "the message of {operation}: expected lowercase without a full stop, saw {message:?}"
            )
        })?;
        ensure(error.context().next().is_some(), || {
            format!("an error of {operation}: expected it to name the thing, saw {error}")
        })?;
    }
    Ok(())
}

async fn debug_shows_no_content(case: &CaseContext) -> Check {
    let fixture = ChatFixture::new(case.open("debug").await?, "ada", "chat");
    let metadata = Metadata::default().with("token", SECRET);
    let new = NewChat {
        title: Some(SECRET.into()),
        metadata: metadata.clone(),
        ..NewChat::new(fixture.chat.clone(), fixture.at())
    };
    let _ = fixture.history().create_chat(new).await?;
    let mut commit = Commit { nodes: vec![says("a", SECRET)], ..fixture.extend("", []) };
    commit.fragments = vec![stored("f", SECRET)];
    commit.key = Some("k".into());
    fixture.applied(commit.clone()).await?;
    let mut texts =
        vec![("Debug of the store", format!("{:?} {:#?}", fixture.store, fixture.store))];
    let mut too_long = commit.clone();
    too_long.nodes = vec![says(&"x".repeat(600), SECRET)];
    too_long.patch = Some(ChatPatch { set: metadata, ..ChatPatch::default() });
    if let Some(search) = fixture.store.search() {
        let query = fixture.asks(&format!("{SECRET} ").repeat(1000));
        let error = refused("a long search", search.search(&query).await, ErrorKind::Invalid)?;
        texts.push(("a refused search", format!("{error} {error:?}")));
    }
    let mut same_key = commit;
    same_key.nodes = vec![says("b", SECRET)];
    for (label, commit) in [("a refused id", too_long), ("a used key", same_key)] {
        let error = refused(label, fixture.history().commit(commit).await, ErrorKind::Invalid)?;
        texts.push((label, format!("{error} {error:?}")));
    }
    for (label, text) in texts {
        ensure(!text.contains(SECRET), || format!("{label} shows content: {text}"))?;
    }
    Ok(())
}

async fn works_on_after_errors(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut head = String::new();
    for i in 0..30 {
        let ghost = fixture.history().commit(fixture.fork("side", "ghost", ["x"])).await;
        refused("a fork behind nothing", ghost, ErrorKind::NotFound)?;
        let _ = fixture.commit(fixture.extend("ghost", ["x"])).await?;
        let next = format!("m{i}");
        fixture.applied(fixture.extend(&head, [next.as_str()])).await?;
        head = next;
    }
    same(
        "the length after 30 commits between 60 refusals",
        &fixture.whole("main").await?.len(),
        &30,
    )
}
