//! TOON: fields, and rows under one header for objects with the same keys.
//!
//! The outline of plain data, shared with TOML, decides where each value is written; the submodules
//! do the layout. Documents are written, never read.

mod shape;
mod text;
mod write;

use context_core::fragment::{Arrangement, Form, Piece, Pieces, RenderError};
use context_core::{Fragment, FragmentData, Renderer};

use self::shape::{Shapes, same_order};
use self::write::{FIELD, IN_HEAD, ITEM, KEYED_ROW, ROW, Writer};
use crate::RenderOptions;
use crate::inflect::Inflector;
use crate::outline::{Key, Outline, Value, all_different, is_shown, is_table};

/// Renders fragments as TOON, specification 4.4: two spaces per level, the comma as delimiter.
///
/// The format is short for many objects of the same shape, because their keys are written once.
///
/// # Content
///
/// * A fragment is a field of its name. Text, numbers and booleans are its value, a map is an
///   object, a list an array. A value that is a fragment is an object of one field. Null is left
///   out; empty objects and arrays are written.
/// * A list that holds only fragments, all of different names, is an object of them. In any other
///   list each fragment is an object of one field. Order is kept.
/// * The same holds at the top level: if two fragments there have the same name, the whole prompt
///   is an array.
/// * Objects in an array are rows under one header if they have the same keys and hold only scalars
///   and objects for which the same is true. So are two or more objects that are the only content
///   of an object. Rows have the columns in the order of the first row.
/// * The name of an untrusted fragment ends with ` (untrusted)`.
/// * Numbers have no exponent and no needless fraction, so `2.0` is `2`. Infinities and NaN are
///   `null`, because TOON has no form for them.
/// * Text and keys are quoted only where they must be; line breaks in them are then escaped.
///
/// TOON shows depth by indentation, so the output grows with the square of the depth, and decoders
/// may refuse more than 256 levels. A value that occurs in several places is written in each of
/// them.
///
/// ```
/// use context_core::{FragmentData, Renderer, fragment, hint, role};
/// use context_render::ToonRenderer;
///
/// let city = |name, nights: i64| FragmentData::map([("name", FragmentData::from(name)), ("nights", nights.into())]);
/// let prompt = ToonRenderer::new().render(&[
///     role("You book trips."),
///     fragment("rules", [hint("Be kind."), hint("Be brief, always.")]),
///     fragment("cities", [city("Rome", 3), city("Oslo", 2)]),
/// ])?;
/// assert_eq!(prompt, r#"role: You book trips.
/// rules[2]{hint}:
///   Be kind.
///   "Be brief, always."
/// cities[2]{name,nights}:
///   Rome,3
///   Oslo,2"#);
/// # Ok::<_, context_core::fragment::RenderError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToonRenderer {
    group: bool,
    untrusted: bool,
}

impl ToonRenderer {
    /// Creates a renderer that does not group, and trusts fragments that are not marked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether a list of fragments that is a fragment's data becomes an object of arrays, one
    /// for each name, under the plural: `hints[2]: Be kind.,Be brief.`.
    ///
    /// Each group takes the position of its first member. A list is not grouped if it also holds
    /// anything but fragments, or names with the same plural. The top level is never grouped.
    #[must_use]
    pub fn group(mut self, on: bool) -> Self {
        self.group = on;
        self
    }

    /// Sets whether all content is untrusted: then each fragment of the top level has the mark in
    /// its name, not only those that are [marked](Fragment::untrusted).
    #[must_use]
    pub fn untrusted(mut self, on: bool) -> Self {
        self.untrusted = on;
        self
    }

    fn outline<'a>(&self) -> Outline<'a> {
        Outline::new(self.group, self.untrusted)
    }

    /// Arranges the prompt as rows under one header, if the format requires it.
    fn arrange_rows(&self, fragments: &[&Fragment], keyed: bool) -> Option<Arrangement> {
        let mut outline = self.outline();
        let mut nodes = Vec::with_capacity(fragments.len());
        for fragment in fragments {
            // A fragment that cannot be read is refused when it is rendered.
            nodes.extend(outline.read(fragment).ok()?);
        }
        if !keyed {
            nodes.iter().for_each(|id| outline.wrap(*id));
        }
        let root = outline.gather(&nodes, if keyed { Value::Table } else { Value::Array });
        let mut shapes = Shapes::default();
        shapes.find(&outline, root);
        let (Value::Array(children) | Value::Table(children)) = outline.node(root).value else {
            return None;
        };
        let first = shapes.rows(&outline, children)?;
        let mut head = String::new();
        let mut writer = Writer::new(&outline, &shapes, &mut head);
        let form = if nodes.iter().all(|id| same_order(&outline, first, *id)) {
            writer.header_of_document(root);
            if keyed { KEYED_ROW } else { ROW }
        } else {
            // The columns of these rows differ from those of each fragment alone.
            writer.document(root);
            IN_HEAD
        };
        Some(arranged(fragments, form).with_head(head))
    }
}

/// Returns an arrangement with all pieces in one form.
fn arranged(fragments: &[&Fragment], form: Form) -> Arrangement {
    Arrangement::separated_by("\n").with_forms(vec![form; fragments.len()])
}

impl From<RenderOptions> for ToonRenderer {
    fn from(options: RenderOptions) -> Self {
        Self { group: options.group, untrusted: options.untrusted }
    }
}

impl Renderer for ToonRenderer {
    fn name(&self) -> &str {
        "toon"
    }

    fn arrange(&self, fragments: &[&Fragment]) -> Arrangement {
        let shown = || fragments.iter().copied().filter(|fragment| is_shown(fragment));
        let keys: Vec<_> = shown().map(|fragment| Key::of(fragment, self.untrusted)).collect();
        let all_tables = || {
            let mut inflector = self.group.then(Inflector::default);
            let mut is_table = |data: &FragmentData| is_table(data, inflector.as_mut());
            shown().all(|fragment| fragment.data().is_some_and(&mut is_table))
        };
        if all_different(keys.iter()) {
            // Most prompts contain a text, so they need no closer look.
            let rows = if keys.len() > 1 && all_tables() {
                self.arrange_rows(fragments, true)
            } else {
                None
            };
            return rows.unwrap_or_else(|| arranged(fragments, FIELD));
        }
        let all_scalars = || {
            let is_scalar = |data: &FragmentData| {
                matches!(
                    data,
                    FragmentData::Bool(_) | FragmentData::Number(_) | FragmentData::Text(_)
                )
            };
            shown().all(|fragment| fragment.data().is_some_and(is_scalar))
        };
        let alike = keys.windows(2).all(|pair| pair[0] == pair[1]);
        let rows = if alike && (all_scalars() || all_tables()) {
            self.arrange_rows(fragments, false)
        } else {
            None
        };
        rows.unwrap_or_else(|| arranged(fragments, ITEM).with_head(format!("[{}]:", keys.len())))
    }

    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
        let mut outline = self.outline();
        let mut shapes = Shapes::default();
        for piece in pieces {
            outline.clear();
            if let Some(root) = outline.read(piece.fragment)? {
                if matches!(piece.form, ITEM | ROW) {
                    outline.wrap(root);
                }
                shapes.find(&outline, root);
                Writer::new(&outline, &shapes, out.text()).piece(root, piece.form);
            }
            out.end_piece();
        }
        Ok(())
    }
}
