//! The table of models.

use context_core::model::{TokenCount, TokenCounter, Usage};
use context_tokens::{
    AS_OF, Budget, BudgetError, Modality, ModelCounter, ModelTable, TableError, Vocabulary,
    WindowSource,
};
use proptest::prelude::*;

fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output, usage.cache_read, usage.cache_write) =
        (input, output, cache_read, cache_write);
    usage
}

#[test]
fn the_built_in_table_is_dated_and_names_its_sources() {
    let table = ModelTable::builtin();
    assert_eq!((table.as_of(), table.currency()), (AS_OF, "USD"));
    assert!(table.models().count() > 30);
    for model in table.models() {
        assert!(
            model.is_listed() && model.source().is_some_and(|url| url.starts_with("https://")),
            "{}",
            model.name()
        );
        if let (Some(window), Some(output)) = (model.window(), model.max_output()) {
            assert!(output <= window, "{}", model.name());
        }
        let prices = model.prices().unwrap();
        assert!(prices.input < prices.output, "{}", model.name());
        assert!(prices.cache_read.is_none_or(|read| read < prices.input), "{}", model.name());
    }
}

#[test]
fn every_listed_model_has_all_values_and_a_date() {
    let table = ModelTable::builtin();
    let form = serde_json::to_value(table).unwrap();
    for model in table.models() {
        let (name, entry) = (model.name(), &form["models"][model.name()]);
        let missing: Vec<_> = ["window", "max_output", "prices", "input", "source"]
            .into_iter()
            .filter(|key| entry[key].is_null())
            .collect();
        assert!(missing.is_empty(), "{name} lacks {missing:?}");
        assert_eq!(model.window_source(), Some(WindowSource::Table), "{name}");
        let modalities = model.modalities().unwrap();
        assert!(modalities.reads(Modality::Text), "{name}");
        assert!(modalities.output.contains(&Modality::Text), "{name}");
        let page = model.specification().unwrap();
        assert!(page.starts_with("https://"), "{name}: {page}");
        let date = model.as_of();
        assert!(date.len() == 10 && ("2026-01-01"..=AS_OF).contains(&date), "{name}: {date}");
        let rules = model.cache_rules().unwrap();
        assert!(rules.source.is_some_and(|page| page.starts_with("https://")), "{name}");
    }
}

#[test]
fn the_default_reserve_leaves_most_of_the_window() {
    for model in ModelTable::builtin().models() {
        let (name, window) = (model.name(), model.window().unwrap());
        let budget = model.budget(None, None).unwrap();
        assert!(
            budget.reserve * 4 <= window && budget.input() >= window / 4 * 3,
            "{name}: {budget:?}"
        );
        assert!(model.max_output().is_none_or(|most| budget.reserve <= most), "{name}: {budget:?}");
    }
}

#[test]
fn a_model_that_is_not_listed_has_the_smallest_window_of_its_family() {
    let table = ModelTable::builtin();
    for (name, window) in [
        ("gpt-4o-something-else", 128_000),
        ("gpt-4-of-mine", 8_192),
        ("gpt-9", 1_050_000),
        ("gpt-oss-120b", 131_072),
        ("claude-opus-4-55", 200_000),
        ("anthropic/claude-opus-5-9", 1_000_000),
        ("gemini-2.9-flash", 1_048_576),
    ] {
        let model = table.model(name);
        assert!(!model.is_listed() && model.prices().is_none(), "{name}");
        assert_eq!(model.modalities(), None, "{name}");
        let known = (model.window(), model.window_source());
        assert_eq!(known, (Some(window), Some(WindowSource::Family)), "{name}");
    }
    // A custom table that adds a model to a family without a window of its own.
    let mine = r#"{"as_of": "d", "currency": "USD", "families": {}, "models": {"house-1": {"family": "claude"}}}"#;
    let mine = ModelTable::from_json(mine).unwrap();
    let known = mine.model("house-1");
    assert_eq!(known.window(), Some(200_000));
    assert_eq!(known.window_source(), Some(WindowSource::Family));
}

