//! The fragment kinds of this crate, each a serializable type.
//!
//! A kind is created by the function of its name ([`guardrail`], [`workflow`], …). Required parts
//! are arguments. If a kind has optional parts, the function returns its type, whose methods set
//! them, and `into()` converts it into a [`Fragment`](crate::Fragment). Otherwise the function
//! returns the fragment. An empty optional part (null, empty text, an empty list) is left out.
//!
//! ```
//! use context_core::fragment::kinds::{guardrail, policy, term, workflow};
//! use context_core::{Fragment, fragment, hint};
//!
//! let rules = fragment("rules", [
//!     hint("Prices are in EUR."),
//!     term("PNR", "the code of a booking"),
//!     guardrail("Never pay twice.").reason("Refunds take weeks.").into(),
//!     workflow("book", ["search", "ask", "pay"]).triggers(["a date and a place"]).into(),
//!     policy("Ask before you pay.").policies([policy("Say the total first.")]).into(),
//! ]);
//! # let _: Fragment = rules;
//! ```
//!
//! Every part is [`FragmentData`](crate::FragmentData): usually text, but also a list, a fragment
//! or [lazy](crate::fragment::lazy) data. The stored form of a kind is version 1 of a JSON object
//! with the fields of its type, under the name of the kind. Custom kinds are types that implement
//! [`FragmentBody`](crate::fragment::FragmentBody).

mod body;
mod builtin;
mod glossary;
mod recalled_memories;

pub use builtin::{
    Alias, Analogy, Clarification, Correction, Example, Explain, Guardrail, Hint, Identity,
    Persona, Policy, Preference, Principle, Quirk, RoleFragment, StyleGuide, Term, Workflow, alias,
    analogy, clarification, correction, example, explain, guardrail, identity, persona, policy,
    preference, principle, quirk, style_guide, term, workflow,
};
pub use glossary::{Glossary, glossary};
pub use recalled_memories::RecalledMemories;

use crate::CodecRegistry;
use crate::fragment::BodyCodec;

/// Registers the codec of every kind.
pub(crate) fn register_all(registry: &mut CodecRegistry) {
    macro_rules! register {
        ($($kind:ty),* $(,)?) => {
            $(registry.register(BodyCodec::<$kind>::default());)*
        };
    }
    register!(
        Alias,
        Analogy,
        Clarification,
        Correction,
        Example,
        Explain,
        Glossary,
        Guardrail,
        Hint,
        Identity,
        Persona,
        Policy,
        Preference,
        RecalledMemories,
        Principle,
        Quirk,
        RoleFragment,
        StyleGuide,
        Term,
        Workflow,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fragment, FragmentData, fragment, hint, role};

    /// Returns fragments of every kind, with required parts only and with all parts.
    fn all() -> Vec<Fragment> {
        vec![
            role("guide"),
            hint(""),
            term("PNR", "a code"),
            guardrail("never").into(),
            guardrail("never").reason("why").action("ask").into(),
            explain("c", "e").therefore("t").into(),
            example("q", "a").note("n").into(),
            clarification("w", "a", "r"),
            workflow("t", Vec::<FragmentData>::new()).into(),
            workflow("t", ["1", "2"]).triggers(["g"]).notes("n").into(),
            quirk("i", "w"),
            style_guide("p").never("n").always("a").into(),
            analogy(["a", "b"], "r").insight("i").therefore("t").pitfall("p").into(),
            glossary([("x", "y"), ("z", "w")]),
            glossary::<&str, &str>([]),
            principle("t", "d").policies([FragmentData::from("p"), hint("h").into()]).into(),
            policy("r").before("b").reason("w").policies([policy("r2"), policy("r3")]).into(),
            identity().into(),
            identity().name("n").role("r").into(),
            persona("n").role("r").objective("o").tone("t").into(),
            alias("a", "m"),
            preference("a", "v"),
            correction("s", "c"),
        ]
    }

    #[test]
    fn every_kind_comes_back_from_its_stored_form_also_inside_others() {
        let registry = CodecRegistry::default();
        let wrapper = fragment("all", all());
        for original in all().into_iter().chain([wrapper]) {
            let stored = registry.encode(&original).unwrap();
            assert_eq!(stored.kind(), original.codec().unwrap_or("fragment"));
            assert_eq!(registry.decode(&stored).unwrap(), original.persisted());
        }
    }

    #[test]
    fn the_mark_of_an_untrusted_fragment_is_stored_with_it() {
        let registry = CodecRegistry::default();
        for original in all() {
            let original = original.untrusted();
            let back = registry.decode(&registry.encode(&original).unwrap()).unwrap();
            assert!(back.is_untrusted());
            assert_eq!(back, original.persisted());
        }
    }

    #[test]
    fn optional_parts_that_hold_nothing_are_left_out() {
        let bare: Fragment = guardrail("r").into();
        let emptied: Fragment = guardrail("r").reason("").action(FragmentData::Null).into();
        assert_eq!(emptied, bare);
        let stored =
            serde_json::to_string(&workflow("t", ["1"]).triggers(Vec::<&str>::new())).unwrap();
        assert_eq!(stored, r#"{"task":"t","steps":["1"]}"#);
    }

    #[test]
    fn what_a_kind_has_no_place_for_is_refused_not_lost() {
        let registry = CodecRegistry::default();
        let with_more = FragmentData::map([("rule", "r"), ("colour", "red")]);
        for broken in [
            Fragment::new("guardrail", with_more),
            Fragment::new("guardrail", "text"),
            Fragment::new("guardrail", FragmentData::map([("reason", "no rule")])),
            Fragment::new("guard", FragmentData::map([("rule", "r")])),
        ] {
            assert!(registry.encode(&broken.with_codec("guardrail")).is_err());
        }
        let twice = FragmentData::map([("term", "x"), ("expression", "y")]);
        let twice = Fragment::new("glossary", FragmentData::list([twice.clone(), twice]));
        assert!(registry.encode(&twice.with_codec("glossary")).is_err());
    }
}
