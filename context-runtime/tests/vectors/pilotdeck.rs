//! Suite `pilotdeck`: decisions of another runtime, one case each, in groups.
//!
//! | group | what of ours | how a plain case is judged |
//! |---|---|---|
//! | `tool_pairs` | `normalize`, which removes calls without results | equal messages |
//! | `trailing_user` | `normalize`, where the assistant may not have the last word | equal messages |
//! | `normalize_error` | `ModelError::classify` | code through a table, status, flags and numbers |
//! | `estimate` | token counts of a part | within the bounds of ours |
//! | `recovery*` | `RecoveryChain`, of either contract | the same decision and numbers |
//! | `output_bump` | `raised_output` | equal |
//! | `truncate_head*` | `newest`; `TruncateHead` by messages, then `normalize` | equal messages |
//! | `strip_*` | `StripImages`; `without_failed_answer` | equal messages, notes of one kind |
//! | `budget` | `Budget` | equal numbers |
//! | `projector`, `null_runtime` | what runtimes prepare | the same messages, calls and results, the same codes |
//! | `cached_microcompact` | the marks of what is prepared | our own rule: one at the end, at most four |
//! | `wire_*` | `lower` of the provider's codec | equal values of the fields that the case names |
//!
//! A case with `suspect: true` is a fault of the recorded system: ours must be sound, and each judge says by which rule.
//! All other groups belong to the runtime.
//!
//! Texts that the recorded system wrote itself stand as symbols, and mean ours of the same purpose.

mod cuts;
mod errors;
mod estimate;
mod history;
mod messages;
mod prepared;
mod recovery;
mod symbols;
mod wire;

use context_runtime::strip_images::Marker;
use context_runtime::{Contract, FragmentData};

use crate::File;
use crate::encoding::{flag, text};
use crate::judge::{BoxError, Judged, Outcome};

/// A case with its symbols and repetitions written out.
struct Case {
    data: FragmentData,
}

impl Case {
    fn part(&self, key: &str) -> &FragmentData {
        crate::encoding::entry(&self.data, key).unwrap_or(&FragmentData::Null)
    }

    fn input(&self) -> &FragmentData {
        self.part("input")
    }

    fn output(&self) -> &FragmentData {
        self.part("output")
    }

    fn is_suspect(&self) -> bool {
        flag(&self.data, "suspect")
    }
}

pub(crate) fn judge(file: &File<'_>) -> Result<Vec<Judged>, BoxError> {
    let judged = file.cases()?.into_iter().map(|data| {
        let id = text(&data, "id").unwrap_or("without id").to_owned();
        let case = Case { data: symbols::expand(&data) };
        Judged { id, outcome: judge_case(&case) }
    });
    Ok(judged.collect())
}

fn judge_case(case: &Case) -> Outcome {
    match text(&case.data, "group").unwrap_or_default() {
        "tool_pairs" => history::judge_pairs(case),
        "trailing_user" => history::judge_end(case),
        "normalize_error" => errors::judge(case),
        "recovery" => recovery::judge(case, Contract::Extended),
        "recovery_seed_era" | "recovery_inline" => recovery::judge(case, Contract::Seed),
        "output_bump" => recovery::judge_raise(case),
        "truncate_head" => cuts::judge_newest(case),
        "truncate_head_preserving" => cuts::judge_truncated(case),
        "strip_images_for_recovery" => cuts::judge_stripped(case, Marker::Removed),
        "strip_media_for_summary" => cuts::judge_stripped(case, Marker::Kind),
        "strip_trailing_error_pair" => cuts::judge_failed_answer(case),
        "estimate" => estimate::judge(case),
        "budget" => prepared::judge_budget(case),
        group @ ("projector" | "null_runtime" | "cached_microcompact") => prepared::judge(case, group),
        group => match group.strip_prefix("wire_") {
            Some(provider) => wire::judge(case, provider),
            None => Outcome::Skipped("belongs to the runtime".to_owned()),
        },
    }
}

/// A value as plain JSON.
fn json(data: &FragmentData) -> serde_json::Value {
    serde_json::to_value(data).unwrap_or_default()
}