#[test]
fn a_model_of_no_known_family_has_no_window() {
    // Models of the first Gemini had windows of many sizes, so the family lists none.
    for name in ["nobody-knows", "", "gemini-1.0-pro"] {
        let model = ModelTable::builtin().model(name);
        assert_eq!((model.window(), model.window_source()), (None, None), "{name}");
        assert_eq!(model.budget(None, Some(500)), Err(BudgetError::UnknownWindow), "{name}");
        assert_eq!(model.budget(Some(40_000), None), Ok(Budget::new(40_000, 8_192)), "{name}");
    }
    // Not even if a table has a window of a model without a family of its own.
    let mine = r#"{"as_of": "d", "currency": "USD", "families": {},
        "models": {"house-1": {"family": "other", "window": 5000}}}"#;
    let mine = ModelTable::from_json(mine).unwrap();
    assert_eq!(mine.model("house-1").window(), Some(5_000));
    assert_eq!(mine.model("house-2").window(), None);
}

#[test]
fn a_reserve_that_leaves_no_room_is_refused() {
    let model = ModelTable::builtin().model("gpt-4o");
    for (window, reserve) in [(100, 100), (100, 101), (1, 1)] {
        let refused = BudgetError::NoRoom { window, reserve };
        assert_eq!(model.budget(Some(window), Some(reserve)), Err(refused));
    }
    assert_eq!(model.budget(Some(100), Some(99)), Ok(Budget::new(100, 99)));
}

#[test]
fn dated_names_are_the_model_and_others_only_its_family() {
    let table = ModelTable::builtin();
    for (name, listed) in [
        ("gpt-4o", true),
        ("gpt-4o-2024-08-06", true),
        ("gpt-4-0613", true),
        ("claude-sonnet-4-5-20250929", true),
        ("claude-opus-4-5@20251101", true),
        ("openai/gpt-4o-mini", true),
        ("claude-haiku-4-5-latest", true),
        ("gpt-4o-something-else", false),
        ("claude-opus-4-55", false),
        ("nobody-knows", false),
    ] {
        assert_eq!(table.model(name).is_listed(), listed, "{name}");
    }
    assert_eq!(table.model("claude-fable-5-1").prices().unwrap().cache_read, Some(0.25));
}

#[test]
fn vocabularies_of_names() {
    for (name, vocabulary, exact) in [
        ("gpt-4o", Vocabulary::O200kBase, true),
        ("gpt-4.1-mini", Vocabulary::O200kBase, true),
        ("gpt-5-2025-08-07", Vocabulary::O200kBase, true),
        ("o3-mini", Vocabulary::O200kBase, true),
        ("ft:gpt-4o-mini:me", Vocabulary::O200kBase, true),
        ("gpt-4-turbo", Vocabulary::Cl100kBase, true),
        ("gpt-3.5-turbo-0125", Vocabulary::Cl100kBase, true),
        // Models without a published vocabulary.
        ("gpt-6.1-sol", Vocabulary::O200kBase, false),
        ("claude-sonnet-4-5", Vocabulary::O200kBase, false),
        ("gemini-2.5-pro", Vocabulary::O200kBase, false),
        ("nobody-knows", Vocabulary::O200kBase, false),
    ] {
        let counter = ModelCounter::for_model(name);
        assert_eq!((counter.vocabulary(), counter.is_exact()), (vocabulary, exact), "{name}");
        assert_eq!(counter.count("some words, and more").is_exact(), exact, "{name}");
    }
}

#[test]
fn newer_claude_models_need_more_tokens() {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(20);
    let older = ModelCounter::for_model("claude-opus-4-5").count(&text).tokens();
    let newer = ModelCounter::for_model("claude-opus-5-5").count(&text).tokens();
    let ratio = newer as f64 / older as f64;
    assert!((1.25..1.35).contains(&ratio), "{ratio}");
}

#[test]
fn cached_input_has_its_own_price() {
    let model = ModelTable::builtin().model("claude-sonnet-4-5");
    let cost = model.cost(&usage(1_000_000, 100_000, 2_000_000, 1_000_000)).unwrap();
    assert!((cost.amount - (3.0 + 1.5 + 0.6 + 3.75)).abs() < 1e-9, "{cost}");
    assert_eq!(cost.to_string(), "8.8500 USD");
    assert!(ModelTable::builtin().model("nobody-knows").cost(&usage(1, 1, 0, 0)).is_none());
}

