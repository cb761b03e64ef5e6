//! The rendered fragments.

use context_runtime::kinds::{guardrail, term, workflow};
use context_runtime::{Fragment, FragmentData, fragment, hint};

/// Returns text of about 80 characters, each a little different.
fn sentence(number: usize) -> String {
    format!(
        "Rule {number:04}: answer in short sentences, cite what you used, and never guess a price."
    )
}

/// Returns hints of 80 characters.
pub(crate) fn hints(count: usize) -> Vec<Fragment> {
    (0..count).map(|number| hint(sentence(number))).collect()
}

/// Returns a quarter each of hints, terms, guardrails of three parts and workflows of four steps.
pub(crate) fn mixed(count: usize) -> Vec<Fragment> {
    let one = |number: usize| match number % 4 {
        0 => hint(sentence(number)),
        1 => term(format!("term {number}"), sentence(number)),
        2 => guardrail(sentence(number))
            .reason(sentence(number + 1))
            .action("Ask the user first.")
            .into(),
        _ => {
            let steps =
                (0..4).map(|step| format!("Step {step} of task {number}: look, think, then act."));
            workflow(format!("Task {number}"), steps).into()
        }
    };
    (0..count).map(one).collect()
}

/// Returns a fragment of maps with ten texts each: about `count` nodes.
pub(crate) fn wide(count: usize) -> Vec<Fragment> {
    let row = |number: usize| {
        FragmentData::map(
            (0..9).map(|column| (format!("column_{column}"), format!("cell {number} {column}"))),
        )
    };
    vec![fragment("rows", (0..count / 10).map(row))]
}

/// Returns nested fragments.
pub(crate) fn deep(levels: usize) -> Vec<Fragment> {
    let leaf = Fragment::new("level", "bottom");
    vec![(1..levels).fold(leaf, |inner, _| Fragment::new("level", inner))]
}

/// Counts the nodes: fragments, items and entries.
pub(crate) fn nodes(fragments: &[Fragment]) -> usize {
    let mut count = 0;
    let mut stack: Vec<&FragmentData> = fragments.iter().filter_map(Fragment::data).collect();
    while let Some(data) = stack.pop() {
        count += 1;
        match data {
            FragmentData::List(list) => stack.extend(list.iter()),
            FragmentData::Map(map) => stack.extend(map.values()),
            FragmentData::Fragment(fragment) => stack.extend(fragment.data()),
            _ => {}
        }
    }
    count
}
