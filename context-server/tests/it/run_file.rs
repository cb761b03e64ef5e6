//! The run of a session as one file: with its chat, with a chat of another name, and without one.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_runtime::layers::MaskingStore;
use context_runtime::trajectory::{
    AgentRef, Measures, NewNode, NewQuery, NodeBody, OpenOptions, RecordedMessage, Step, StepCall,
    Trajectories,
};
use context_runtime::{Message, Store, assistant, user};
use context_server::{FirstView, HtmlExportError, HtmlExported, Operations, StepId, write_html};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::corpus::{Sample, corpus};
use crate::pages::{HOSTILE, is_harmless};
use crate::site::Site;

/// A file as a browser has it: the first page, and an answer for each address.
struct FileContent {
    first: String,
    answers: BTreeMap<String, String>,
}

impl FileContent {
    fn of(page: &str) -> Self {
        let between = |text: &str, from: &str| {
            let (_, rest) = text.split_once(from).unwrap();
            rest.split_once("</script>").unwrap().0.to_owned()
        };
        let (first, _) = page.split_once("<script type=\"text/plain\"").unwrap();
        let places = between(page, "id=\"places\">");
        let places: BTreeMap<String, (usize, usize)> = serde_json::from_str(&places).unwrap();
        let packs = (0..).map_while(|number| {
            let mark = format!("id=\"pack-{number}\">");
            page.contains(&mark).then(|| {
                let packed = STANDARD.decode(between(page, &mark)).unwrap();
                let mut text = String::new();
                GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
                serde_json::from_str::<Vec<String>>(&text).unwrap()
            })
        });
        let packs: Vec<_> = packs.collect();
        let answers =
            places.into_iter().map(|(address, (pack, at))| (address, packs[pack][at].clone()));
        Self { first: first.to_owned(), answers: answers.collect() }
    }

    fn lines(&self, session: &str) -> Vec<Value> {
        let address = format!("/api/v1/chats/{session}/run/lines?from=0&count=200");
        let page: Value = serde_json::from_str(&self.answers[&address]).unwrap();
        page["lines"].as_array().unwrap().clone()
    }
}

async fn export(
    store: &Arc<dyn Store>,
    user: &str,
    session: &str,
    first: FirstView,
) -> Result<(HtmlExported, FileContent), HtmlExportError> {
    let operations = Operations::new(Arc::clone(store)).user(user);
    let mut page = Vec::new();
    let done = write_html(&operations, session, None, first, &mut page).await?;
    Ok((done, FileContent::of(&String::from_utf8(page).unwrap())))
}

fn trajectories(store: &Arc<dyn Store>) -> Trajectories {
    Trajectories::builder(Arc::clone(store)).build().unwrap()
}

/// Records a round that reads a table. `linked` is the chat of its question.
async fn record(store: &Arc<dyn Store>, session: &str, linked: Option<&str>) {
    let main = AgentRef::main("ada", session);
    let round = trajectories(store).begin(&main).await.unwrap();
    let asked = Message::from("Which region sold most?");
    let mut question = RecordedMessage::new(&asked);
    if let Some(chat) = linked {
        question = question.link(chat, "m1");
    }
    round.record(question).await.unwrap();
    let call = StepCall::new("c1", "read_csv", json!({"path": "sales.csv"}));
    round.step(Step::new("I read the sales.").call(call)).await.unwrap();
    round.tool_result("c1", json!("no such file"), false).await.unwrap();
    let action = round.action_of_call("c1").unwrap();
    let table = NewNode::new(NodeBody::table("sales.csv"), [action]).append();
    round.add(table).await.unwrap();
    round.step(Step::new("The north.")).await.unwrap();
    round.finish().await.unwrap();
}

