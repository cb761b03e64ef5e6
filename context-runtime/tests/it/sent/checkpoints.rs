//! Requests behind a compaction: a summary, and a block that only its provider reads.

use std::sync::Arc;

use context_runtime::{
    Message, OpaqueBlock, Origin, Part, Role, Text, Timestamp,
    sent::{ReplayError, ReplayOptions, RequestReplay},
    store::{Chain, Node},
};

use super::pieces::options;

/// Returns a chat that begins with a block of a compaction and the text that stands for it.
fn compacted(text: Text) -> Chain {
    let value = serde_json::json!({"type": "compaction", "encrypted_content": "gAAAAB"});
    let block = OpaqueBlock { provider: "openai-responses".to_owned(), value: value.into() };
    let first = Message::new(Role::User, [Part::Opaque(block), Part::Text(text)]);
    let first = first.with_origin(Origin::Checkpoint);
    let messages = [first, Message::from("And now?"), Message::text(Role::Assistant, "Now.")];
    let nodes = messages.into_iter().enumerate();
    let nodes =
        nodes.map(|(at, it)| Arc::new(Node::new(format!("m{at}"), it, Timestamp::default())));
    Chain::from_nodes(0, nodes)
}

#[test]
fn a_sealed_history_is_replayed_for_its_provider_alone() {
    let chain = compacted(Text::for_sealed_block("a block of a provider", Some(3)));
    let mut other = RequestReplay::new(&chain, "", options()).unwrap();
    let error = other.report(1).unwrap_err();
    assert!(matches!(error, ReplayError::Sealed { number: 1, .. }), "{error}");
    // A what-if with the provider that made it is not held up by that.
    let own = ReplayOptions::new("openai-responses").window(3_000).reserve(200);
    let report = other.with_options(own).unwrap().report(1).unwrap();
    let body = report.body.as_str();
    assert!(body.contains("gAAAAB") && !body.contains("a block of a provider"), "{body}");

    // A text that says what the block holds is read by every provider.
    let chain = compacted(Text::for_block("what the block holds", Some(3)));
    let report = RequestReplay::new(&chain, "", options()).unwrap().report(1).unwrap();
    let body = report.body.as_str();
    assert!(body.contains("what the block holds") && !body.contains("gAAAAB"), "{body}");
}

#[cfg(feature = "summarize")]
mod summaries {
    use context_runtime::sent::{BreakCause, Fate, PieceKind, RequestOrigin};
    use context_runtime::summarize::{Summarize, SummaryCheckpoint};
    use context_runtime::{
        DefaultContextRuntime, Fragment, ModelCall, compaction::Stage, model::Answer, provider,
    };

    use super::super::live::{LiveChat, MODEL, stages, tool, words};
    use super::*;
    use crate::model_call::models::{ScriptedModel, says};
    use crate::runtime_kit::ByteCounter;

    const SUMMARY: &str = "## Objective\nThe build\n## Current state\nHalf of the files are read\n\
                           ## Remaining\nThe rest\n## Files and artifacts\nNone";

    fn runtime(live: &LiveChat) -> DefaultContextRuntime {
        let builder = DefaultContextRuntime::builder().window(24_000).reserve(4_000).model(MODEL);
        let builder = builder.counter(Arc::new(ByteCounter)).clock(live.clock.clone());
        builder.compaction([Stage::new(Summarize::new())]).build().unwrap()
    }

    /// Sends a message as an agent does that has summaries written, and notes the body.
    async fn send(
        live: &mut LiveChat,
        runtime: &DefaultContextRuntime,
        message: impl Into<Fragment>,
        answer: Answer,
    ) {
        live.engine.set([message.into()]);
        let shown = live.engine.resolve().await.unwrap();
        let mut input = shown.prepare().tools([tool()]);
        input.provider = live.provider.to_owned();
        let codec = provider(live.provider).unwrap();
        let (summaries, model) =
            (ScriptedModel::new([Ok(says(SUMMARY))]), ScriptedModel::new([Ok(answer)]));
        let mut call = ModelCall::new(runtime, Arc::clone(&codec), input).summaries(summaries);
        let said = call.run(&*model).await.unwrap();
        live.sent.push(codec.lower(&model.asked()[0]).unwrap().body.as_str().to_owned());
        live.prompt = shown.system_prompt.to_string();
        if let Some(rewrite) = call.rewrite() {
            let _boundary = live.engine.compact(&shown, rewrite, call.plans()).await.unwrap();
        }
        live.engine.set([Fragment::from(said.message)]);
        let _saved = live.engine.save().await.unwrap();
        live.clock.advance(1);
    }

    /// A replay has no model: the summary is the stored one.
    #[tokio::test]
    async fn a_stored_summary_is_in_force_from_the_request_that_it_was_made_for() {
        let mut live = LiveChat::new("anthropic", Vec::new()).await;
        let runtime = runtime(&live);
        let mut next = Message::from("Find out why the build fails.");
        for step in 0..22 {
            let id = format!("c{step}");
            let call = Part::tool_call(id.as_str(), "read_file", serde_json::json!({}));
            let answer = Answer::new(Message::new(Role::Assistant, [call]));
            send(&mut live, &runtime, next, answer).await;
            next = Message::new(Role::Tool, [Part::tool_result(id, words(1_000, step))]);
        }
        send(&mut live, &runtime, next, says("It is the linker.")).await;

        let chain = live.chain().await;
        for policies in [&[][..], &["microcompact", "snip"]] {
            let options = live.options(stages(policies)).window(24_000).reserve(4_000);
            for block in [2, 256] {
                let options = options.clone().block(block);
                let mut replay = RequestReplay::new(&chain, live.prompt.as_str(), options).unwrap();
                assert_eq!(replay.requests().len(), live.sent.len());
                for (at, sent) in live.sent.iter().enumerate() {
                    let report = replay.report(at + 1).unwrap();
                    let same = report.body.as_str() == sent;
                    assert!(same, "{policies:?}, {block}: {report}\n{sent}");
                }
            }
        }
        let options = live.options(Vec::new()).window(24_000).reserve(4_000);
        let mut replay = RequestReplay::new(&chain, live.prompt.as_str(), options).unwrap();
        let is_summarised = |body: &String| body.contains("Half of the files are read");
        let number = live.sent.iter().position(is_summarised).expect("the window is small") + 1;
        let made = replay.report(number).unwrap();
        assert_eq!(made.origin, RequestOrigin::Recorded);
        let cause = BreakCause::Cut { policy: "summarize".to_owned(), request: Some(number) };
        assert_eq!(made.prefix.cause, Some(cause), "{made}");
        let summary = made.pieces.iter().find(|piece| piece.kind == PieceKind::Checkpoint);
        let summary = summary.unwrap();
        assert_eq!((summary.fate, summary.policy.as_deref()), (Fate::Added, Some("summarize")));
        let sent =
            replay.prepared(number).unwrap().request.messages[summary.position.unwrap()].clone();
        assert!(
            SummaryCheckpoint::read(&sent).unwrap().summary.contains("Half of the files are read")
        );
        // It stays in force, and breaks nothing in the next request.
        let next = replay.report(number + 1).unwrap();
        assert!(next.prefix.intact && next.cuts.len() == 1, "{next}");
        assert!(next.saved.tokens > 5_000);
        // A what-if without boundaries sends all of it.
        let options = live.options(Vec::new()).window(100_000).boundaries(false);
        let whole = replay.with_options(options).unwrap().report(number).unwrap();
        assert!(
            whole.saved.tokens == 0 && !whole.body.as_str().contains("Half of the files are read")
        );
    }
}
