//! Token counts of images, by the formulas that providers publish.
//!
//! The size is read from the beginning of the image; the rest is never decoded. An image of unknown
//! size (given by address, or of an unknown type) gets the interval of all possible sizes.

use context_core::message::Media;
use context_core::model::TokenCount;
use serde::{Deserialize, Serialize};

use crate::media;

/// A provider's rule for the tokens of an image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ImageRule {
    /// OpenAI, GPT-4o and similar models: the image is scaled to fit 2048 pixels square, its
    /// shorter side down to 768, then costs `base` plus `tile` for every 512 pixels square. At low
    /// detail only `base`. Source: the guide "Images and vision",
    /// <https://developers.openai.com/api/docs/guides/images-vision>.
    Tiles {
        /// Tokens per image.
        base: u64,
        /// Tokens per tile.
        tile: u64,
    },
    /// OpenAI, newer models: squares of `size` pixels, with the image scaled down until there are
    /// at most `budget` squares, times `multiplier`. Source: the same guide.
    Patches {
        /// The side of a square, in pixels.
        size: u64,
        /// Maximum number of squares.
        budget: u64,
        /// Maximum number of squares at high detail, if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high_budget: Option<u64>,
        /// Tokens per square.
        multiplier: f64,
    },
    /// Anthropic: width times height divided by `pixels`, with the image first scaled down to the
    /// longest edge and the most tokens allowed. Source:
    /// <https://platform.claude.com/docs/en/build-with-claude/vision>. The source calls the formula
    /// approximate. Billed counts have been observed to equal the number of squares of 28 pixels,
    /// so the interval contains both.
    Area {
        /// Pixels per token.
        pixels: u64,
        /// The longest edge, in pixels.
        long_edge: u64,
        /// Maximum number of tokens.
        most: u64,
    },
    /// Gemini 2: `tokens` if both sides are at most `small` pixels, otherwise `tokens` for every
    /// tile of `side` pixels. Source: <https://ai.google.dev/gemini-api/docs/tokens>.
    Blocks {
        /// The longest side of a small image, in pixels.
        small: u64,
        /// The side of a tile, in pixels.
        side: u64,
        /// Tokens per small image, and per tile.
        tokens: u64,
    },
    /// Gemini 3 and later: a number that depends on the requested resolution and hardly on the
    /// image. Source: <https://ai.google.dev/gemini-api/docs/media-resolution>.
    Flat {
        /// Tokens at the usual resolution.
        tokens: u64,
        /// Tokens at the lowest resolution.
        low: u64,
        /// Tokens at the highest resolution.
        high: u64,
    },
}

/// The level of detail at which the model sees the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Low,
    High,
    Auto,
}

impl ImageRule {
    pub(crate) fn is_sound(self) -> bool {
        match self {
            Self::Tiles { .. } | Self::Flat { .. } => true,
            Self::Patches { size, budget, high_budget, multiplier } => {
                size > 0
                    && budget > 0
                    && high_budget != Some(0)
                    && (0.0..=1000.0).contains(&multiplier)
            }
            Self::Area { pixels, long_edge, most } => pixels > 0 && long_edge > 0 && most > 0,
            Self::Blocks { side, .. } => side > 0,
        }
    }

    /// Returns the tokens of an image of this size in pixels, at usual detail.
    ///
    /// ```
    /// use context_tokens::ImageRule;
    ///
    /// let rule = ImageRule::Tiles { base: 85, tile: 170 };
    /// assert_eq!(rule.tokens(2048, 4096).tokens(), 1105);
    /// ```
    pub fn tokens(&self, width: u64, height: u64) -> TokenCount {
        self.tokens_at(width, height, Detail::Auto)
    }

