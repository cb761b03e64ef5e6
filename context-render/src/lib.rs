//! Renderers that turn context fragments into prompt text.
//!
//! Each format has one module and one feature. All renderers implement
//! [`Renderer`](context_core::Renderer) and share one walk over the tree, so they agree on which
//! nodes are rendered and in which order.
//!
//! | feature | type | for |
//! |---|---|---|
//! | `xml` (default) | [`XmlRenderer`] | elements, the format of most prompts |
//! | `markdown` (default) | [`MarkdownRenderer`] | sections and lists, for reading |
//! | `toml` (default) | [`TomlRenderer`] | TOML 1.0: settings and facts, read back exactly |
//! | `toon` (default) | [`ToonRenderer`] | TOON 4.4: short for rows of like objects |
//!
//! Every renderer is pure (the same fragments give the same bytes), uses no recursion however deep
//! the tree is, and takes time linear in the size of its output.
//!
//! ```
//! use context_core::{FragmentData, Renderer, fragment, hint, role};
//! use context_render::XmlRenderer;
//!
//! let prompt = XmlRenderer::new().render(&[
//!     role("You book trips."),
//!     fragment("rules", [hint("Ask before you pay."), hint("Prices < 10 EUR are fine.")]),
//!     fragment("cities", ["Rome", "Oslo"]),
//! ])?;
//! assert_eq!(prompt, "\
//! <role>You book trips.</role>
//! <rules>
//!   <hint>Ask before you pay.</hint>
//!   <hint>Prices &lt; 10 EUR are fine.</hint>
//! </rules>
//! <cities>
//!   <city>Rome</city>
//!   <city>Oslo</city>
//! </cities>");
//! # Ok::<_, context_core::fragment::RenderError>(())
//! ```

// Some items are used by one format only. They are dead code when that format is not compiled in.
#[cfg_attr(not(all(feature = "xml", feature = "markdown")), allow(dead_code))]
mod inflect;
#[cfg_attr(not(all(feature = "xml", feature = "markdown")), allow(dead_code))]
mod layout;
#[cfg(feature = "markdown")]
mod markdown;
mod options;
#[cfg(any(feature = "toml", feature = "toon"))]
mod outline;
#[cfg(feature = "toml")]
mod toml;
#[cfg(feature = "toon")]
mod toon;
#[cfg_attr(not(all(feature = "xml", feature = "markdown")), allow(dead_code))]
mod walk;
#[cfg(feature = "xml")]
mod xml;

pub use inflect::{plural, singular};
#[cfg(feature = "markdown")]
pub use markdown::{MarkdownRenderer, title_case};
pub use options::{FORMATS, RenderOptions, by_name};
#[cfg(feature = "toml")]
pub use toml::TomlRenderer;
#[cfg(feature = "toon")]
pub use toon::ToonRenderer;
#[cfg(feature = "xml")]
pub use xml::XmlRenderer;
