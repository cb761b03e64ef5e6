//! Error parts of the AI SDK's UI message stream end a stream as failed.

use context_runtime::streams::{Demand, StreamError, WriteOptions};
use context_runtime::{
    limits,
    store::{StreamEnd, StreamState},
};
use context_simulator::faults::{Fault, FaultPlan, Operation};
use futures_util::stream;
use std::time::Duration;
use tokio::time::timeout;

use super::{faulty, rest, streams};

const ERROR: &str = r#"{"type":"error","errorText":"no \"seats\" left"}"#;

#[tokio::test]
async fn an_error_part_ends_the_stream_as_failed_with_its_text() {
    for part in [ERROR.to_owned(), format!("data: {ERROR}\n\n"), ERROR.replace(',', " ,\n ")] {
        let (streams, ..) = streams().await;
        let mut writer = streams.write("s", WriteOptions::default()).await.unwrap();
        assert_eq!(writer.push("a").await.unwrap(), Demand::More);
        assert_eq!(writer.push(part.clone()).await.unwrap(), Demand::Stop);
        let late = writer.push("b").await;
        assert!(matches!(late, Err(StreamError::Ended { .. })), "{late:?}");
        // The first of several ends takes effect.
        let ended = writer.end(StreamEnd::Completed).await.unwrap();
        assert_eq!((ended.state, ended.chunks), (StreamState::Failed, 2));
        let (read, end) = rest(streams.follow("s", 0)).await;
        assert_eq!(read, ["a".to_owned(), part]);
        let Err(StreamError::Failed { error, .. }) = end else { panic!("{end:?}") };
        assert_eq!(error, "no \"seats\" left");
    }
}

#[tokio::test]
async fn only_an_error_part_is_an_error() {
    let (streams, ..) = streams().await;
    let mut writer = streams.write("s", WriteOptions::default()).await.unwrap();
    for chunk in [
        r#"{"type":"tool-output-error","toolCallId":"c","errorText":"x"}"#,
        r#"{"type":"error","error":{"message":"of a provider"}}"#,
        r#"{"text":"{\"type\":\"error\",\"errorText\":\"quoted\"}"}"#,
        r#"{"type":"error","errorText":"#,
        r#"[{"type":"error","errorText":"x"}]"#,
        "error \"errorText\"",
    ] {
        assert_eq!(writer.push(chunk).await.unwrap(), Demand::More, "{chunk}");
    }
    assert_eq!(writer.end(StreamEnd::Completed).await.unwrap().state, StreamState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_source_is_dropped_at_its_error_part() {
    let (streams, ..) = streams().await;
    let long =
        format!(r#"{{"type":"error","errorText":"{}"}}"#, "é".repeat(limits::MAX_TITLE_BYTES));
    let source =
        stream::iter(["a", &*long, "never"].map(|chunk| Ok::<_, String>(chunk.to_owned())));
    let writer = streams.write("s", WriteOptions::default()).await.unwrap();
    let ended = writer.write_all(source).await.unwrap();
    assert_eq!((ended.state, ended.chunks), (StreamState::Failed, 2));
    assert!(ended.error.is_some_and(|error| error.len() <= limits::MAX_TITLE_BYTES));
}

/// A cancelled push has decided the end all the same.
#[tokio::test(start_paused = true)]
async fn an_error_part_whose_push_was_given_up_fails_the_stream_with_the_next_call() {
    for fault in [Fault::Hang, Fault::HangAfterApply] {
        let (streams, ..) =
            faulty(FaultPlan::default().with(Operation::AppendStream, 0, fault)).await;
        let mut writer = streams.write("s", WriteOptions::default()).await.unwrap();
        assert!(timeout(Duration::from_secs(1), writer.push(ERROR)).await.is_err());
        let ended = writer.end(StreamEnd::Completed).await.unwrap();
        assert_eq!((ended.state, ended.chunks), (StreamState::Failed, 1));
    }
}
