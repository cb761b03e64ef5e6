//! The recordings' builders as calls of this library's.

use context_runtime::kinds::{
    alias, analogy, clarification, correction, example, explain, glossary, guardrail, identity,
    persona, policy, preference, principle, quirk, style_guide, term, workflow,
};
use context_runtime::{Fragment, FragmentData, fragment, hint, role};

use super::{Unknown, entry};

/// Calls a builder.
pub(super) fn build(builder: &str, args: &[FragmentData]) -> Result<Fragment, Unknown> {
    let one = |at: usize| args.get(at).cloned().unwrap_or_default();
    let first = one(0);
    let record = Record { builder, fields: &first };
    let field = |key| record.required(key);
    let option = |key| record.optional(key);
    Ok(match (builder, args) {
        ("role", [_]) => role(one(0)),
        ("hint", [_]) => hint(one(0)),
        ("fragment", [FragmentData::Text(name), children @ ..]) => {
            fragment(name.clone(), children.iter().cloned())
        }
        ("glossary", [FragmentData::Map(terms)]) => {
            glossary(terms.iter().map(|(k, v)| (k, v.clone())))
        }
        ("term", _) => term(one(0), one(1)),
        ("alias", _) => alias(one(0), one(1)),
        ("preference", _) => preference(one(0), one(1)),
        ("correction", _) => correction(one(0), one(1)),
        ("guardrail", _) => {
            guardrail(field("rule")).reason(option("reason")).action(option("action")).into()
        }
        ("explain", _) => {
            explain(field("concept"), field("explanation")).therefore(option("therefore")).into()
        }
        ("example", _) => example(field("question"), field("answer")).note(option("note")).into(),
        ("clarification", _) => clarification(field("when"), field("ask"), field("reason")),
        ("workflow", _) => workflow(field("task"), record.list("steps")?)
            .triggers(record.list("triggers")?)
            .notes(option("notes"))
            .into(),
        ("quirk", _) => quirk(field("issue"), field("workaround")),
        ("styleGuide", _) => {
            style_guide(field("prefer")).never(option("never")).always(option("always")).into()
        }
        ("analogy", _) => analogy(record.list("concepts")?, field("relationship"))
            .insight(option("insight"))
            .therefore(option("therefore"))
            .pitfall(option("pitfall"))
            .into(),
        ("principle", _) => principle(field("title"), field("description"))
            .policies(record.list("policies")?)
            .into(),
        ("policy", _) => policy(field("rule"))
            .before(option("before"))
            .reason(option("reason"))
            .policies(record.list("policies")?)
            .into(),
        ("identity", _) => identity().name(option("name")).role(option("role")).into(),
        ("persona", _) => persona(field("name"))
            .role(option("role"))
            .objective(option("objective"))
            .tone(option("tone"))
            .into(),
        _ => return Err(Unknown(format!("builder {builder:?}"))),
    })
}

/// The single argument of a builder with named parts.
struct Record<'a> {
    builder: &'a str,
    fields: &'a FragmentData,
}

impl Record<'_> {
    fn required(&self, key: &str) -> FragmentData {
        entry(self.fields, key).cloned().unwrap_or_default()
    }

    /// Returns null where the recorded builder omits the part. The library omits null and empty
    /// parts.
    fn optional(&self, key: &str) -> FragmentData {
        match self.required(key) {
            FragmentData::Bool(false) => FragmentData::Null,
            FragmentData::Number(number) if matches!(number.to_string().as_str(), "0" | "NaN") => {
                FragmentData::Null
            }
            value => value,
        }
    }

    /// The library takes lists; the recorded values can be anything.
    fn list(&self, key: &str) -> Result<Vec<FragmentData>, Unknown> {
        match self.required(key) {
            FragmentData::Null => Ok(Vec::new()),
            FragmentData::List(items) => Ok(items.iter().cloned().collect()),
            _ => Err(Unknown(format!("{:?} of builder {:?}, which is no list", key, self.builder))),
        }
    }
}
