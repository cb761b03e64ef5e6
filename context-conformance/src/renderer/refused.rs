//! Content that a renderer must refuse, wherever it occurs, without rendering the rest.

use std::convert::Infallible;

use context_core::fragment::{
    FragmentContent, FragmentKind, RenderError, last_assistant_message, lazy,
};
use context_core::{Encoded, Fragment, FragmentData, Renderer, assistant, hint, user};

/// Checks each kind of content at each position.
pub(super) fn all(renderer: &dyn Renderer) -> Result<(), String> {
    let unknown = FragmentContent::Unknown(Encoded::new("chart", 1, "{}"));
    let unknown = Fragment::from_content("graph", FragmentKind::Context, unknown);
    for (label, foreign) in [
        ("a message of the user", user("hi")),
        ("a message of the assistant", assistant("yes")),
        ("the last answer, changed", last_assistant_message("later")),
        ("a kind that nobody knows", unknown),
    ] {
        let name = foreign.name().to_owned();
        for (place, fragments) in places(&foreign.clone().into(), Some(foreign)) {
            let expected = RenderError::NotData { name: name.clone() };
            refused(renderer, &fragments, &expected, &format!("{label}, {place}"))?;
        }
    }
    let loaded = FragmentData::from(lazy(|| async { Ok::<_, Infallible>("loaded") }));
    let fetched = Fragment::new("fetched", loaded);
    for (place, fragments) in places(&fetched.clone().into(), Some(fetched)) {
        let expected = RenderError::NotLoaded { name: "fetched".to_owned() };
        refused(
            renderer,
            &fragments,
            &expected,
            &format!("data that is still to be loaded, {place}"),
        )?;
    }
    Ok(())
}

/// Returns the positions at which a fragment may occur.
fn places(foreign: &FragmentData, alone: Option<Fragment>) -> Vec<(&'static str, Vec<Fragment>)> {
    let map = |key: &str| FragmentData::map([(key, foreign.clone())]);
    let within = |data: FragmentData| vec![Fragment::new("box", data)];
    let listed = FragmentData::list([FragmentData::from("before"), foreign.clone()]);
    let mut places = vec![
        ("alone in a fragment", within(foreign.clone())),
        ("in a list", within(listed.clone())),
        ("in a map", within(map("key"))),
        ("in a map in a list", within(FragmentData::list([FragmentData::from(1), map("key")]))),
        ("in a list in a map", within(FragmentData::map([("key", listed)]))),
    ];
    let twice = FragmentData::list([foreign.clone(), foreign.clone()]);
    places.push(("twice in a list", within(twice)));
    // Formats that render fragments of one name as a table look at the data of several fragments.
    let tables = |names: [&str; 2]| {
        let [first, second] = names.map(ToOwned::to_owned);
        vec![
            Fragment::new(first, FragmentData::map([("key", 1)])),
            Fragment::new(second, map("key")),
        ]
    };
    places.push(("in the second of two maps", tables(["a", "b"])));
    places.push(("in the second of two maps of one name", tables(["a", "a"])));
    if let Some(foreign) = alone {
        places.push(("behind another fragment", vec![hint("before"), foreign.clone()]));
        places.push(("twice", vec![foreign.clone(), foreign]));
    }
    places
}

fn refused(
    renderer: &dyn Renderer,
    fragments: &[Fragment],
    expected: &RenderError,
    label: &str,
) -> Result<(), String> {
    match renderer.render(fragments) {
        Err(error) if error == *expected => Ok(()),
        Err(error) => Err(format!("{label}: expected the error {expected:?}, saw {error:?}")),
        Ok(prompt) => {
            Err(format!("{label}: expected the error {expected:?}, saw the prompt {prompt:?}"))
        }
    }
}
