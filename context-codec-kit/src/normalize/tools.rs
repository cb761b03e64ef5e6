//! Normalization of a request's tools.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::normalize::HistoryRules;
use context_core::base::{DiagnosticCode, Severity};
use context_core::model::{Tool, ToolChoice};
use context_core::{Diagnostic, ModelRequest};

/// The tools and the tool choice of a request as a provider accepts them.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct NormalizedTools<'a> {
    /// Functions with unique, legal names, and the provider's own tools. Borrowed if nothing had to
    /// be changed.
    pub tools: Cow<'a, [Tool]>,
    /// The tool choice. `None` if there is nothing left to choose.
    pub choice: Option<Cow<'a, ToolChoice>>,
    /// The changes that were made.
    pub diagnostics: Vec<Diagnostic>,
}

/// Normalizes names in the same way as the names of calls, so that both agree. Of two tools with
/// one name the first is kept. Tools of other providers are left out. A choice is kept if its tool
/// is. A provider's own tools may be chosen by names that are unknown here.
pub fn normalize_tools<'a>(
    request: &'a ModelRequest,
    rules: &HistoryRules,
    provider: &str,
) -> NormalizedTools<'a> {
    let mut diagnostics = Vec::new();
    let mut note = |code, path: String, text: String| {
        diagnostics.push(Diagnostic::new(code, Severity::Warning, path, text));
    };
    let (mut tools, mut names, mut has_provider_tool) = (Vec::new(), HashSet::new(), false);
    let mut is_same = true;
    for (i, tool) in request.tools.iter().enumerate() {
        let path = || format!("tools[{i}]");
        match tool {
            Tool::Opaque(block) if block.provider == provider => {
                has_provider_tool = true;
                tools.push(Cow::Borrowed(tool));
            }
            Tool::Function(function) => {
                let name = rules.tool_name(&function.name);
                if !names.insert(name.to_string()) {
                    is_same = false;
                    note(
                        DiagnosticCode::DuplicateName,
                        path(),
                        format!("left out: an earlier tool has the name {name:?}"),
                    );
                    continue;
                }
                if *name == *function.name {
                    tools.push(Cow::Borrowed(tool));
                    continue;
                }
                is_same = false;
                note(DiagnosticCode::ToolCallRenamed, path(), format!("sent as {name:?}"));
                let mut function = function.clone();
                function.name = name.into_owned();
                tools.push(Cow::Owned(Tool::Function(function)));
            }
            _ => {
                is_same = false;
                let text = "left out: a tool of another provider".to_owned();
                note(DiagnosticCode::Unrepresentable, path(), text);
            }
        }
    }
    let choice = match &request.tool_choice {
        Some(ToolChoice::Named(name)) => {
            let sent = rules.tool_name(name);
            (names.contains(&*sent) || has_provider_tool).then(|| {
                match *sent == **name || !names.contains(&*sent) {
                    true => {
                        Cow::Borrowed(request.tool_choice.as_ref().unwrap_or(&ToolChoice::Auto))
                    }
                    false => Cow::Owned(ToolChoice::Named(sent.into_owned())),
                }
            })
        }
        Some(choice) => (!tools.is_empty()).then_some(Cow::Borrowed(choice)),
        None => None,
    };
    if let (Some(ToolChoice::Required | ToolChoice::Named(_)), None) =
        (&request.tool_choice, &choice)
    {
        let text = "left out: the request has no such tool".to_owned();
        note(DiagnosticCode::Unrepresentable, "tool_choice".to_owned(), text);
    }
    let tools = match is_same {
        true => Cow::Borrowed(request.tools.as_slice()),
        false => Cow::Owned(tools.into_iter().map(Cow::into_owned).collect()),
    };
    NormalizedTools { tools, choice, diagnostics }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;
    use context_core::Message;
    use context_core::message::OpaqueBlock;
    use context_core::model::FunctionTool;

    fn function(name: &str) -> Tool {
        FunctionTool::new(name, wire::object([])).into()
    }

    fn own(provider: &str) -> Tool {
        Tool::Opaque(OpaqueBlock { provider: provider.to_owned(), value: wire::object([]) })
    }

    fn request(tools: impl IntoIterator<Item = Tool>, choice: ToolChoice) -> ModelRequest {
        ModelRequest::new([Message::from("q")]).tools(tools).tool_choice(choice)
    }

    fn shown(tools: &NormalizedTools<'_>) -> Vec<String> {
        let name = |tool: &Tool| match tool {
            Tool::Function(function) => function.name.clone(),
            Tool::Opaque(block) => format!("of {}", block.provider),
            _ => unreachable!("no other tools are given"),
        };
        tools.tools.iter().map(name).collect()
    }

    #[test]
    fn legal_tools_stay_where_they_are() {
        let request = request([function("a"), own("here")], ToolChoice::Named("a".to_owned()));
        let tools = normalize_tools(&request, &HistoryRules::new(), "here");
        assert!(matches!(tools.tools, Cow::Borrowed(_)));
        assert_eq!(tools.choice.as_deref(), request.tool_choice.as_ref());
        assert!(tools.diagnostics.is_empty());
    }

    #[test]
    fn names_are_legal_and_each_there_once() {
        let tools = [function("a b"), function("a_b"), function(""), own("elsewhere")];
        let request = request(tools, ToolChoice::Named("a b".to_owned()));
        let tools = normalize_tools(&request, &HistoryRules::new(), "here");
        assert_eq!(shown(&tools), ["a_b", "unnamed"]);
        assert_eq!(tools.choice.as_deref(), Some(&ToolChoice::Named("a_b".to_owned())));
        assert_eq!(tools.diagnostics.len(), 4);
    }

    #[test]
    fn what_is_not_there_cannot_be_chosen() {
        for (choice, left, diagnostics) in
            [(ToolChoice::Named("b".to_owned()), true, 0), (ToolChoice::Required, true, 0)]
        {
            let request = request([own("here")], choice);
            let tools = normalize_tools(&request, &HistoryRules::new(), "here");
            assert_eq!((tools.choice.is_some(), tools.diagnostics.len()), (left, diagnostics));
        }
        let nothing = request([own("elsewhere")], ToolChoice::Required);
        let tools = normalize_tools(&nothing, &HistoryRules::new(), "here");
        assert_eq!((tools.choice, tools.diagnostics.len()), (None, 2));
        let unknown = request([function("a")], ToolChoice::Named("b".to_owned()));
        assert_eq!(normalize_tools(&unknown, &HistoryRules::new(), "here").choice, None);
    }
}
