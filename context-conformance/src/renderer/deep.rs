//! Trees that are too deep for recursion.

use std::thread;

use context_core::{Fragment, FragmentData, Renderer};

/// The depth of a tree whose recursion overflows a stack of [`STACK`] bytes.
const LEVELS: usize = 5_000;
/// Too little for one stack frame per level, enough for everything else.
const STACK: usize = 256 << 10;
/// The smaller of the two depths between which the growth is measured.
const SHALLOW: usize = 1_000;

type Wrap = fn(FragmentData) -> FragmentData;

const SHAPES: [(&str, Wrap); 4] = [
    ("fragments", |inner| Fragment::new("f", inner).into()),
    ("lists", |inner| FragmentData::list([inner])),
    ("maps", |inner| FragmentData::map([("k", inner)])),
    ("untrusted fragments beside others", |inner| {
        FragmentData::list([Fragment::new("f", inner).untrusted(), Fragment::new("g", 1)])
    }),
];

/// Checks that trees of every shape need no stack.
pub(super) fn without_recursion(renderer: &dyn Renderer) -> Result<(), String> {
    SHAPES.into_iter().try_for_each(|(shape, wrap)| deep(renderer, shape, LEVELS, wrap).map(drop))
}

/// Checks that twice the depth gives about twice the prompt.
pub(super) fn grows_with_the_depth(renderer: &dyn Renderer) -> Result<(), String> {
    for (shape, wrap) in SHAPES {
        let once = deep(renderer, shape, SHALLOW, wrap)?;
        let twice = deep(renderer, shape, 2 * SHALLOW, wrap)?;
        if twice > 3 * once {
            return Err(format!(
                "{SHALLOW} levels of {shape} are {once} bytes, and twice as many are {twice}: the prompt grows with the square of its depth. \
                 Stop indenting at some level, or write what is deeper on one line"
            ));
        }
    }
    Ok(())
}

/// Returns the size in bytes of the prompt of this many levels.
fn deep(renderer: &dyn Renderer, shape: &str, levels: usize, wrap: Wrap) -> Result<usize, String> {
    let tree = (0..levels).fold(FragmentData::from("w1q"), |inner, _| wrap(inner));
    let fragments = [Fragment::new("f", tree)];
    // A stack overflow aborts the process and reports only the name of the thread.
    let name = format!("{}: {levels} levels of {shape}, walked by recursion", renderer.name());
    let prompt = thread::scope(|scope| {
        let thread = thread::Builder::new().name(name).stack_size(STACK);
        let rendering = thread.spawn_scoped(scope, || renderer.render(&fragments));
        let rendered = rendering.map_err(|error| format!("no thread: {error}"))?.join();
        let rendered =
            rendered.map_err(|_| format!("it panicked at {levels} levels of {shape}"))?;
        rendered.map_err(|error| format!("`render` refused {levels} levels of {shape}: {error}"))
    })?;
    match prompt.matches("w1q").count() {
        1 => Ok(prompt.len()),
        count => Err(format!(
            "the text below {levels} levels of {shape} stands {count} times in the prompt, not once"
        )),
    }
}
