//! Cases about the versions of persisted fragments: which are kept, and the state at a point.

use context_core::base::limits::MAX_FRAGMENT_VERSIONS;
use context_core::store::{FragmentLog, FragmentLogStore, FragmentVersion, StoredFragment};
use context_core::{CancelSignal, ErrorKind, MessageId, Timestamp};
use context_simulator::Random;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, stored};
use crate::expect::{ensure, refused, same};
use crate::verdict::{Check, Stop};

cases!("fragment_log":
    changes_and_removals_are_versions if FragmentLog,
    equal_content_is_no_version if FragmentLog,
    a_commit_names_its_first_message if FragmentLog,
    state_after_each_of_many_writes if FragmentLog,
    the_newest_versions_are_kept if FragmentLog,
    cleared_versions_are_gone if FragmentLog,
    versions_go_with_their_chat if FragmentLog,
    belongs_to_a_chat_of_a_user if FragmentLog,
);

fn ability(fixture: &ChatFixture) -> Check<&dyn FragmentLogStore> {
    fixture.store.fragment_log().ok_or_else(|| Stop::Skip("no fragment log".to_owned()))
}

async fn log(fixture: &ChatFixture) -> Check<FragmentLog> {
    Ok(ability(fixture)?.fragment_log(&fixture.chat).await?)
}

async fn put(fixture: &ChatFixture, fragments: &[StoredFragment]) -> Check<Timestamp> {
    let at = fixture.at();
    fixture.fragments().put_fragments(&fixture.chat, fragments, at).await?;
    Ok(at)
}

async fn remove(fixture: &ChatFixture, id: &str) -> Check<Timestamp> {
    let at = fixture.at();
    fixture.fragments().remove_fragment(&fixture.chat, &id.into(), at).await?;
    Ok(at)
}

/// Returns the fragments of a chat at a time, if the log reaches back so far.
fn fragments_at(log: &FragmentLog, at: Timestamp) -> Option<Vec<StoredFragment>> {
    let versions = log.as_of(at, |_| false)?;
    Some(versions.into_iter().filter_map(|version| version.fragment.clone()).collect())
}

/// The parts of a version that a store does not choose itself.
type Written = (Option<StoredFragment>, Option<Timestamp>, Option<MessageId>);

fn written(version: &FragmentVersion) -> Written {
    (version.fragment.clone(), version.at, version.message.clone())
}

async fn changes_and_removals_are_versions(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    same("the log of a new chat", &log(&fixture).await?, &FragmentLog::default())?;
    let first = put(&fixture, &[stored("a", "1"), stored("", "x")]).await?;
    let second = put(&fixture, &[stored("a", "2")]).await?;
    let gone = remove(&fixture, "a").await?;
    let again = put(&fixture, &[stored("a", "2")]).await?;
    let log = log(&fixture).await?;
    let expected: Vec<Written> = vec![
        (Some(stored("a", "1")), Some(first), None),
        (Some(stored("", "x")), Some(first), None),
        (Some(stored("a", "2")), Some(second), None),
        (None, Some(gone), None),
        (Some(stored("a", "2")), Some(again), None),
    ];
    let versions: Vec<_> = log.versions().iter().map(written).collect();
    same("the log", &versions, &expected)?;
    same("the versions of a", &log.of(&"a".into()).count(), &4)?;
    let states = [
        (Timestamp::from_micros(first.as_micros() - 1), vec![]),
        (first, vec![stored("a", "1"), stored("", "x")]),
        (second, vec![stored("a", "2"), stored("", "x")]),
        (gone, vec![stored("", "x")]),
        (again, vec![stored("", "x"), stored("a", "2")]),
    ];
    states.into_iter().try_for_each(|(at, expected)| {
        same(format!("the state at {at:?}"), &fragments_at(&log, at), &Some(expected))
    })
}

async fn equal_content_is_no_version(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(&fixture, &[stored("a", "1"), stored("", "x")]).await?;
    let before = log(&fixture).await?;
    put(&fixture, &[stored("", "x"), stored("a", "1")]).await?;
    remove(&fixture, "ghost").await?;
    same("the log after writes that change nothing", &log(&fixture).await?, &before)
}

async fn a_commit_names_its_first_message(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut commit = fixture.extend("", ["m0", "m1"]);
    // The clocks of the messages are behind that of the commit.
    commit.fragments = vec![stored("a", "1")];
    fixture.applied(commit).await?;
    let mut alone = fixture.stay();
    alone.fragments = vec![stored("b", "1")];
    fixture.applied(alone).await?;
    let log = log(&fixture).await?;
    let messages: Vec<_> = log.versions().iter().map(|version| version.message.clone()).collect();
    same("the messages of the versions", &messages, &vec![id("m0"), None])?;
    let long_ago = Timestamp::from_micros(0);
    let with = log.as_of(long_ago, |message| message.as_str() == "m0").map(|found| found.len());
    same("the state of a chain that has the commit", &with, &Some(1))?;
    let without = log.as_of(long_ago, |_| false).map(|found| found.len());
    same("the state of a chain without it", &without, &Some(0))
}

