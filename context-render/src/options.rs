//! Options common to all renderers, and renderers by name.

use std::sync::Arc;

use context_core::Renderer;

/// Options common to all renderers. A format ignores the options that it has no use for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderOptions {
    /// Whether the fragments of a fragment's list are gathered by name, under the plural.
    pub group: bool,
    /// Whether text of several lines is laid out for reading, in formats that would otherwise keep
    /// its white space exact.
    pub indent_text: bool,
    /// Whether all content is untrusted, not only the fragments that are
    /// [marked](context_core::Fragment::untrusted).
    pub untrusted: bool,
}

impl RenderOptions {
    /// Creates options with everything off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the fragments of a fragment's list are gathered by name.
    #[must_use]
    pub fn group(mut self, on: bool) -> Self {
        self.group = on;
        self
    }

    /// Sets whether text of several lines is laid out for reading.
    #[must_use]
    pub fn indent_text(mut self, on: bool) -> Self {
        self.indent_text = on;
        self
    }

    /// Sets whether all content is untrusted.
    #[must_use]
    pub fn untrusted(mut self, on: bool) -> Self {
        self.untrusted = on;
        self
    }
}

/// The names of the renderers in this build, for `--help` and messages.
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

/// Returns the renderer of a format by its [name](Renderer::name), or `None` if this build does not
/// have it.
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
