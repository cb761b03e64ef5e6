//! Refusals of codecs.
//!
//! A row describes in words what was tried; [`Attempt`] is the equivalent here. If both sides
//! refuse they agree, and texts are not compared. If only the recorded side refuses, our stored
//! form must read back unchanged: here every fragment has one, and unknown ones are kept byte for
//! byte. If the recorded side accepts without a check, ours must refuse.

use context_runtime::kinds::policy;
use context_runtime::{
    Fragment, FragmentContent, FragmentData,
    fragments::{CodecError, CodecRegistry, Encoded},
    user,
};

use crate::encoding::text;
use crate::judge::{Difference, Outcome};

/// The attempt of a row.
enum Attempt {
    /// Stores a fragment.
    Store(Fragment),
    /// Reads a stored form.
    Read(Encoded),
    /// Something that the types rule out, and why.
    CannotBeSaid(&'static str),
}

impl Attempt {
    fn told(what: &str) -> Option<Self> {
        if let Some(kind) = what.strip_prefix("toFragment type ") {
            return Some(Self::Read(Encoded::new(kind, 1, &b"{}"[..])));
        }
        Some(match what {
            "fromFragment of a user message" => Self::Store(user("x")),
            "fromFragment of {name:\"foo\",data:1}" => Self::Store(Fragment::new("foo", 1)),
            "fromFragment of {name:\"hint\",data:\"x\"} without codec" => {
                Self::Store(Fragment::new("hint", "x"))
            }
            "fromFragment when codec.encode() returns a string" => {
                Self::CannotBeSaid("a codec gives bytes with a kind and a version")
            }
            "toFragment unknown type" => Self::Read(Encoded::new("zzz", 1, &b"{}"[..])),
            "toFragment hint without text: encode again" => {
                Self::Read(Encoded::new("hint", 1, &b"{}"[..]))
            }
            "policy with a raw fragment without codec: encode" => {
                Self::Store(policy("r").policies([Fragment::new("raw", "x")]).into())
            }
            "policy with a message fragment: encode" => {
                Self::Store(policy("r").policies([user("x")]).into())
            }
            "getFragmentData of {name} only" => Self::CannotBeSaid("a fragment has content"),
            _ => return None,
        })
    }
}

pub(super) fn judge(row: &FragmentData) -> Outcome {
    let what = text(row, "what").unwrap_or_default();
    let refused = text(row, "error");
    let registry = CodecRegistry::default();
    match Attempt::told(what) {
        None => Outcome::Skipped(format!("not known: {what}")),
        Some(Attempt::CannotBeSaid(why)) => Outcome::Skipped(format!("cannot be said: {why}")),
        Some(Attempt::Store(fragment)) => Outcome::of(check_stored(&registry, &fragment, refused)),
        Some(Attempt::Read(encoded)) => Outcome::of(check_read(&registry, &encoded, refused)),
    }
}

fn check_stored(
    registry: &CodecRegistry,
    fragment: &Fragment,
    refused: Option<&str>,
) -> Result<String, Difference> {
    let expected = refused.unwrap_or("a stored form");
    let stored = match registry.encode(fragment) {
        Err(_) if refused.is_some() => return Ok("refused by both".to_owned()),
        Err(error) => return Err(Difference::new("is stored", expected, error)),
        Ok(stored) => stored,
    };
    match registry.decode(&stored) {
        Ok(back) if back == fragment.clone().persisted() => {
            Ok("sound: comes back as it was".to_owned())
        }
        other => {
            Err(Difference::new("refused, or comes back as it was", expected, format!("{other:?}")))
        }
    }
}

fn check_read(
    registry: &CodecRegistry,
    encoded: &Encoded,
    refused: Option<&str>,
) -> Result<String, Difference> {
    let expected = refused.unwrap_or("refused as malformed");
    match registry.decode(encoded) {
        Err(CodecError::Malformed { .. }) if refused.is_none() => {
            Ok("sound: what a kind requires is checked".to_owned())
        }
        Err(_) if refused.is_some() => Ok("refused by both".to_owned()),
        Ok(kept)
            if refused.is_some()
                && !kept.is_message()
                && matches!(kept.content(), FragmentContent::Unknown(same) if same == encoded)
                && registry.encode(&kept).is_ok_and(|again| again == *encoded) =>
        {
            Ok("sound: kept byte for byte, and taken for nothing else".to_owned())
        }
        other => Err(Difference::new("refused, or kept as it is", expected, format!("{other:?}"))),
    }
}