async fn state_after_each_of_many_writes(case: &CaseContext) -> Check {
    let first = case.fixture().await?;
    for seed in 0..4 {
        let fixture = first.other("ada", &format!("random {seed}"));
        fixture.create().await?;
        let mut random = Random::new(seed);
        let mut model: Vec<StoredFragment> = Vec::new();
        let mut states = Vec::new();
        for _ in 0..40 {
            let name = format!("f{}", random.below(3));
            let at = if random.one_in(4) {
                model.retain(|old| old.id.as_ref().is_none_or(|id| id.as_str() != name));
                remove(&fixture, &name).await?
            } else {
                let name = if random.one_in(4) { "" } else { &name };
                let new = stored(name, &format!("text {}", random.below(3)));
                match model.iter_mut().find(|old| old.is_replaced_by(&new)) {
                    Some(old) => *old = new.clone(),
                    None => model.push(new.clone()),
                }
                put(&fixture, &[new]).await?
            };
            states.push((at, model.clone()));
        }
        let log = log(&fixture).await?;
        for (at, expected) in states {
            same(format!("seed {seed}: at {at:?}"), &fragments_at(&log, at), &Some(expected))?;
        }
    }
    Ok(())
}

async fn the_newest_versions_are_kept(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let kept = usize::try_from(MAX_FRAGMENT_VERSIONS).unwrap_or(usize::MAX);
    let start = put(&fixture, &[stored("old", "1"), stored("gone", "1")]).await?;
    remove(&fixture, "gone").await?;
    let mut times = Vec::new();
    for n in 0..kept + 10 {
        times.push(put(&fixture, &[stored("f", &n.to_string())]).await?);
    }
    let log = log(&fixture).await?;
    // The state before the newest versions: the old fragment, and `f` as it was.
    same("the number of versions", &log.versions().len(), &(kept + 2))?;
    same("a state that is no longer known", &fragments_at(&log, start), &None)?;
    same("the state before the oldest known", &fragments_at(&log, times[8]), &None)?;
    for n in [9, 10, kept, kept + 9] {
        let expected = vec![stored("old", "1"), stored("f", &n.to_string())];
        same(format!("the state after write {n}"), &fragments_at(&log, times[n]), &Some(expected))?;
    }
    Ok(())
}

async fn cleared_versions_are_gone(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(&fixture, &[stored("a", "1"), stored("b", "1")]).await?;
    put(&fixture, &[stored("a", "2")]).await?;
    remove(&fixture, "b").await?;
    let deleted = ability(&fixture)?.clear_fragment_log(&fixture.chat).await?;
    same("the number of deleted versions", &deleted, &3)?;
    let versions: Vec<_> = log(&fixture).await?.versions().iter().map(written).collect();
    same("the log", &versions, &vec![(Some(stored("a", "2")), None, None)])?;
    same("clearing again", &ability(&fixture)?.clear_fragment_log(&fixture.chat).await?, &0)?;
    let fragments = fixture.fragments().fragments(&fixture.chat).await?;
    same("the fragments", &fragments, &vec![stored("a", "2")])?;
    let at = put(&fixture, &[stored("a", "3")]).await?;
    let log = log(&fixture).await?;
    let before = Timestamp::from_micros(at.as_micros() - 1);
    same("before the next write", &fragments_at(&log, before), &Some(vec![stored("a", "2")]))?;
    same("after it", &fragments_at(&log, at), &Some(vec![stored("a", "3")]))
}

async fn versions_go_with_their_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(&fixture, &[stored("a", "1")]).await?;
    remove(&fixture, "a").await?;
    fixture.history().delete_chat(&fixture.chat, None).await?;
    fixture.create().await?;
    same("the log of a new chat", &log(&fixture).await?, &FragmentLog::default())?;
    put(&fixture, &[stored("a", "1")]).await?;
    put(&fixture, &[stored("a", "2")]).await?;
    let Some(maintenance) = fixture.store.maintenance() else { return Ok(()) };
    let erased = maintenance.erase_user(&fixture.chat.user, &CancelSignal::never()).await?;
    same("what remains of an erased user", &erased.remaining, &0)?;
    fixture.create().await?;
    same("the log of an erased user", &log(&fixture).await?, &FragmentLog::default())
}

async fn belongs_to_a_chat_of_a_user(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(&fixture, &[stored("a", "1")]).await?;
    let twin = fixture.other("bob", fixture.chat.chat.as_str());
    let absent = ability(&twin)?.fragment_log(&twin.chat).await;
    refused("the log of an absent chat", absent, ErrorKind::NotFound)?;
    let absent = ability(&twin)?.clear_fragment_log(&twin.chat).await;
    refused("clearing the log of an absent chat", absent, ErrorKind::NotFound)?;
    twin.create().await?;
    put(&twin, &[stored("a", "2")]).await?;
    ability(&twin)?.clear_fragment_log(&twin.chat).await?;
    let log = log(&fixture).await?;
    ensure(log.versions().iter().all(|version| version.at.is_some()), || {
        format!("clearing another user's log changed {log:?}")
    })
}
