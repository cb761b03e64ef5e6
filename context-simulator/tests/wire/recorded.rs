//! Recorded requests that their providers accepted.

use std::collections::BTreeMap;

use context_codec_kit::provider_rules::{Rule, check_body};

use crate::data::recorded;

/// The rules in which the checker is stricter than the service, with the number of recorded bodies
/// that show it.
const STRICTER: [(&str, Rule, usize, &str); 7] = [
    (
        "anthropic",
        Rule::UnknownKey,
        4,
        "keys of betas: servers of tools, tools that are added on the way",
    ),
    ("anthropic", Rule::Type, 4, "blocks and tools of betas"),
    ("anthropic", Rule::Missing, 1, "a block of a beta, asked to be a text"),
    ("anthropic", Rule::Pairing, 1, "a block of a beta, whose result then has no call"),
    ("anthropic", Rule::Id, 1, "the same"),
    (
        "gemini",
        Rule::Role,
        10,
        "results and the user's next words in two contents, which belong in one",
    ),
    ("gemini", Rule::Empty, 1, "an answer without a word"),
];

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn what_providers_took_is_taken() {
    let bodies = recorded();
    assert!(bodies.len() > 100, "{} recorded requests", bodies.len());
    let mut found: BTreeMap<(&str, Rule), Vec<String>> = BTreeMap::new();
    for each in &bodies {
        for violation in check_body(each.provider, &each.body) {
            let seen = found.entry((each.provider, violation.rule)).or_default();
            let place = format!("{}: {violation}", each.name);
            if seen.last().is_none_or(|last| !last.starts_with(&format!("{}:", each.name))) {
                seen.push(place);
            }
        }
    }
    println!("{} recorded requests", bodies.len());
    for ((provider, rule), seen) in &found {
        println!("{:>4} {provider} {rule:?}", seen.len());
        let known = STRICTER
            .iter()
            .any(|(of, which, most, _)| (of, which) == (provider, rule) && seen.len() <= *most);
        assert!(known, "{provider} {rule:?}:\n{}", seen.join("\n"));
    }
}
