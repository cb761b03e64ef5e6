//! The names of forks, and digests.

use super::*;
use crate::{Message, Role};

#[test]
fn the_lowest_free_version_is_chosen() {
    let main = BranchName::main();
    let taken = [main.clone(), main.version(3), "main-vacation".into()];
    let name = |fork: ForkName| fork.choose(|name| taken.contains(name));
    assert_eq!(name(ForkName::NextVersionOf(main.clone())), Some(main.version(2)));
    assert_eq!(name(ForkName::NextVersionOf(main.version(3))), Some(main.version(2)));
    assert_eq!(name(ForkName::Exact(main)), None);
}

/// A branch from a branch was once named `try-v2-v2`, and one from that `try-v2-v2-v2`.
#[test]
fn a_version_of_a_version_counts_on() {
    let next = |name: &str| {
        let base = BranchName::from(name);
        ForkName::NextVersionOf(base.clone()).choose(|taken| *taken == base || *taken == "try-v2")
    };
    for (name, expected) in [
        ("try", "try-v3"),
        ("try-v2", "try-v3"),
        ("try-v9", "try-v3"),
        ("api-v1", "api-v2"),
        ("try-v02", "try-v02-v2"),
        ("try-vacation", "try-vacation-v2"),
        ("-v2", "-v2-v2"),
        ("v2", "v2-v2"),
    ] {
        assert_eq!(next(name), Some(expected.into()), "{name}");
    }
}

#[test]
fn the_digest_tells_contents_apart_and_ignores_the_time() {
    let node = |text: &str, at| {
        Arc::new(Node::new("m", Message::text(Role::User, text), Timestamp::from_micros(at)))
    };
    let commit = |text: &str, at| Commit {
        nodes: vec![node(text, at)],
        ..Commit::new(ChatRef::new("u", "c"), Target::Stay, Timestamp::from_micros(at))
    };
    assert_eq!(commit("a", 1).digest(), commit("a", 2).digest());
    assert_ne!(commit("a", 1).digest(), commit("b", 1).digest());
    let durable = Commit { durability: Some(Durability::PowerLoss), ..commit("a", 1) };
    assert_eq!(commit("a", 1).digest(), durable.digest());
    let amended = Commit { amendments: vec![node("a", 1)], nodes: Vec::new(), ..commit("a", 1) };
    let redacted = Commit { redactions: vec![node("a", 1)], nodes: Vec::new(), ..commit("a", 1) };
    assert_ne!(amended.digest(), commit("a", 1).digest());
    assert_ne!(amended.digest(), redacted.digest());
}

#[test]
fn the_digest_tells_targets_apart() {
    let digest =
        |target| Commit::new(ChatRef::new("u", "c"), target, Timestamp::default()).digest();
    let branch = BranchName::main;
    let extend = |expected: Option<&str>| {
        digest(Target::Extend { branch: branch(), expected: expected.map(Into::into) })
    };
    let graft =
        |seen: Option<&str>| digest(Target::Graft { branch: branch(), seen: seen.map(Into::into) });
    assert_ne!(extend(Some("a")), graft(Some("a")));
    assert_ne!(graft(Some("a")), graft(Some("b")));
    assert_ne!(graft(Some("a")), graft(None));
    assert_eq!(graft(Some("a")), graft(Some("a")));
}
