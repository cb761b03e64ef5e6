//! The sets of policies that are compared.

use context_runtime::compaction::{
    Stage, default_stages, microcompact, snip, strip_images, summarize, truncate_head,
};

/// A set of policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Set {
    /// The defaults of an agent, with or without a model that writes summaries.
    Defaults {
        name: &'static str,
        summaries: bool,
        /// Whether the model is offered `HistoryTools`.
        tools: bool,
    },
    /// Stages of this library in their order, by name. Each ends with a cut of the beginning.
    Stages {
        name: &'static str,
        stages: &'static [&'static str],
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
        Self::Stages { name: "truncate-head", stages: &[], target: None };

    /// Single policies before a cut of the beginning.
    pub(crate) const SINGLE: [Self; 4] = [
        Self::Stages { name: "microcompact", stages: &["microcompact"], target: None },
        Self::Stages { name: "strip-images", stages: &["strip-images"], target: None },
        Self::Stages { name: "summarize", stages: &["summarize"], target: None },
        Self::Stages { name: "snip", stages: &["snip"], target: None },
    ];

    /// The defaults of an agent without and with a model for summaries, the latter with history
    /// tools, and other agents.
    pub(crate) const WHOLE: [Self; 10] = [
        Self::Defaults { name: "ours, no summaries", summaries: false, tools: false },
        Self::Defaults { name: "ours, summaries", summaries: true, tools: false },
        Self::Defaults { name: "ours, history tools", summaries: true, tools: true },
        Self::Stages {
            name: "microcompact, snip",
            stages: &["microcompact", "snip"],
            target: None,
        },
        Self::Stages {
            name: "microcompact, summarize",
            stages: &["microcompact", "summarize", "snip"],
            target: None,
        },
        Self::Stages { name: "snip to 0.3", stages: &["snip"], target: Some(0.3) },
        Self::Stages { name: "snip to 0.6", stages: &["snip"], target: Some(0.6) },
        Self::Codex,
        Self::GeminiCli,
        Self::OpenHands,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Defaults { name, .. } | Self::Stages { name, .. } => name,
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::OpenHands => "OpenHands",
        }
    }

    /// Whether the set is of this library, which must not be refused.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Defaults { .. } | Self::Stages { .. })
    }

    pub(crate) fn has_tools(self) -> bool {
        matches!(self, Self::Defaults { tools: true, .. })
    }

    /// Returns the stages, from least to most lossy. Other agents bring their own rules.
    pub(crate) fn stages(self) -> Vec<Stage> {
        let (stages, target) = match self {
            Self::Defaults { summaries, .. } => return default_stages(summaries),
            Self::Stages { stages, target, .. } => (stages, target),
            Self::Codex | Self::GeminiCli | Self::OpenHands => return Vec::new(),
        };
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
