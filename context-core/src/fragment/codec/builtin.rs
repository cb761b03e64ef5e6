//! The codec of free fragments.

use serde::{Deserialize, Serialize};

use super::{FragmentCodec, unsuitable};
use crate::base::{CodecError, MisfitError};
use crate::{Encoded, Fragment, FragmentData};

/// The codec of free fragments, which name no codec or are untrusted: kind `fragment`, version 2,
/// `{"name": …, "data": …, "untrusted": true, "codec": …}`. The version was raised from 1 because
/// programs that do not know the mark must not treat untrusted data as trusted.
pub(super) struct FreeCodec;

#[derive(Serialize, Deserialize)]
struct FreeForm {
    name: String,
    #[serde(default)]
    data: FragmentData,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    untrusted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    codec: Option<String>,
}

impl FreeCodec {
    pub(super) const KIND: &'static str = "fragment";
    const VERSION: u16 = 2;
}

impl FragmentCodec for FreeCodec {
    fn kind(&self) -> &str {
        Self::KIND
    }

    fn version(&self) -> u16 {
        Self::VERSION
    }

    fn encode(&self, fragment: &Fragment) -> Result<Encoded, CodecError> {
        let unsuitable = |source| unsuitable(fragment, Self::KIND, source);
        let data = fragment.data().filter(|_| !fragment.is_message());
        let form = FreeForm {
            name: fragment.name().to_owned(),
            data: data.cloned().ok_or_else(|| unsuitable(MisfitError::NotData))?,
            untrusted: fragment.is_untrusted(),
            codec: fragment.codec().map(str::to_owned),
        };
        let bytes = serde_json::to_vec(&form).map_err(|error| unsuitable(error.into()))?;
        Ok(Encoded::new(Self::KIND, Self::VERSION, bytes))
    }

    fn decode(&self, encoded: &Encoded) -> Result<Fragment, CodecError> {
        encoded.expect_kind(Self::KIND, Self::VERSION)?;
        let form: FreeForm = serde_json::from_slice(encoded.bytes())
            .map_err(|error| CodecError::malformed(encoded, error))?;
        let mut fragment = Fragment::new(form.name, form.data);
        if form.untrusted {
            fragment = fragment.untrusted();
        }
        Ok(match form.codec {
            Some(codec) => fragment.with_codec(codec),
            None => fragment,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::base::{CodecError, MisfitError};
    use crate::fragment::{BodyCodec, FragmentBody, FragmentContent};
    use crate::{CodecRegistry, Encoded, Fragment, Json, fragment, hint, role};

    #[test]
    fn builders_round_trip_also_inside_a_wrapper() {
        let registry = CodecRegistry::default();
        let free = fragment("rules", [hint("short"), role("guide"), Fragment::new("n", f64::NAN)]);
        for original in [role("x"), hint(""), free] {
            let back = registry.decode(&registry.encode(&original).unwrap()).unwrap();
            assert_eq!(back, original.persisted());
        }
    }

    /// Version 1 had neither the untrusted mark nor the codec name.
    #[test]
    fn free_fragments_of_version_1_are_read() {
        let stored = Encoded::new("fragment", 1, &br#"{"name":"rules","data":["a"]}"#[..]);
        let registry = CodecRegistry::default();
        let read = registry.decode(&stored).unwrap();
        assert_eq!(read, fragment("rules", ["a"]).persisted());
        assert_eq!(registry.encode(&read).unwrap().version(), 2);
    }

    #[test]
    fn unknown_kinds_and_newer_versions_survive_byte_for_byte() {
        let registry = CodecRegistry::default();
        for encoded in [
            Encoded::new("glossary", 7, &b"\xff{not json"[..]),
            Encoded::new("hint", 2, &b"{ \"t\":1}"[..]),
        ] {
            let kept = registry.decode(&encoded).unwrap();
            assert!(matches!(kept.content(), FragmentContent::Unknown(_)));
            assert_eq!(registry.encode(&kept).unwrap(), encoded);
        }
        let broken = registry.decode(&Encoded::new("hint", 1, &b"{}"[..]));
        assert!(matches!(broken, Err(CodecError::Malformed { .. })));
    }

    /// A text in version 1, an object in version 2.
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Proverb {
        text: String,
    }

    impl FragmentBody for Proverb {
        const KIND: &'static str = "proverb";
        const VERSION: u16 = 2;

        fn into_fragment(self) -> Fragment {
            Fragment::new("proverb", self.text)
        }

        fn from_fragment(fragment: &Fragment) -> Result<Self, MisfitError> {
            let text = fragment
                .data()
                .and_then(|data| data.as_text())
                .ok_or(MisfitError::Shape { part: "its data", expected: "text" })?;
            Ok(Self { text: text.to_owned() })
        }

        fn upcast(_from: u16, body: Json) -> Result<Json, CodecError> {
            Ok(serde_json::json!({ "text": body.to_text() }).into())
        }
    }

    #[test]
    fn older_versions_are_lifted_and_written_back_as_the_current_one() {
        let mut registry = CodecRegistry::default();
        assert!(registry.register(BodyCodec::<Proverb>::default()).is_none());
        let proverb =
            registry.decode(&Encoded::new("proverb", 1, &b"\"festina lente\""[..])).unwrap();
        assert_eq!(proverb.data().and_then(|data| data.as_text()), Some("festina lente"));
        let written = registry.encode(&proverb).unwrap();
        assert_eq!(
            (written.version(), &written.bytes()[..]),
            (2, &br#"{"text":"festina lente"}"#[..])
        );
    }

    #[test]
    fn a_fragment_that_does_not_fit_its_codec_is_refused() {
        let registry = CodecRegistry::default();
        let wrong = Fragment::new("other", "x").with_codec("hint");
        assert!(matches!(registry.encode(&wrong), Err(CodecError::Unsuitable { .. })));
        assert!(matches!(registry.encode(&crate::user("hi")), Err(CodecError::Unsuitable { .. })));
        let missing = Fragment::new("x", 1).with_codec("nowhere");
        assert!(matches!(registry.encode(&missing), Err(CodecError::NoCodec { .. })));
    }
}
