//! TOML 1.0: keys, tables and arrays.
//!
//! The outline of plain data, shared with TOON, decides where each value is written; this module
//! and its submodules do the layout. Documents are written, never read.

mod text;
mod write;

use context_core::fragment::{Arrangement, Piece, Pieces, RenderError};
use context_core::{Fragment, Renderer};

use self::write::{DOTTED, HEADED, ITEM, Writer};
use crate::RenderOptions;
use crate::inflect::Inflector;
use crate::outline::{Key, Outline, all_different, is_shown, is_table};

/// Renders fragments as a TOML document.
///
/// The output is TOML 1.0 for every input, and reads back as the same tree.
///
/// # Content
///
/// * A fragment is a key of its name. Text, numbers and booleans are its value, a map is a table, a
///   list an array. A value that is a fragment is a table of one entry. Null is left out; empty
///   tables and arrays are written.
/// * A list that holds only fragments, all of different names, is a table of them. In any other
///   list each fragment is a table of one entry. Order is kept.
/// * The same holds at the top level: if two fragments there have the same name, all of them become
///   items of one array of tables, `[[fragments]]`.
/// * The name of an untrusted fragment ends with ` (untrusted)`.
/// * u64 numbers above `i64::MAX` are written as text, because TOML has no such integer. Floats
///   read back as floats: `2.0`, `1e+21`, `nan`, `-inf`.
///
/// # Layout
///
/// * A table has a header, `[name]`, if nothing follows that would then be read as part of it.
///   Otherwise its entries have dotted keys, `name.key = "…"`. Headers and dotted keys have at most
///   eight names, and repeated paths at most 256 bytes. Deeper tables are inline, so the output
///   cannot grow with the square of the depth.
/// * Text of several lines is a multi-line string. Inside arrays and inline tables its line breaks
///   are escaped.
/// * An array that holds tables or arrays has an item per line.
/// * Keys are bare where TOML allows it, otherwise quoted.
///
/// A value that occurs in several places is written in each of them.
///
/// ```
/// use context_core::{FragmentData, Renderer, Fragment, fragment, hint, role};
/// use context_render::TomlRenderer;
///
/// let policy = FragmentData::map([("rule", "Ask before you pay."), ("reason", "No refunds.\nEver.")]);
/// let prompt = TomlRenderer::new().render(&[
///     role("You book trips."),
///     fragment("rules", [hint("Be kind."), hint("Be brief.")]),
///     Fragment::new("policy", policy),
/// ])?;
/// assert_eq!(prompt, r#"role = "You book trips."
///
/// rules = [
///   { hint = "Be kind." },
///   { hint = "Be brief." },
/// ]
///
/// [policy]
/// rule = "Ask before you pay."
/// reason = """
/// No refunds.
/// Ever.""""#);
/// # Ok::<_, context_core::fragment::RenderError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TomlRenderer {
    group: bool,
    untrusted: bool,
}

impl TomlRenderer {
    /// Creates a renderer that does not group, and trusts fragments that are not marked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether a list of fragments that is a fragment's data becomes a table of arrays, one
    /// for each name, under the plural: `hints = ["Be kind.", "Be brief."]`.
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
}

impl From<RenderOptions> for TomlRenderer {
    fn from(options: RenderOptions) -> Self {
        Self { group: options.group, untrusted: options.untrusted }
    }
}

impl Renderer for TomlRenderer {
    fn name(&self) -> &str {
        "toml"
    }

    fn arrange(&self, fragments: &[&Fragment]) -> Arrangement {
        let arrangement = Arrangement::separated_by("\n\n");
        let shown = |fragment: &&Fragment| is_shown(fragment);
        let keys: Vec<_> = fragments
            .iter()
            .copied()
            .filter(shown)
            .map(|shown| Key::of(shown, self.untrusted))
            .collect();
        if !all_different(keys.iter()) {
            return arrangement.with_forms(vec![ITEM; fragments.len()]);
        }
        let mut inflector = self.group.then(Inflector::default);
        let mut is_table = |fragment: &Fragment| {
            fragment.data().is_some_and(|data| is_table(data, inflector.as_mut()))
        };
        let tables: Vec<_> = fragments.iter().map(|fragment| is_table(fragment)).collect();
        let is_plain = |index: &usize| !tables[*index] && is_shown(fragments[*index]);
        let last_plain = (0..tables.len()).rev().find(is_plain).unwrap_or(0);
        // A piece that is not a table looks the same in both forms. Keeping one form for it avoids
        // writing it again.
        let form = |(index, table): (usize, &bool)| {
            if *table && index < last_plain { DOTTED } else { HEADED }
        };
        arrangement.with_forms(tables.iter().enumerate().map(form).collect())
    }

    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
        let mut outline = Outline::new(self.group, self.untrusted);
        let mut writer = Writer::default();
        for piece in pieces {
            outline.clear();
            if let Some(root) = outline.read(piece.fragment)? {
                if piece.form == ITEM {
                    outline.wrap(root);
                }
                writer.write(&outline, root, piece.form, out.text());
            }
            out.end_piece();
        }
        Ok(())
    }
}
