//! Metadata of a part, found in one pass: most parts have none, few have much.

use context_codec_kit::wire::truth;
use context_core::{Json, Metadata};

use crate::responses::keys::{
    ANNOTATIONS, BREAKPOINT, CALLER, CONTENT, DETAIL, ID, LOGPROBS, NAMESPACE, PHASE, REFUSAL,
    STATUS, SUMMARY, TYPE,
};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept<'a> {
    pub(super) id: Option<&'a Json>,
    pub(super) status: Option<&'a Json>,
    pub(super) phase: Option<&'a Json>,
    pub(super) namespace: Option<&'a Json>,
    pub(super) caller: Option<&'a Json>,
    pub(super) annotations: Option<&'a Json>,
    pub(super) logprobs: Option<&'a Json>,
    pub(super) breakpoint: Option<&'a Json>,
    pub(super) detail: Option<&'a Json>,
    pub(super) summary: Option<&'a Json>,
    pub(super) content: Option<&'a Json>,
    pub(super) is_refusal: bool,
    pub(super) is_custom: bool,
}

impl<'a> Kept<'a> {
    pub(super) fn of(metadata: &'a Metadata) -> Self {
        let mut kept = Self::default();
        for (key, value) in metadata.iter() {
            let place = match key {
                ID => &mut kept.id,
                STATUS => &mut kept.status,
                PHASE => &mut kept.phase,
                NAMESPACE => &mut kept.namespace,
                CALLER => &mut kept.caller,
                ANNOTATIONS => &mut kept.annotations,
                LOGPROBS => &mut kept.logprobs,
                BREAKPOINT => &mut kept.breakpoint,
                DETAIL => &mut kept.detail,
                SUMMARY => &mut kept.summary,
                CONTENT => &mut kept.content,
                REFUSAL => {
                    kept.is_refusal = *value == truth();
                    continue;
                }
                TYPE => {
                    kept.is_custom = value.as_str() == r#""custom""#;
                    continue;
                }
                _ => continue,
            };
            *place = Some(value);
        }
        kept
    }
}
