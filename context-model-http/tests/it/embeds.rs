//! An embedder returns one vector per text, in order, all of one length, or an error.

use context_core::model::{EmbedAs, Embedder, ModelErrorCode as Code};
use context_core::{CancelSignal, ModelError};
use context_model_http::{Endpoint, HttpEmbedder, VectorForm};
use context_simulator::http::{HttpFace, HttpServer, Misbehaviour, hashed_vector};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{KEY, bad};

async fn served() -> HttpServer {
    HttpFace::default().embeddings(16).key(KEY).start().await.unwrap()
}

fn embedder(url: &str) -> HttpEmbedder {
    HttpEmbedder::new("words", Endpoint::at(format!("{url}/v1")).key(KEY)).unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

async fn embed(embedder: &HttpEmbedder, list: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
    embedder.embed(list, EmbedAs::Passage, &CancelSignal::never()).await
}

#[tokio::test]
async fn vectors_are_those_of_the_texts_in_either_form() {
    let server = served().await;
    let list = texts(&["a train to Lisbon", "prices are in euro", "Fenster oder Gang?"]);
    let expected: Vec<_> = list.iter().map(|text| hashed_vector(text, 16)).collect();
    for form in [VectorForm::Unsaid, VectorForm::Float, VectorForm::Base64] {
        assert_eq!(
            embed(&embedder(&server.url()).form(form), &list).await.unwrap(),
            expected,
            "{form:?}"
        );
    }
    assert_eq!(embed(&embedder(&server.url()), &[]).await.unwrap(), Vec::<Vec<f32>>::new());
    let asked: Vec<Value> = server
        .requests()
        .iter()
        .map(|seen| serde_json::from_str::<Value>(&seen.body).unwrap())
        .collect();
    let forms: Vec<&Value> = asked.iter().map(|body| &body["encoding_format"]).collect();
    assert_eq!(forms, [&Value::Null, &json!("float"), &json!("base64")]);
    assert_eq!(asked[0]["model"], "words");
}

#[tokio::test]
async fn a_length_that_is_asked_for_is_part_of_the_name() {
    let server = served().await;
    let short = embedder(&server.url()).dimensions(4);
    assert_eq!(short.name(), "words@4");
    assert_eq!(embed(&short, &texts(&["a"])).await.unwrap(), [hashed_vector("a", 4)]);
    assert_eq!(embedder(&server.url()).dimensions(4).named("mine").name(), "mine");
}

#[tokio::test]
async fn what_is_looked_for_and_what_is_kept_have_their_prefixes() {
    let server = served().await;
    let embedder = embedder(&server.url()).prefixes("query: ", "passage: ");
    let list = texts(&["train"]);
    let query = embedder.embed(&list, EmbedAs::Query, &CancelSignal::never()).await.unwrap();
    assert_eq!(query, [hashed_vector("query: train", 16)]);
    assert_eq!(embed(&embedder, &list).await.unwrap(), [hashed_vector("passage: train", 16)]);
}

#[tokio::test]
async fn batches_are_cut_by_number_and_by_size() {
    let server = served().await;
    let list: Vec<String> = (0..7).map(|number| format!("text {number}")).collect();
    let expected: Vec<_> = list.iter().map(|text| hashed_vector(text, 16)).collect();
    for (most, bytes, sizes) in [
        (3, 1 << 20, vec![3, 3, 1]),
        (100, 13, vec![2, 2, 2, 1]),
        (100, 0, vec![1; 7]),
        (0, 1 << 20, vec![1; 7]),
        (7, 1 << 20, vec![7]),
    ] {
        let before = server.requests().len();
        let found = embed(&embedder(&server.url()).batches(most, bytes), &list).await.unwrap();
        assert_eq!(found, expected);
        let sent: Vec<usize> = server.requests()[before..]
            .iter()
            .map(|seen| {
                serde_json::from_str::<Value>(&seen.body).unwrap()["input"]
                    .as_array()
                    .unwrap()
                    .len()
            })
            .collect();
        assert_eq!(sent, sizes);
    }
}

#[tokio::test]
async fn refusals_have_their_codes() {
    let server = served().await;
    let empty = embed(&embedder(&server.url()), &texts(&[""])).await.unwrap_err();
    assert_eq!((empty.code, empty.status), (Code::InvalidRequest, Some(400)));
    let stranger =
        HttpEmbedder::new("words", Endpoint::at(format!("{}/v1", server.url()))).unwrap();
    assert_eq!(embed(&stranger, &texts(&["a"])).await.unwrap_err().code, Code::Authentication);
    let said = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
    let server = bad(Misbehaviour::says(200, said)).await;
    assert_eq!(
        embed(&embedder(&server.url()), &texts(&["a"])).await.unwrap_err().code,
        Code::RateLimit
    );
}

#[tokio::test]
async fn vectors_in_any_order_find_their_texts() {
    let body =
        json!({"data": [{"embedding": [2.0], "index": 1}, {"embedding": [1.0], "index": 0}]});
    let server = bad(Misbehaviour::says(200, body.to_string())).await;
    let found = embed(&embedder(&server.url()), &texts(&["a", "b"])).await.unwrap();
    assert_eq!(found, [vec![1.0], vec![2.0]]);
    // Servers without indexes send the vectors in order.
    let body = json!({"data": [{"embedding": [2]}, {"embedding": "AACAPw=="}]});
    let server = bad(Misbehaviour::says(200, body.to_string())).await;
    assert_eq!(
        embed(&embedder(&server.url()), &texts(&["a", "b"])).await.unwrap(),
        [vec![2.0], vec![1.0]]
    );
}

#[tokio::test]
async fn vectors_that_are_not_what_was_asked_for_are_refused() {
    for (body, said) in [
        (r#"{"data":[{"embedding":[1.0],"index":0}]}"#, "1 vectors for 2 texts"),
        (r#"{"data":[{"embedding":[1.0],"index":0},{"embedding":[1.0],"index":0}]}"#, "index 0"),
        (r#"{"data":[{"embedding":[1.0],"index":0},{"embedding":[1.0],"index":7}]}"#, "index 7"),
        (
            r#"{"data":[{"embedding":[1.0],"index":0},{"embedding":[1.0,2.0],"index":1}]}"#,
            "2 numbers where others have 1",
        ),
        (r#"{"data":[{"embedding":[],"index":0},{"embedding":[],"index":1}]}"#, "empty"),
        (
            r#"{"data":[{"embedding":[1.0],"index":0},{"embedding":"AADAfw==","index":1}]}"#,
            "not finite",
        ),
        (
            r#"{"data":[{"embedding":[1.0],"index":0},{"embedding":"AADA","index":1}]}"#,
            "not a list of vectors",
        ),
        (
            r#"{"data":[{"embedding":[1.0],"index":0},{"embedding":[null],"index":1}]}"#,
            "not a list of vectors",
        ),
        (
            r#"{"data":[{"embedding":[1.0],"index":0},{"embedding":[1e39],"index":1}]}"#,
            "not a list of vectors",
        ),
        (
            r#"{"data":[{"embedding":[1.0],"index":-1},{"embedding":[1.0],"index":1}]}"#,
            "not a list of vectors",
        ),
        (r#"{"data":{}}"#, "not a list of vectors"),
        ("{}", "not a list of vectors"),
        ("", "not a list of vectors"),
    ] {
        let server = bad(Misbehaviour::says(200, body)).await;
        let error = embed(&embedder(&server.url()), &texts(&["a", "b"])).await.unwrap_err();
        assert_eq!(error.code, Code::Unknown, "{body}");
        assert!(error.message.contains(said), "{body}: {}", error.message);
    }
}

#[tokio::test]
async fn a_model_does_not_change_its_length_unseen() {
    let says = |vector: Value| {
        Misbehaviour::says(200, json!({"data": [{"embedding": vector}]}).to_string())
    };
    let turns =
        vec![says(json!([1.0, 2.0])), says(json!([1.0, 2.0, 3.0])), says(json!([3.0, 4.0]))];
    let server = bad(Misbehaviour::InTurn(turns)).await;
    let one = embedder(&server.url());
    let list = texts(&["a"]);
    assert!(embed(&one, &list).await.is_ok());
    let error = embed(&one, &list).await.unwrap_err();
    assert!(error.message.contains("3 numbers where others have 2"), "{}", error.message);
    assert!(embed(&one, &list).await.is_ok());
    let asked = bad(says(json!([1.0, 2.0]))).await;
    assert!(embed(&embedder(&asked.url()).dimensions(3), &list).await.is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24,
        ..ProptestConfig::default() })]

    #[test]
    fn any_texts_in_any_batches_have_their_vectors(
        list in prop::collection::vec("[a-zé\"\\\\🚆 ]{1,12}", 0..20),
        most in 1usize..6,
        bytes in 0usize..40,
        in_base64 in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let found = runtime.block_on(async {
            let server = served().await;
            let form = if in_base64 { VectorForm::Base64 } else { VectorForm::Float };
            embed(&embedder(&server.url()).form(form).batches(most, bytes), &list).await
        });
        let expected: Vec<_> = list.iter().map(|text| hashed_vector(text, 16)).collect();
        prop_assert_eq!(found.unwrap(), expected);
    }
}