#[tokio::test]
async fn a_session_without_a_chat_is_a_file_of_its_run_alone() {
    let site = Site::new().await;
    // The chat that the steps stand for was deleted, or never stored.
    record(&site.store, "sales", Some("gone")).await;
    let (done, file) = export(&site.store, "ada", "sales", FirstView::Run).await.unwrap();
    assert_eq!((done.rows, done.requests, done.all_branches), (0, 0, 0));
    assert_eq!((done.steps, done.all_steps), (5, 5));
    assert!(
        file.first.contains("data-first=\"/chats/sales/run\"")
            && file.first.contains("data-start=\"\"")
    );
    assert!(file.first.contains("data-view=\"run\"") && file.first.contains("data-lines=\"5\""));
    assert!(file.first.contains("This session has no stored chat."));
    assert!(!file.first.contains("href=\"/chats/sales/sent"), "the other views are no links");
    let lines = file.lines("sales");
    let texts: Vec<_> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts[0], "Which region sold most?");
    assert!(texts[2].contains("sales.csv"), "the arguments of a call: {texts:?}");
    assert!(
        file.answers.keys().all(|address| address.contains("/run")),
        "{:?}",
        file.answers.keys()
    );
    for view in ["list", "waterfall", "graph", "provenance"] {
        assert!(file.answers.contains_key(&format!("/chats/sales/run?view={view}")), "{view}");
    }
    assert!(file.answers["/chats/sales/run?view=graph&node=0%3A0"].contains("read_csv"));
    let step = &file.answers["/chats/sales/run/step?node=0%3A0.2"];
    assert!(step.contains("no such file") && !step.contains("Its data"), "{step}");
    assert_eq!(file.answers["/api/v1/chats/sales/run/failures"], "[2]");
    let data = &file.answers["/chats/sales/run?view=provenance&node=0%3A0.2"];
    assert!(!data.contains("found in the messages"), "{data}");
    let error = export(&site.store, "ada", "sales", FirstView::Chat).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("no such chat"), "{error}");
    // A server shows the run as well.
    assert!(site.page("/chats/sales/run").await.contains("This session has no stored chat."));
}

#[tokio::test]
async fn a_session_has_the_chat_of_another_name_that_its_steps_stand_for() {
    let site = Site::new().await;
    site.say("support", [user("Which region sold most?").with_id("m1"), assistant("The north.")])
        .await;
    record(&site.store, "nightly", Some("support")).await;
    let (done, file) = export(&site.store, "ada", "nightly", FirstView::Run).await.unwrap();
    assert_eq!((done.rows, done.steps, done.requests), (2, 5, 1));
    assert!(file.first.contains("data-first=\"/chats/nightly/run\">"), "{}", file.first);
    for link in ["href=\"/chats/support\"", "href=\"/chats/nightly/run\"", "data-chat=\"support\""]
    {
        assert!(file.first.contains(link), "{link}");
    }
    for address in [
        "/chats/support/rows?from=0&count=2",
        "/chats/support/sent?number=1",
        "/chats/support/run",
        "/chats/nightly/run?view=provenance&message=m1",
        "/chats/support/run?view=provenance&message=m1",
    ] {
        assert!(file.answers.contains_key(address), "{address}");
    }
    assert_eq!(file.lines("nightly")[0]["message"], "m1");
}

#[tokio::test]
async fn a_file_of_a_long_run_has_the_steps_around_the_first_shown() {
    let site = Site::new().await;
    let agent = AgentRef::main("ada", "long");
    let trajectories = trajectories(&site.store);
    for number in 0..1_500 {
        let round = trajectories.open(&agent.round(number), OpenOptions::new()).await.unwrap();
        round.ask(NewQuery::new(format!("Question {number}"))).await.unwrap();
        round.step(Step::new(format!("Answer {number}"))).await.unwrap();
        round.finish().await.unwrap();
    }
    let step: StepId = "0:1400.0".parse().unwrap();
    let (done, file) = export(&site.store, "ada", "long", FirstView::Step(step)).await.unwrap();
    assert_eq!((done.steps, done.all_steps), (1_000, 3_000));
    assert!(file.first.contains("data-node=\"0:1400.0\"") && file.first.contains("Question 1400"));
    for (node, is_there) in [("1499.1", true), ("1000.0", true), ("999.1", false)] {
        let address = format!("/chats/long/run/step?node=0%3A{node}");
        assert_eq!(file.answers.contains_key(&address), is_there, "{node}");
    }
    let last = &file.answers["/api/v1/chats/long/run/lines?from=2800&count=200"];
    assert!(last.contains("Answer 1499"), "all lines are there");
    let unknown = FirstView::Step("0:9999.0".parse().unwrap());
    assert!(export(&site.store, "ada", "long", unknown).await.is_err());
}

