//! Metadata of a part, found in one pass: most parts have none, few have much.

use context_codec_kit::wire::truth;
use context_core::{Json, Metadata};

use crate::responses::keys::{
    ANNOTATIONS, BREAKPOINT, CALLER, CONTENT, DETAIL, ID, LOGPROBS, NAMESPACE, PHASE, REFUSAL,
    STATUS, SUMMARY, TYPE,
};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartMetadata<'a> {
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

impl<'a> PartMetadata<'a> {
    pub(super) fn of(source: &'a Metadata) -> Self {
        let mut fields = Self::default();
        for (key, value) in source.iter() {
            let field = match key {
                ID => &mut fields.id,
                STATUS => &mut fields.status,
                PHASE => &mut fields.phase,
                NAMESPACE => &mut fields.namespace,
                CALLER => &mut fields.caller,
                ANNOTATIONS => &mut fields.annotations,
                LOGPROBS => &mut fields.logprobs,
                BREAKPOINT => &mut fields.breakpoint,
                DETAIL => &mut fields.detail,
                SUMMARY => &mut fields.summary,
                CONTENT => &mut fields.content,
                REFUSAL => {
                    fields.is_refusal = *value == truth();
                    continue;
                }
                TYPE => {
                    fields.is_custom = value.as_str() == r#""custom""#;
                    continue;
                }
                _ => continue,
            };
            *field = Some(value);
        }
        fields
    }
}
