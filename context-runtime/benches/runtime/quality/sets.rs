//! The sets of policies that are compared.

use context_runtime::compaction::{
    Stage, microcompact, snip, strip_images, summarize, truncate_head,
};

/// A set of policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Set {
    /// Stages of this library in their order, by name. Each ends with a cut of the beginning.
    Ours {
        name: &'static str,
        stages: &'static [&'static str],
        /// Whether the model is offered `HistoryTools`.
        tools: bool,
        /// The target of every stage but the last as a share of the window, if not its default.
        target: Option<f64>,
    },
    Codex,
    GeminiCli,
    OpenHands,
}

impl Set {
    /// Only the beginning is cut.
    pub(crate) const BASELINE: Self =
        Self::Ours { name: "truncate-head", stages: &[], tools: false, target: None };

    /// Single policies before a cut of the beginning.
    pub(crate) const SINGLE: [Self; 4] = [
        Self::Ours { name: "microcompact", stages: &["microcompact"], tools: false, target: None },
        Self::Ours { name: "strip-images", stages: &["strip-images"], tools: false, target: None },
        Self::Ours { name: "summarize", stages: &["summarize"], tools: false, target: None },
        Self::Ours { name: "snip", stages: &["snip"], tools: false, target: None },
    ];

    /// The defaults of an agent without and with a model for summaries, the latter with history
    /// tools, and other agents.
    pub(crate) const WHOLE: [Self; 10] = [
        Self::Ours {
            name: "ours, no summaries",
            stages: &["microcompact", "snip"],
            tools: false,
            target: None,
        },
        Self::Ours {
            name: "ours, summaries",
            stages: &["microcompact", "summarize", "snip"],
            tools: false,
            target: None,
        },
        Self::Ours {
            name: "ours, history tools",
            stages: &["microcompact", "summarize", "snip"],
            tools: true,
            target: None,
        },
        Self::Ours { name: "snip to 0.3", stages: &["snip"], tools: false, target: Some(0.3) },
        Self::Ours {
            name: "no summaries, to 0.3",
            stages: &["microcompact", "snip"],
            tools: false,
            target: Some(0.3),
        },
        Self::Ours {
            name: "no summaries, to 0.6",
            stages: &["microcompact", "snip"],
            tools: false,
            target: Some(0.6),
        },
        Self::Ours {
            name: "summaries, to 0.3",
            stages: &["summarize", "snip"],
            tools: false,
            target: Some(0.3),
        },
        Self::Codex,
        Self::GeminiCli,
        Self::OpenHands,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours { name, .. } => name,
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::OpenHands => "OpenHands",
        }
    }

    /// Whether the set is of this library, which must not be refused.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Ours { .. })
    }

    pub(crate) fn has_tools(self) -> bool {
        matches!(self, Self::Ours { tools: true, .. })
    }

    /// Returns the stages, from least to most lossy. Other agents bring their own rules.
    pub(crate) fn stages(self) -> Vec<Stage> {
        let Self::Ours { stages, target, .. } = self else { return Vec::new() };
        let stage = |name: &&str| {
            let stage = match *name {
                "microcompact" => microcompact(),
                "strip-images" => strip_images(),
                "summarize" => summarize(),
                "snip" => snip(),
                other => unreachable!("{other} is no policy"),
            };
            target.map_or(stage.clone(), |share| stage.target(share))
        };
        stages.iter().map(stage).chain([truncate_head()]).collect()
    }
}
