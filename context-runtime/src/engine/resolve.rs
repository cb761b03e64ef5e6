//! From what is set and stored to what a model is sent.

use std::sync::Arc;

use context_core::{Chain, Diagnostic, Error, Fragment, FragmentContent, FragmentError, Renderer, Result};

use super::ContextEngine;
use super::pending::Settled;
use super::view::View;

/// The prompt and the messages of a model call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// The context fragments, rendered; empty if there are none.
    pub system_prompt: String,
    /// The stored messages of the branch and the pending ones behind them, without placeholders. Shares its
    /// nodes with the engine: cloning and keeping it is cheap.
    pub messages: Chain,
    /// What was left out and why.
    pub diagnostics: Vec<Diagnostic>,
}

impl ContextEngine {
    /// Resolves what is set and stored into a prompt and messages. Writes nothing.
    ///
    /// A pending message with the id of a stored one is shown in its place; a
    /// [`last_assistant_message`](crate::last_assistant_message) is shown where a save would put it.
    pub async fn resolve(&mut self) -> Result<Resolved> {
        let Some(renderer) = self.parts.renderer.clone() else {
            let hint = "turn on the feature xml, or give the builder a renderer";
            return Err(Error::invalid("resolve", "the engine has no renderer").with("hint", hint));
        };
        self.resolve_with(&*renderer).await
    }

    /// The same with another renderer.
    pub async fn resolve_with(&mut self, renderer: &dyn Renderer) -> Result<Resolved> {
        let known = |fragment: &&Fragment| !matches!(fragment.content(), FragmentContent::Unknown(_));
        let fragments: Vec<Fragment> = self.fragments.iter().filter(known).cloned().collect();
        let system_prompt = renderer.render(&fragments)?;
        let mut diagnostics = self.opened_with.clone();
        let messages = self.shown_messages().await?;
        diagnostics.extend(self.view.iter().flat_map(View::unreadable));
        Ok(Resolved { system_prompt, messages, diagnostics })
    }

    /// Stored and pending messages as a model is shown them.
    pub(super) async fn shown_messages(&mut self) -> Result<Chain> {
        self.view().await?;
        let view = self.view.as_mut().expect("just read");
        let settled = self.pending.settle(view).map_err(refuse)?;
        Ok(overlay(view, &settled))
    }
}

/// A message fragment that is none was set.
pub(super) fn refuse(error: FragmentError) -> Error {
    Error::invalid("settle", error.to_string()).with_source(error)
}

fn overlay(view: &mut View, settled: &Settled) -> Chain {
    let (mut stored, mut new) = (Vec::new(), Vec::new());
    for node in settled.nodes.iter().chain(&settled.replacement) {
        match view.position(&node.id) {
            Some(position) => stored.push((position, Arc::clone(node))),
            None => new.push(node),
        }
    }
    let mut messages = view.shown_with(&stored);
    new.into_iter().filter(|node| !node.is_placeholder()).for_each(|node| messages.push(Arc::clone(node)));
    messages
}
