//! Tests of PROV-JSON and trace events.

use std::collections::{BTreeMap, HashSet};

use context_trajectory_export::{write_chrome_trace, write_prov_json};
use proptest::prelude::*;
use serde_json::Value;

use super::scene::{session, sessions, written};

fn prov(graph: &context_trajectory::SessionGraph) -> String {
    written(|out| write_prov_json(graph, out))
}

fn trace(graph: &context_trajectory::SessionGraph) -> String {
    written(|out| write_chrome_trace(graph, out))
}

#[test]
fn prov_of_a_session() {
    insta::assert_snapshot!(prov(&session()));
}

#[test]
fn trace_of_a_session() {
    insta::assert_snapshot!(trace(&session()));
}

/// Checks that every name in a relation is declared with the right type.
fn check_prov(text: &str) -> Result<(), String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let names = |section: &str| -> HashSet<String> {
        document[section].as_object().into_iter().flat_map(|map| map.keys().cloned()).collect()
    };
    let roles = BTreeMap::from([
        ("prov:entity", "entity"),
        ("prov:generatedEntity", "entity"),
        ("prov:usedEntity", "entity"),
        ("prov:activity", "activity"),
        ("prov:informed", "activity"),
        ("prov:informant", "activity"),
        ("prov:agent", "agent"),
        ("prov:delegate", "agent"),
        ("prov:responsible", "agent"),
    ]);
    let sections = document.as_object().ok_or("no object")?;
    for (section, relations) in sections
        .iter()
        .filter(|(name, _)| !["prefix", "entity", "activity", "agent"].contains(&&***name))
    {
        for relation in relations.as_object().into_iter().flat_map(|map| map.values()) {
            for (role, name) in relation.as_object().into_iter().flatten() {
                let Some(sort) = roles.get(&**role) else { continue };
                if !name.as_str().is_some_and(|name| names(sort).contains(name)) {
                    return Err(format!("{section}: {role} is {name}"));
                }
            }
        }
    }
    Ok(())
}

/// Checks that begin and end events match, and that arrows have both ends.
fn check_trace(text: &str) -> Result<(), String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut open: BTreeMap<(String, String), i64> = BTreeMap::new();
    for event in document["traceEvents"].as_array().ok_or("no events")? {
        let id = event["id"].as_str().unwrap_or_default().to_owned();
        let key = (event["cat"].as_str().unwrap_or_default().to_owned(), id);
        match event["ph"].as_str() {
            Some("b" | "s") => *open.entry(key).or_default() += 1,
            Some("e" | "f") => *open.entry(key).or_default() -= 1,
            Some("X" | "M") => {}
            other => return Err(format!("{other:?}")),
        }
    }
    if open.values().all(|count| *count == 0) { Ok(()) } else { Err(format!("{open:?}")) }
}

#[test]
fn the_session_is_well_formed() {
    assert_eq!(check_prov(&prov(&session())), Ok(()));
    assert_eq!(check_trace(&trace(&session())), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    #[test]
    fn whatever_a_session_holds_the_form_is_kept(graph in sessions()) {
        prop_assert_eq!(check_prov(&prov(&graph)), Ok(()));
        prop_assert_eq!(check_trace(&trace(&graph)), Ok(()));
    }
}
