//! Properties that are visible in any format: nothing is missing, nothing moves, pieces may be
//! cached.

use context_core::fragment::{Arrangement, Piece, Pieces};
use context_core::{Fragment, FragmentData, Renderer};

use super::numbered::{MarkedFragments, NumberedFragments};

/// Returns the prompt, or the reason why there is none.
pub(super) fn rendered(renderer: &dyn Renderer, fragments: &[Fragment]) -> Result<String, String> {
    renderer
        .render(fragments)
        .map_err(|error| format!("`render` refused fragments of data alone: {error}"))
}

/// Checks that the names appear in order, and the texts likewise. A table may print its names
/// first. Case is ignored, since titles may be capitalized.
pub(super) fn shows_all(
    renderer: &dyn Renderer,
    numbered: &NumberedFragments,
) -> Result<(), String> {
    let prompt = rendered(renderer, &numbered.fragments)?.to_lowercase();
    // None of these texts ends with a line break, so a trailing one comes from the format.
    if prompt.ends_with(['\n', '\r']) {
        return Err("a line break stands at the end of the prompt".to_owned());
    }
    in_order(&prompt, &numbered.names)?;
    in_order(&prompt, &numbered.texts)
}

fn in_order(prompt: &str, words: &[String]) -> Result<(), String> {
    let (mut at, mut before) = (0, "the beginning");
    for word in words {
        match prompt[at..].find(word.as_str()) {
            Some(found) => at += found + word.len(),
            None if prompt.contains(word.as_str()) => {
                return Err(format!(
                    "{word:?} should stand behind {before:?}, and stands before it"
                ));
            }
            None => return Err(format!("{word:?} has content, and is not in the prompt")),
        }
        before = word;
    }
    Ok(())
}

/// Checks that the untrusted mark changes the prompt but hides nothing.
pub(super) fn shows_marks(
    renderer: &dyn Renderer,
    MarkedFragments { plain, marked }: &MarkedFragments,
) -> Result<(), String> {
    match rendered(renderer, plain)? == rendered(renderer, marked)? {
        true => {
            Err("a fragment is untrusted, and the prompt is the same as if it were not".to_owned())
        }
        false => Ok(()),
    }
}

/// Checks that rendering is deterministic, and that the cached pieces of an engine make up the
/// prompt.
pub(super) fn pieces_are_kept(
    renderer: &dyn Renderer,
    fragments: &[Fragment],
) -> Result<(), String> {
    let prompt = rendered(renderer, fragments)?;
    let copy = fragments.to_vec();
    same("the prompt, rendered again", &rendered(renderer, &copy)?, &prompt)?;
    let all: Vec<&Fragment> = fragments.iter().collect();
    let arrangement = renderer.arrange(&all);
    let pieces = arrangement.pieces(&all);
    let together = render_pieces(renderer, &pieces)?;
    let mut alone = Vec::new();
    for piece in &pieces {
        alone.extend(render_pieces(renderer, std::slice::from_ref(piece))?);
    }
    for (place, (beside, alone)) in together.iter().zip(&alone).enumerate() {
        same(&format!("piece {place}, rendered beside others and then alone"), alone, beside)?;
    }
    let joined = arrangement.join(alone.iter().map(String::as_str));
    same("the prompt, made of pieces that were rendered one by one", &joined, &prompt)
}

/// Renders one piece for each fragment.
fn render_pieces(renderer: &dyn Renderer, pieces: &[Piece<'_>]) -> Result<Vec<String>, String> {
    let mut out = Pieces::default();
    renderer
        .render_pieces(pieces, &mut out)
        .map_err(|error| format!("`render_pieces` refused data: {error}"))?;
    let found: Vec<String> = out.iter().map(ToOwned::to_owned).collect();
    if found.len() != pieces.len() {
        return Err(format!(
            "{} pieces of {} fragments: call `Pieces::end_piece` once for each, also for an empty one",
            found.len(),
            pieces.len()
        ));
    }
    if out.text().len() > out.start() {
        return Err(
            "there is text behind the last piece: call `Pieces::end_piece` behind each".to_owned()
        );
    }
    Ok(found)
}

/// Checks that fragments without content leave nothing in the prompt.
pub(super) fn nothing_is_empty(renderer: &dyn Renderer) -> Result<(), String> {
    let null = || Fragment::new("n1q", FragmentData::Null);
    for (label, fragments) in
        [("no fragment", vec![]), ("a fragment that holds null", vec![null()])]
    {
        same(&format!("the prompt of {label}"), &rendered(renderer, &fragments)?, "")?;
    }
    let [first, second] = ["w1q", "w2q"].map(|text| Fragment::new(text, text));
    let with = [first.clone(), null(), second.clone()];
    let without = [first, second];
    let all: Vec<&Fragment> = with.iter().collect();
    let arrangement: Arrangement = renderer.arrange(&all);
    let pieces = render_pieces(renderer, &arrangement.pieces(&all))?;
    same("the piece of a fragment that holds null", &pieces[1], "")?;
    same(
        "the prompt with a fragment between that holds null",
        &rendered(renderer, &with)?,
        &rendered(renderer, &without)?,
    )
}

fn same(label: &str, seen: &str, expected: &str) -> Result<(), String> {
    if seen == expected {
        return Ok(());
    }
    Err(format!("{label}: expected {expected:?}, saw {seen:?}"))
}
