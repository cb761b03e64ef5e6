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
        /// The trigger of the first stage as a share of the window, if not its default.
        trigger: Option<f64>,
        /// The target of every stage but the last as a share of the window, if not its default.
        target: Option<f64>,
    },
    Codex,
    GeminiCli,
    OpenHands,
}

impl Set {
    /// Only the beginning is cut.
    pub(crate) const BASELINE: Self = Self::stages_of("truncate-head", &[]);

    /// Single policies before a cut of the beginning.
    pub(crate) const SINGLE: [Self; 4] = [
        Self::stages_of("microcompact", &["microcompact"]),
        Self::stages_of("strip-images", &["strip-images"]),
        Self::stages_of("summarize", &["summarize"]),
        Self::stages_of("snip", &["snip"]),
    ];

    /// The defaults of an agent without and with a model for summaries, the latter with history
    /// tools, sets with other settings, and other agents.
    pub(crate) const WHOLE: [Self; 11] = [
        Self::Defaults { name: "ours, no summaries", summaries: false, tools: false },
        Self::Defaults { name: "ours, summaries", summaries: true, tools: false },
        Self::Defaults { name: "ours, history tools", summaries: true, tools: true },
        Self::stages_of("microcompact, snip", &["microcompact", "snip"]),
        Self::stages_of("microcompact, summarize", &["microcompact", "summarize", "snip"]),
        Self::Stages { name: "snip to 0.3", stages: &["snip"], trigger: None, target: Some(0.3) },
        Self::Stages { name: "snip to 0.6", stages: &["snip"], trigger: None, target: Some(0.6) },
        Self::Stages {
            name: "summarize from 0.5",
            stages: &["summarize", "snip"],
            trigger: Some(0.5),
            target: None,
        },
        Self::Codex,
        Self::GeminiCli,
        Self::OpenHands,
    ];

    /// Returns stages with their default settings.
    const fn stages_of(name: &'static str, stages: &'static [&'static str]) -> Self {
        Self::Stages { name, stages, trigger: None, target: None }
    }

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
        let (stages, trigger, target) = match self {
            Self::Defaults { summaries, .. } => return default_stages(summaries),
            Self::Stages { stages, trigger, target, .. } => (stages, trigger, target),
            Self::Codex | Self::GeminiCli | Self::OpenHands => return Vec::new(),
        };
        let stage = |(index, name): (usize, &&str)| {
            let stage = match *name {
                "microcompact" => microcompact(),
                "strip-images" => strip_images(),
                "summarize" => summarize(),
                "snip" => snip(),
                other => unreachable!("{other} is no policy"),
            };
            let stage = match trigger.filter(|_| index == 0) {
                Some(share) => stage.trigger(share),
                None => stage,
            };
            target.map_or(stage.clone(), |share| stage.target(share))
        };
        stages.iter().enumerate().map(stage).chain([truncate_head()]).collect()
    }
}