    fn tokens_at(&self, width: u64, height: u64, detail: Detail) -> TokenCount {
        // Larger images are refused; the bound keeps the arithmetic exact.
        let (width, height) = (width.clamp(1, 1 << 20) as f64, height.clamp(1, 1 << 20) as f64);
        match *self {
            Self::Tiles { base, .. } if detail == Detail::Low => TokenCount::exact(base),
            Self::Tiles { base, tile } => {
                let scale = fit(width, height, 2048.0);
                let scale = scale * (768.0 / (width.min(height) * scale)).min(1.0);
                let tiles = squares(width * scale, height * scale, 512.0);
                TokenCount::exact(base.saturating_add(tile.saturating_mul(tiles)))
            }
            Self::Patches { size, budget, high_budget, multiplier } => {
                let size = size as f64;
                let (width, height, budget) = match detail {
                    Detail::Low => {
                        let scale = fit(width, height, 512.0);
                        (width * scale, height * scale, budget)
                    }
                    Detail::High => (width, height, high_budget.unwrap_or(budget)),
                    Detail::Auto => (width, height, budget),
                };
                let tokens = |patches: u64| (patches as f64 * multiplier - 1e-6).ceil() as u64;
                TokenCount::exact(tokens(patches(width, height, size, budget)))
            }
            Self::Area { pixels, long_edge, most } => {
                let at_most = (most * pixels) as f64;
                let scale = fit(width, height, long_edge as f64)
                    .min((at_most / (width * height)).sqrt())
                    .min(1.0);
                let (width, height) = (width * scale, height * scale);
                let tokens = ((width * height / pixels as f64).round() as u64).max(1);
                let grid = squares(width, height, 28.0);
                // Not all models document how far the image is scaled down.
                let least = if scale < 1.0 { tokens.min(grid) * 6 / 10 } else { tokens.min(grid) };
                TokenCount::estimate(tokens, least, tokens.max(grid))
            }
            Self::Blocks { small, tokens, .. } if width.max(height) <= small as f64 => {
                TokenCount::exact(tokens)
            }
            Self::Blocks { side, tokens, .. } => {
                TokenCount::exact(tokens.saturating_mul(squares(width, height, side as f64)))
            }
            Self::Flat { tokens, low, high } => TokenCount::estimate(tokens, low, high),
        }
    }

    /// Returns the interval for an image of unknown size.
    fn unknown(&self, detail: Detail) -> TokenCount {
        let usual = self.tokens_at(1024, 1024, detail);
        let least = self.tokens_at(64, 64, detail);
        let most = match *self {
            // The largest size that is accepted, and the shape with the most tiles.
            Self::Tiles { .. } => self.tokens_at(2048, 768, detail),
            Self::Blocks { .. } => self.tokens_at(4096, 4096, detail),
            _ => self.tokens_at(8000, 8000, detail),
        };
        TokenCount::estimate(usual.tokens(), least.low(), most.high())
    }
}

/// Returns the scale at which the image fits a square.
fn fit(width: f64, height: f64, side: f64) -> f64 {
    (side / width.max(height)).min(1.0)
}

/// Returns how many squares cover the image. Sizes a rounding error above a whole number count as
/// that number.
fn squares(width: f64, height: f64, side: f64) -> u64 {
    let along = |length: f64| ((length / side - 1e-6).ceil() as u64).max(1);
    along(width) * along(height)
}

/// Returns how many squares cover the image after it is scaled down to the budget.
fn patches(width: f64, height: f64, size: f64, budget: u64) -> u64 {
    let all = squares(width, height, size);
    if all <= budget {
        return all;
    }
    let shrink = (budget as f64 * size * size / (width * height)).sqrt();
    let (across, down) = (width * shrink / size, height * shrink / size);
    // Scales down to whole squares in one direction.
    let whole = |length: f64| if length >= 1.0 { length.floor() / length } else { 1.0 };
    let shrink = whole(across).min(whole(down));
    squares(across * shrink, down * shrink, 1.0).min(budget)
}

/// Returns how many tokens an image costs.
pub(crate) fn count(image: &Media, rule: Option<&ImageRule>) -> TokenCount {
    let Some(rule) = rule else { return TokenCount::estimate(1_500, 64, 15_000) };
    let detail = image.metadata.get("openai.detail").map(context_core::Json::as_str);
    let detail = match detail {
        Some(r#""low""#) => Detail::Low,
        Some(r#""high""#) => Detail::High,
        _ => Detail::Auto,
    };
    match size(image) {
        Some((width, height)) => rule.tokens_at(width, height, detail),
        None => rule.unknown(detail),
    }
}

/// Returns width and height, if they can be read from the beginning of the image.
fn size(image: &Media) -> Option<(u64, u64)> {
    /// Enough for a header that follows an embedded camera preview.
    const HEAD: usize = 256 << 10;
    let size = imagesize::blob_size(&media::head(image, HEAD)?).ok()?;
    Some((u64::try_from(size.width).ok()?, u64::try_from(size.height).ok()?))
}