#[test]
fn long_calls_have_other_prices() {
    let model = ModelTable::builtin().model("gemini-2.5-pro");
    let price = |input| model.cost(&usage(input, 0, 0, 0)).unwrap().amount;
    assert!((price(200_000) - 0.25).abs() < 1e-9);
    assert!((price(200_001) - 0.5000025).abs() < 1e-9);
}

#[test]
fn a_table_extends_and_replaces() {
    let mine = r#"{"as_of": "2027-02-03", "currency": "USD", "families": {}, "models": {
        "gpt-4o": {"family": "openai-o200k", "window": 1000, "prices": {"input": 1, "output": 2}},
        "house-1": {"family": "claude", "window": 5000}
    }}"#;
    let mine = ModelTable::from_json(mine).unwrap();
    // On its own, the table knows its models and the families.
    assert!(!mine.model("gpt-4.1").is_listed() && mine.model("gpt-4.1").counter().is_exact());
    let mut table = ModelTable::builtin().clone();
    table.extend(mine).unwrap();
    assert_eq!(table.as_of(), "2027-02-03");
    assert_eq!(table.model("gpt-4o").as_of(), "2027-02-03");
    assert!(table.model("gpt-4.1").as_of() <= AS_OF, "an entry that was there keeps its date");
    assert_eq!(table.model("gpt-4o").window(), Some(1000));
    assert_eq!(table.model("gpt-4.1").window(), Some(1_047_576));
    assert!(
        !table.model("house-1").counter().is_exact() && table.model("house-1").prices().is_none()
    );
    // And it can be stored.
    let stored = serde_json::to_string(&table).unwrap();
    assert_eq!(ModelTable::from_json(&stored).unwrap(), table);
}

#[test]
fn tables_that_make_no_sense_are_refused() {
    let table = |models: &str| {
        ModelTable::from_json(&format!(
            r#"{{"as_of":"d","currency":"USD","families":{{}},"models":{models}}}"#
        ))
    };
    assert!(matches!(table(r#"{"a":{"family":"nope"}}"#), Err(TableError::UnknownFamily { .. })));
    let negative = r#"{"a":{"family":"claude","prices":{"input":-1,"output":2}}}"#;
    assert!(matches!(table(negative), Err(TableError::OutOfRange { .. })));
    let empty = r#"{"a":{"family":"claude","images":{"blocks":{"small":1,"side":0,"tokens":1}}}}"#;
    assert!(matches!(table(empty), Err(TableError::OutOfRange { .. })));
    let never = r#"{"a":{"family":"claude","cache":{"lifetimes":[{"seconds":0,"write":1}]}}}"#;
    assert!(matches!(table(never), Err(TableError::OutOfRange { .. })));
    let closed = r#"{"as_of":"d","currency":"USD","models":{},"families":{"house":{"prefixes":["house-"],
        "vocabulary":"o200k_base","factor":{"typical":1,"low":1,"high":1},"window":0,"framing":
        {"message":[4,3,8],"call":[12,3,30],"tool":[12,4,40],"request":[3,0,30]}}}}"#;
    assert!(matches!(ModelTable::from_json(closed), Err(TableError::OutOfRange { .. })));
    assert!(matches!(
        table(r#"{"a":{"family":"claude","input":["smell"]}}"#),
        Err(TableError::Malformed(_))
    ));
    assert!(matches!(
        table(r#"{"a":{"family":"claude","windw":1}}"#),
        Err(TableError::Malformed(_))
    ));
    let euros = r#"{"as_of":"d","currency":"EUR","families":{},"models":{}}"#;
    let euros = ModelTable::from_json(euros).unwrap();
    assert!(matches!(
        ModelTable::builtin().clone().extend(euros),
        Err(TableError::Currency { .. })
    ));
}

proptest! {
    #[test]
    fn any_name_has_a_counter_whose_interval_holds_its_number(name in ".{0,40}",
        text in ".{0,80}") {
        let count = ModelTable::builtin().model(&name).counter().count(&text);
        prop_assert!(count.low() <= count.tokens() && count.tokens() <= count.high());
        prop_assert_eq!(count == TokenCount::ZERO, text.is_empty());
    }
}