#[tokio::test]
async fn a_file_of_hostile_steps_fetches_nothing_and_no_content_is_markup() {
    let site = Site::new().await;
    let round = trajectories(&site.store).begin(&AgentRef::main("ada", HOSTILE)).await.unwrap();
    let query = NewQuery::new(HOSTILE).describe(HOSTILE).author(HOSTILE).raw(HOSTILE);
    round.ask(query).await.unwrap();
    let mut measures = Measures::default();
    (measures.error, measures.model) = (Some(HOSTILE.into()), Some(HOSTILE.into()));
    let call = StepCall::new(HOSTILE, HOSTILE, json!({HOSTILE: HOSTILE}));
    let step = Step::new(HOSTILE).reasoning(HOSTILE).author(HOSTILE).measure(measures).call(call);
    round.step(step).await.unwrap();
    let action = round.action_of_call(HOSTILE).unwrap();
    for body in [NodeBody::knowledge(HOSTILE, HOSTILE), NodeBody::script(HOSTILE, HOSTILE)] {
        round.add(NewNode::new(body, [action]).describe(HOSTILE).append()).await.unwrap();
    }
    round.finish().await.unwrap();
    let operations = Operations::new(Arc::clone(&site.store)).user("ada");
    let (mut page, mut again) = (Vec::new(), Vec::new());
    write_html(&operations, HOSTILE, None, FirstView::Run, &mut page).await.unwrap();
    write_html(&operations, HOSTILE, None, FirstView::Run, &mut again).await.unwrap();
    assert!(page == again, "the same session is the same file");
    let page = String::from_utf8(page).unwrap();
    // Packs, places, the colours, and the scripts of the page.
    assert_eq!(page.matches("<script").count(), page.matches("id=\"pack-").count() + 3);
    for bad in ["<!--", "src=\"http", "href=\"/assets", "@import", "unsafe-inline"] {
        assert!(!page.contains(bad), "{bad}");
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    let file = FileContent::of(&page);
    let (_, body) = file.first.split_once("<body").unwrap();
    is_harmless(body);
    for (address, answer) in file.answers.iter().filter(|(address, _)| !address.contains("/api/")) {
        // Pages name the scripts of the server, which a file leaves out.
        let body = answer.split_once("<body>").map_or(answer.as_str(), |(_, body)| body);
        is_harmless(body);
        assert!(!body.contains("<script"), "{address}");
    }
}

#[tokio::test]
async fn a_file_has_no_secret_that_a_masking_store_took_out() {
    let corpus = corpus();
    for masking in [true, false] {
        let inner = context_runtime::open("mem:").await.unwrap();
        let store: Arc<dyn Store> = match masking {
            true => Arc::new(MaskingStore::new(inner)),
            false => inner,
        };
        let trajectories = trajectories(&store);
        for sample in &corpus {
            let text = sample.text.as_str();
            let round = trajectories.begin(&AgentRef::main("ada", "s")).await.unwrap();
            let question = round.ask(text).await.unwrap();
            let call = NodeBody::action("run", json!({ "command": text }));
            let call = round.add(NewNode::new(call, [question]).describe(text)).await.unwrap();
            round.add(NewNode::new(NodeBody::response(text), [call])).await.unwrap();
            round.finish().await.unwrap();
        }
        let (done, file) = export(&store, "ada", "s", FirstView::Run).await.unwrap();
        assert_eq!(done.steps, 3 * corpus.len());
        let text = file.first + &file.answers.into_values().collect::<String>();
        let text = text.to_lowercase();
        let is_held = |sample: &&Sample| {
            let secret = sample.secret.replace("\\n", "\n").to_lowercase();
            secret.lines().filter(|line| !line.contains("-----")).any(|line| text.contains(line))
        };
        let held: Vec<_> = corpus.iter().filter(is_held).map(|sample| sample.kind).collect();
        match masking {
            true => assert!(held.is_empty() && text.contains("[secret:"), "{held:?}"),
            // The search is able to find them.
            false => assert!(held.len() >= 40, "{held:?}"),
        }
    }
}

#[tokio::test]
async fn another_user_gets_no_file_of_a_session() {
    let site = Site::new().await;
    record(&site.store, "sales", None).await;
    for first in [FirstView::Run, FirstView::Chat] {
        let refused = export(&site.store, "bob", "sales", first).await.map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains("no such chat"), "{refused}");
    }
}
