//! Suite `pilotdeck`: decisions of another runtime, one per case, in groups.
//!
//! | group | tested function | how a plain case is judged |
//! |---|---|---|
//! | `tool_pairs` | `normalize`, which removes calls without results | equal messages |
//! | `trailing_user` | `normalize`, where the assistant may not come last | equal messages |
//! | `normalize_error` | `ModelError::classify` | code through a table, status, flags and numbers |
//! | `estimate` | token counts of a part | within our bounds |
//! | `recovery` | `RecoveryChain` of the extended contract, ratios as recorded | the same decision and numbers |
//! | `recovery_seed_era`, `recovery_inline` | `RecoveryChain` of the seed's contract | the same decision |
//! | `output_bump` | `raised_output` | equal |
//! | `truncate_head` | `newest` | equal messages |
//! | `truncate_head_preserving` | `TruncateHead` by messages, without notes, then `normalize` | equal messages |
//! | `strip_images_for_recovery` | `StripImages` | equal messages, notes of one kind |
//! | `strip_media_for_summary` | `StripImages`, with the kind in its notes | equal messages |
//! | `strip_trailing_error_pair` | `without_failed_answer` | equal messages |
//! | `microcompact` | `Microcompact` for repeatable tools, counting messages | the same results, within the bound |
//! | `microcompact_seed_era` | `Microcompact::clearing` | the same results, each replaced by a note |
//! | `cached_microcompact` | the cache breakpoints that `DefaultContextRuntime` prepares | they cover what the recorded ones cover |
//! | `snip` | `Snip` with a target, `Snip::by_turns` without | equal except for the first request and notes |
//! | `snip_seed_era` | `Snip::by_turns` | the same |
//! | `projector` | `DefaultContextRuntime` without policies | equal messages and warnings, after what a limit keeps whole |
//! | `null_runtime` | `NullContextRuntime` | equal roles, boundaries and codes, after the same |
//! | `budget` | `Budget` | equal numbers |
//! | `real_request` | `Message::is_request` | equal |
//! | `memory_query` | the queries of `DefaultContextRuntime` to its memory | equal, one per turn |
//! | `tool_result_budget` | `apply_tool_results`, blobs in a store | the same results are spilled |
//! | `auto_compact` | `DefaultContextRuntime` with the stages of the case | the same decision and report; more may stay |
//! | `post_compact_order` | `Summarize::accept`, then `normalize` | equal order, one checkpoint at the front |
//! | `replay` | `ContextEngine`, reopened | saved messages are there |
//! | `wire_*` | `lower` of the provider's codec | equal values of the fields that the case names |
//!
//! A case with `suspect: true` records a fault of the other system: our result must be sound, and
//! each judge names its rule. A case with unknown options is skipped.
//!
//! Texts that the recorded system wrote itself are symbols or begin with its tags, and correspond
//! to our texts of the same purpose.

mod bounding;
mod compaction;
mod counting;
mod cuts;
mod errors;
mod estimate;
mod history;
mod messages;
mod options;
mod padding;
mod prepared;
mod recovery;
mod replay;
mod requests;
mod snips;
mod spilled;
mod symbols;
mod wire;

use std::future::Future;
use std::rc::Rc;

use context_runtime::strip_images::Marker;
use context_runtime::{DecisionSet, FragmentData};

use crate::File;
use crate::encoding::{flag, text};
use crate::judge::{BoxError, Judged, Outcome};

/// A case with its symbols and repetitions expanded.
struct Case {
    data: FragmentData,
    tokio: Rc<tokio::runtime::Runtime>,
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

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.tokio.block_on(future)
    }
}

pub(crate) fn judge(file: &File<'_>) -> Result<Vec<Judged>, BoxError> {
    let tokio = Rc::new(tokio::runtime::Builder::new_current_thread().enable_all().build()?);
    let judged = file.cases()?.into_iter().map(|data| {
        let id = text(&data, "id").unwrap_or("without id").to_owned();
        let case = Case { data: symbols::expand(&data), tokio: Rc::clone(&tokio) };
        Judged { id, outcome: judge_case(&case) }
    });
    Ok(judged.collect())
}

fn judge_case(case: &Case) -> Outcome {
    match text(&case.data, "group").unwrap_or_default() {
        "tool_pairs" => history::judge_pairs(case),
        "trailing_user" => history::judge_end(case),
        "normalize_error" => errors::judge(case),
        "recovery" => recovery::judge(case, DecisionSet::Full),
        "recovery_seed_era" | "recovery_inline" => recovery::judge(case, DecisionSet::Basic),
        "output_bump" => recovery::judge_raise(case),
        "truncate_head" => cuts::judge_newest(case),
        "truncate_head_preserving" => cuts::judge_truncated(case),
        "strip_images_for_recovery" => cuts::judge_stripped(case, Marker::Removed),
        "strip_media_for_summary" => cuts::judge_stripped(case, Marker::Kind),
        "strip_trailing_error_pair" => cuts::judge_failed_answer(case),
        "estimate" => estimate::judge(case),
        "microcompact" => bounding::judge(case, false),
        "microcompact_seed_era" => bounding::judge(case, true),
        "cached_microcompact" => prepared::judge_marks(case),
        "snip" | "snip_seed_era" => snips::judge(case),
        "projector" => prepared::judge_projected(case),
        "null_runtime" => prepared::judge_null(case),
        "real_request" => requests::judge_request(case),
        "memory_query" => requests::judge_query(case),
        "budget" => requests::judge_budget(case),
        "tool_result_budget" => spilled::judge(case),
        "replay" => replay::judge(case),
        "auto_compact" => compaction::judge(case),
        "post_compact_order" => compaction::judge_order(case),
        group => match group.strip_prefix("wire_") {
            Some(provider) => wire::judge(case, provider),
            None => Outcome::Skipped(format!("an unknown group: {group}")),
        },
    }
}

/// Converts a value to plain JSON.
fn json(data: &FragmentData) -> serde_json::Value {
    serde_json::to_value(data).unwrap_or_default()
}
