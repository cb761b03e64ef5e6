//! The rules of prompt caches in the table of models.

use std::time::Duration;

use context_tokens::{CacheRules, ModelTable};

fn rules(model: &str) -> CacheRules {
    ModelTable::builtin().model(model).cache_rules().unwrap()
}

#[test]
fn the_prices_of_writes_agree_with_the_usual_lifetime() {
    for model in ModelTable::builtin().models() {
        let name = model.name();
        let (Some(prices), Some(usual)) =
            (model.prices(), model.cache_rules().and_then(|rules| rules.usual_lifetime()))
        else {
            continue;
        };
        if model.note().is_some() && prices.cache_write.is_none() {
            continue;
        }
        let write = prices.cache_write.unwrap_or(prices.input);
        assert!((write - usual.write * prices.input).abs() < 1e-9, "{name}: {write}");
        let share = model.cache_write_share(None).unwrap();
        assert!((share - usual.write).abs() < 1e-9, "{name}: {share}");
    }
}

#[test]
fn lifetimes_are_in_order_and_longer_ones_cost_no_less() {
    for model in ModelTable::builtin().models() {
        let rules = model.cache_rules().unwrap();
        assert!(rules.lifetimes.is_sorted_by_key(|lifetime| lifetime.seconds), "{}", model.name());
        assert!(
            rules.lifetimes.is_sorted_by(|a, b| a.write <= b.write),
            "{}: {rules:?}",
            model.name()
        );
        // A prefix that is cached somewhere has a minimum.
        assert_eq!(rules.is_supported(), rules.minimum > 0, "{}", model.name());
    }
}

#[test]
fn a_model_overrides_the_rules_of_its_family() {
    assert_eq!(rules("claude-sonnet-4-5").minimum, 1_024);
    assert_eq!(rules("claude-opus-4-5").minimum, 4_096);
    assert_eq!(rules("claude-opus-4-5").marks, rules("claude-sonnet-4-5").marks);
    assert_eq!(rules("claude-opus-4-7").minimum, 2_048);
    assert_eq!(rules("claude-opus-5").minimum, 512);
    // A model that is not listed has the rules of its family.
    assert_eq!(rules("claude-opus-5-9"), rules("claude-opus-5"));
    assert_eq!(ModelTable::builtin().model("nobody-knows").cache_rules(), None);
}

#[test]
fn providers_differ_in_how_entries_come_about() {
    let claude = rules("claude-sonnet-5-5");
    assert!(!claude.automatic && !claude.key && claude.marks == 4);
    let older = rules("gpt-4o");
    assert!(older.automatic && older.key && older.marks == 0);
    let newer = rules("gpt-6.1-sol");
    assert!(newer.automatic && newer.key && newer.marks == 4);
    let gemini = rules("gemini-2.5-pro");
    assert!(gemini.automatic && !gemini.key && gemini.ahead == Some(3_600));
    assert_eq!(rules("gemini-4-argon").ahead, None); // its family has the call
    assert!(!rules("gpt-4").is_supported());
    // Of models that anybody may serve, the name says nothing about the provider.
    for open in ["gpt-oss-120b", "openai/gpt-oss-20b"] {
        assert_eq!(ModelTable::builtin().model(open).cache_rules(), None, "{open}");
    }
}

#[test]
fn the_price_of_a_write_depends_on_the_lifetime() {
    let share = |model: &str, seconds: u64| {
        let least = Some(Duration::from_secs(seconds));
        ModelTable::builtin().model(model).cache_write_share(least)
    };
    assert_eq!(share("claude-sonnet-4-5", 300), Some(1.25));
    assert_eq!(share("claude-sonnet-4-5", 301), Some(2.0));
    assert_eq!(share("claude-sonnet-4-5", 3_601), None);
    assert_eq!(share("gpt-6.2-sol", 3_600), Some(2.5));
    assert_eq!(share("gpt-5.1", 86_400), Some(1.0));
    assert_eq!(share("nobody-knows", 1), None);
    let read = ModelTable::builtin().model("claude-fable-5-1").cache_read_share().unwrap();
    assert!((read - 0.025).abs() < 1e-9);
}
