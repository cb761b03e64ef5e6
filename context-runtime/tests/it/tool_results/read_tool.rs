//! Reading spilled outputs back.

use context_runtime::{
    ChatRef, ErrorKind, Part, READ_SPILLED, Spill, Spilled, ToolCall, ToolInput, ToolResult,
    spilled_output_tool,
};
use serde_json::{Value, json};

use super::{applied, builder, results, runtime, store, text, words};

fn call(input: Value) -> ToolCall {
    let Part::ToolCall(call) = Part::tool_call("c", READ_SPILLED, input) else { unreachable!() };
    call
}

async fn answer(spill: &Spill, input: Value) -> ToolResult {
    spill.answer(&("ada", "s").into(), &call(input)).await
}

#[tokio::test]
async fn a_model_reads_an_output_back_from_what_the_preview_says() {
    let store = store().await;
    let runtime = runtime(&store);
    let long = words("naïve", 20_000);
    let output = applied(&runtime, [Part::tool_result("a", &*long)]).await;
    let shown = text(results(&output)[0]);
    let (start, end) = (shown.find(r#"{"reference""#).unwrap(), shown.find(r#"}]"#).unwrap());
    let mut asked: Value = serde_json::from_str(&shown[start..=end]).unwrap();
    let mut read = long[..asked["start"].as_u64().unwrap() as usize].to_owned();
    let spill = runtime.spill().unwrap();
    // Reads like a model that wants all of it: from where the note says, part by part.
    while read.len() < long.len() {
        let result = answer(&spill, asked.clone()).await;
        assert!(!result.is_error && result.call_id == "c");
        let (head, part) = text(&result).split_once('\n').unwrap();
        assert!(
            part.len() <= 8_000 && head.starts_with(&format!("[bytes {} to ", read.len())),
            "{head}"
        );
        read.push_str(part);
        asked["start"] = read.len().into();
    }
    assert_eq!(read, long);
}

#[tokio::test]
async fn what_was_read_back_is_never_spilled_again() {
    let store = store().await;
    let runtime = runtime(&store);
    // Nearly one token per byte.
    let dense = "∰ꙮ⸎".repeat(30_000);
    let output = applied(&runtime, [Part::tool_result("a", dense)]).await;
    let spilled = Spilled::of(&results(&output)[0].metadata).unwrap();
    let read =
        answer(&runtime.spill().unwrap(), json!({"reference": spilled.blob.to_reference()})).await;
    let output = applied(&runtime, [Part::ToolResult(read)]).await;
    assert!(Spilled::of(&results(&output)[0].metadata).is_none());
}

#[tokio::test]
async fn ranges_are_cut_to_whole_characters_and_to_the_end() {
    let store = store().await;
    let spill = runtime(&store).spill().unwrap();
    let reference =
        spill.put(&("ada", "s").into(), "漢字仮名", "text/plain").await.unwrap().id.to_reference();
    let shown = async |start: u64, end: u64| {
        let result =
            answer(&spill, json!({"reference": reference, "start": start, "end": end})).await;
        text(&result).to_owned()
    };
    assert_eq!(shown(0, 7).await, "[bytes 0 to 6 of 12; go on with start 6]\n漢字");
    assert_eq!(shown(1, 2).await, "[bytes 3 to 3 of 12; go on with start 3]\n");
    assert_eq!(shown(3, 0).await, "[bytes 3 to 6 of 12; go on with start 6]\n字");
    assert_eq!(shown(9, u64::MAX).await, "[bytes 9 to 12 of 12; this is the end]\n名");
    assert_eq!(shown(99, 100).await, "[bytes 12 to 12 of 12; this is the end]\n");
}

#[tokio::test]
async fn a_model_that_asks_wrongly_is_told_so() {
    let store = store().await;
    let spill = runtime(&store).spill().unwrap();
    let bytes = spill
        .put(&("ada", "s").into(), vec![0xff; 9], "image/png")
        .await
        .unwrap()
        .id
        .to_reference();
    let other = spill
        .put(&("ada", "other").into(), "not yours", "text/plain")
        .await
        .unwrap()
        .id
        .to_reference();
    let cases = [
        (json!({"reference": bytes}), "The output is not text: it is image/png and has 9 bytes."),
        (json!({"reference": other}), "There is no output"),
        (json!({"reference": "x".repeat(10_000)}), "There is no output"),
        (json!({"start": 1}), "Not understood: missing field `reference`"),
        (json!([1]), "Not understood: "),
    ];
    for (input, expected) in cases {
        let result = answer(&spill, input).await;
        assert!(result.is_error && text(&result).starts_with(expected), "{}", text(&result));
        assert!(text(&result).len() < 300);
    }
    let mut broken = call(json!({}));
    broken.input = ToolInput::Invalid("{".to_owned());
    assert!(spill.answer(&("ada", "s").into(), &broken).await.is_error);
}

#[tokio::test]
async fn outputs_belong_to_the_user_and_the_chat_that_they_are_kept_for() {
    let store = store().await;
    let spill = builder(&store).build().unwrap().spill().unwrap();
    let chat = ChatRef::new("ada", "s");
    let blob = spill.put(&chat, "report", "text/plain").await.unwrap();
    // The chat did not exist, and was created for the output.
    assert!(store.history().chat(&chat).await.unwrap().is_some());
    assert!(store.blobs().unwrap().blob(&chat, &blob.id).await.unwrap().is_some());
    let error = spill.read(&("bob", "s").into(), &blob.id.to_reference(), 0..9).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn the_tool_says_what_it_takes() {
    let tool = spilled_output_tool();
    let schema: Value = tool.input_schema.parse().unwrap();
    assert_eq!((&*tool.name, &schema["required"]), (READ_SPILLED, &json!(["reference"])));
}
