//! Checks that our rules are never laxer: whatever the checker over the official types refuses, our
//! rules refuse too.

use std::collections::BTreeMap;

use context_codec_kit::provider_rules::check_body;
use context_simulator::check_with_official_clients;
use context_simulator::recordings::folder;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::data::recorded;
use crate::mutate::mutations;

/// Returns the number of random changes. It is small in an ordinary run, and large if
/// `PROPTEST_CASES` says so.
fn cases() -> usize {
    10 * usize::try_from(Config::default().cases).unwrap()
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn what_the_official_types_refuse_is_refused() {
    let folder = folder().expect("test data");
    // A body that our rules refuse already does not show what else they would refuse.
    let recorded: Vec<_> = recorded()
        .into_iter()
        .filter(|each| check_body(each.provider, &each.body).is_empty())
        .collect();
    assert!(recorded.len() > 100, "{} recorded requests", recorded.len());
    let mut runner = TestRunner::deterministic();
    let strategy = (0..recorded.len(), mutations());
    let mut bodies: Vec<(&str, Value)> =
        recorded.iter().map(|each| (each.provider, each.body.clone())).collect();
    let mut names: Vec<String> = recorded.iter().map(|each| each.name.clone()).collect();
    for _ in 0..cases() {
        let (which, mutations) = strategy.new_tree(&mut runner).unwrap().current();
        let mut body = recorded[which].body.clone();
        mutations.iter().for_each(|mutation| mutation.apply(&mut body));
        bodies.push((recorded[which].provider, body));
        names.push(format!("{} {mutations:?}", recorded[which].name));
    }
    let borrowed: Vec<(&str, &Value)> =
        bodies.iter().map(|(provider, body)| (*provider, body)).collect();
    let theirs = match check_with_official_clients(&folder, &borrowed) {
        Ok(theirs) => theirs,
        Err(absent) if absent.is_absent() => {
            println!("skipped: {absent}");
            return;
        }
        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    };

    let mut stricter: BTreeMap<String, usize> = BTreeMap::new();
    let (mut both, mut laxer) = (0, Vec::new());
    for (i, ((provider, body), theirs)) in bodies.iter().zip(&theirs).enumerate() {
        let ours = check_body(provider, body);
        match (ours.is_empty(), theirs.is_empty()) {
            (true, false) => {
                laxer.push(format!("{provider}: {theirs:?}\n  {}\n  {body}", names[i]))
            }
            (false, false) => both += 1,
            (false, true) => {
                *stricter.entry(format!("{provider}, {:?}", ours[0].rule)).or_default() += 1;
            }
            (true, true) => {}
        }
    }
    println!(
        "{} bodies, refused by both {both}, by ours alone {}",
        bodies.len(),
        stricter.values().sum::<usize>()
    );
    for (which, count) in stricter {
        println!("{count:>6}  {which}");
    }
    assert!(
        laxer.is_empty(),
        "{} bodies that ours takes and they refuse:\n{}",
        laxer.len(),
        laxer.join("\n")
    );
}
