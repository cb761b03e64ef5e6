//! What can be asked of every renderer, and renderers by name.

use std::sync::Arc;

use context_core::Renderer;

/// What can be asked of every renderer. What a format has no use for it ignores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderOptions {
    /// Gather the fragments of a fragment's list by name, under the plural.
    pub group: bool,
    /// Lay out text of several lines for reading, where the format would otherwise keep its white
    /// space exact.
    pub indent_text: bool,
    /// Take everything for data that somebody else wrote, not only what is
    /// [marked](context_core::Fragment::untrusted) as such.
    pub untrusted: bool,
}

impl RenderOptions {
    /// Nothing special.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gather the fragments of a fragment's list by name.
    #[must_use]
    pub fn group(mut self, on: bool) -> Self {
        self.group = on;
        self
    }

    /// Lay out text of several lines for reading.
    #[must_use]
    pub fn indent_text(mut self, on: bool) -> Self {
        self.indent_text = on;
        self
    }

    /// Take everything for data that somebody else wrote.
    #[must_use]
    pub fn untrusted(mut self, on: bool) -> Self {
        self.untrusted = on;
        self
    }
}

/// The names of the renderers this build has, for `--help` and messages.
pub const FORMATS: &[&str] = &[
    #[cfg(feature = "xml")]
    "xml",
    #[cfg(feature = "markdown")]
    "markdown",
    #[cfg(feature = "toml")]
    "toml",
    #[cfg(feature = "toon")]
    "toon",
];

/// The renderer of a format by its [name](Renderer::name), if this build has it.
///
/// ```
/// use context_core::{Renderer, hint};
/// use context_render::{FORMATS, RenderOptions, by_name};
///
/// for format in FORMATS {
///     let renderer = by_name(format, RenderOptions::new()).expect("it is one of this build");
///     assert!(renderer.render(&[hint("Prices are in EUR.")])?.contains("Prices are in EUR."));
/// }
/// # Ok::<(), context_core::fragment::RenderError>(())
/// ```
pub fn by_name(name: &str, options: RenderOptions) -> Option<Arc<dyn Renderer>> {
    match name {
        #[cfg(feature = "xml")]
        "xml" => Some(Arc::new(crate::XmlRenderer::from(options))),
        #[cfg(feature = "markdown")]
        "markdown" => Some(Arc::new(crate::MarkdownRenderer::from(options))),
        #[cfg(feature = "toml")]
        "toml" => Some(Arc::new(crate::TomlRenderer::from(options))),
        #[cfg(feature = "toon")]
        "toon" => Some(Arc::new(crate::ToonRenderer::from(options))),
        _ => {
            let _ = options;
            None
        }
    }
}
