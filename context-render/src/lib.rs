//! Renderers that turn context fragments into prompt text.
//!
//! One module and one feature per format; all implement [`Renderer`](context_core::Renderer) and share one walk
//! over the tree, so that they agree on what is rendered and in which order.
//!
//! | feature | type | for |
//! |---|---|---|
//! | `xml` (default) | [`XmlRenderer`] | elements, the format of most prompts |
//! | `toml` (default) | [`TomlRenderer`] | TOML 1.0: settings and facts, read back exactly |
//! | `toon` (default) | [`ToonRenderer`] | TOON 4.4: short for rows of like objects |
//!
//! Every renderer is pure (the same fragments give the same bytes), needs no stack however deep the tree is, and
//! takes time linear in what it writes.
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
//! # Ok::<_, context_core::RenderError>(())
//! ```

#[cfg_attr(not(feature = "xml"), allow(dead_code, reason = "plain data has no names for items"))]
mod inflect;
mod options;
#[cfg(any(feature = "toml", feature = "toon"))]
mod outline;
#[cfg(feature = "toml")]
mod toml;
#[cfg(feature = "toon")]
mod toon;
#[cfg_attr(not(feature = "xml"), allow(dead_code, reason = "not every format wraps and groups"))]
mod walk;
#[cfg(feature = "xml")]
mod xml;

pub use inflect::{plural, singular};
pub use options::{FORMATS, RenderOptions, by_name};
#[cfg(feature = "toml")]
pub use toml::TomlRenderer;
#[cfg(feature = "toon")]
pub use toon::ToonRenderer;
#[cfg(feature = "xml")]
pub use xml::XmlRenderer;
