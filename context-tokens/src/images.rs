//! What images cost in tokens, by the formulas their providers publish.
//!
//! The size is read from the beginning of the image; the rest is never decoded. An image whose size
//! is unknown (it is at an address, or of an unknown type) gets the interval of what an image may
//! be.

use context_core::message::Media;
use context_core::model::TokenCount;
use serde::{Deserialize, Serialize};

use crate::media;

/// How a provider makes tokens of an image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ImageRule {
    /// OpenAI, GPT-4o and its like: fitted into 2048 pixels square, the shorter side brought down
    /// to 768, then `base` and `tile` for every 512 pixels square. At low detail `base` alone.
    /// Source: the guide "Images and vision",
    /// <https://developers.openai.com/api/docs/guides/images-vision>.
    Tiles {
        /// Tokens for every image.
        base: u64,
        /// Tokens for every tile.
        tile: u64,
    },
    /// OpenAI, newer models: squares of `size` pixels, the image brought down until there are at
    /// most `budget`, times `multiplier`. Source: the same guide.
    Patches {
        /// The side of a square, in pixels.
        size: u64,
        /// The most squares.
        budget: u64,
        /// The most squares when high detail is asked for, if that is another number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high_budget: Option<u64>,
        /// Tokens for a square.
        multiplier: f64,
    },
    /// Anthropic: width times height by `pixels`, the image first brought down to the longest edge
    /// and the most tokens allowed. Source:
    /// <https://platform.claude.com/docs/en/build-with-claude/vision>. The formula is approximate
    /// by its own words; what is billed has been seen to be the number of squares of 28 pixels, so
    /// the interval holds both.
    Area {
        /// Pixels for a token.
        pixels: u64,
        /// The longest edge, in pixels.
        long_edge: u64,
        /// The most tokens.
        most: u64,
    },
    /// Gemini 2: `tokens` if both sides are at most `small` pixels, else as many for every tile of
    /// `side` pixels. Source: <https://ai.google.dev/gemini-api/docs/tokens>.
    Blocks {
        /// The longest side of a small image, in pixels.
        small: u64,
        /// The side of a tile, in pixels.
        side: u64,
        /// Tokens for a small image, and for a tile.
        tokens: u64,
    },
    /// Gemini 3 and later: a number that depends on the resolution asked for and hardly on the
    /// image. Source: <https://ai.google.dev/gemini-api/docs/media-resolution>.
    Flat {
        /// Tokens at the usual resolution.
        tokens: u64,
        /// Tokens at the lowest.
        low: u64,
        /// Tokens at the highest.
        high: u64,
    },
}

/// How closely the model is to look.
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

    /// How many tokens an image of this size is, in pixels, at usual detail.
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
        // Larger ones are refused; the bound keeps the arithmetic exact.
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
                // How far it is brought down is not said for all models.
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

    /// What an image of unknown size may be.
    fn unknown(&self, detail: Detail) -> TokenCount {
        let usual = self.tokens_at(1024, 1024, detail);
        let least = self.tokens_at(64, 64, detail);
        let most = match *self {
            // The largest that is taken, and the shape with the most tiles.
            Self::Tiles { .. } => self.tokens_at(2048, 768, detail),
            Self::Blocks { .. } => self.tokens_at(4096, 4096, detail),
            _ => self.tokens_at(8000, 8000, detail),
        };
        TokenCount::estimate(usual.tokens(), least.low(), most.high())
    }
}

/// By how much it shrinks to fit a square.
fn fit(width: f64, height: f64, side: f64) -> f64 {
    (side / width.max(height)).min(1.0)
}

/// How many squares cover it. Sizes a rounding error above a whole number are that number.
fn squares(width: f64, height: f64, side: f64) -> u64 {
    let along = |length: f64| ((length / side - 1e-6).ceil() as u64).max(1);
    along(width) * along(height)
}

/// How many squares there are within a budget.
fn patches(width: f64, height: f64, size: f64, budget: u64) -> u64 {
    let all = squares(width, height, size);
    if all <= budget {
        return all;
    }
    let shrink = (budget as f64 * size * size / (width * height)).sqrt();
    let (across, down) = (width * shrink / size, height * shrink / size);
    // To whole squares in one direction.
    let whole = |length: f64| if length >= 1.0 { length.floor() / length } else { 1.0 };
    let shrink = whole(across).min(whole(down));
    squares(across * shrink, down * shrink, 1.0).min(budget)
}

/// How many tokens an image is.
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

/// Width and height, if the beginning of the image says so.
fn size(image: &Media) -> Option<(u64, u64)> {
    /// Enough for the header behind the preview that a camera puts in front of it.
    const HEAD: usize = 256 << 10;
    let size = imagesize::blob_size(&media::head(image, HEAD)?).ok()?;
    Some((u64::try_from(size.width).ok()?, u64::try_from(size.height).ok()?))
}
