//! The rules of Gemini's `generateContent`.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::body_path::{BodyPath, Findings, items, text};
use super::forms::Forms;
use super::values::{any_base64, blank, length, name};
use super::{Rule, Violation};

static FORMS: LazyLock<Forms> = LazyLock::new(|| Forms::read(include_str!("forms/gemini.forms")));

/// The maximum length of a function name.
const MAX_NAME: usize = 128;
/// The characters of a name besides letters and digits.
const NAME_SIGNS: &str = "_.:-";
/// The keys of data, of which a part has exactly one. All other keys describe it.
const DATA: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

/// The message about a key that stands beside cached content.
const BESIDE_CACHED_CONTENT: &str = "the cached content has its own";

pub(super) fn check(body: &Value) -> Vec<Violation> {
    let mut findings = Findings::default();
    FORMS.check("body", body, &BodyPath::Body, &mut findings);
    let at = BodyPath::Body.key("contents");
    let contents = items(body.get("contents"));
    findings.ask(!contents.is_empty(), Rule::Empty, &at, "no contents");
    let is_continued = body.get("cachedContent").is_some();
    roles(contents, is_continued, &at, &mut findings);
    if is_continued {
        for key in ["systemInstruction", "tools", "toolConfig"] {
            let at = BodyPath::Body.key(key);
            findings.ask(body.get(key).is_none(), Rule::Place, &at, BESIDE_CACHED_CONTENT);
        }
    }
    for (i, content) in contents.iter().enumerate() {
        parts(content, text(content, "role"), &at.item(i), &mut findings);
    }
    if !is_continued {
        pairs(contents, &at, &mut findings);
    }
    if let Some(system) = body.get("systemInstruction") {
        let at = BodyPath::Body.key("systemInstruction");
        parts(system, None, &at, &mut findings);
        for part in items(system.get("parts")) {
            findings.ask(part.get("text").is_some(), Rule::Place, &at, "instructions are text");
        }
    }
    tools(body, &mut findings);
    findings.into_violations()
}

/// Checks that the user begins, unless the conversation begins in cached content, that user and
/// model alternate, and that the user ends.
fn roles(contents: &[Value], is_continued: bool, at: &BodyPath<'_>, findings: &mut Findings) {
    let first = contents.first().and_then(|first| text(first, "role"));
    let mut expected = if is_continued && first == Some("model") { "model" } else { "user" };
    for (i, content) in contents.iter().enumerate() {
        let role = text(content, "role").unwrap_or_default();
        if role != expected {
            findings.add(
                Rule::Role,
                &at.item(i),
                format!("{role:?} speaks, and it is the turn of {expected}"),
            );
        }
        expected = if role == "user" { "model" } else { "user" };
    }
    let last = contents.last().is_none_or(|last| text(last, "role") == Some("user"));
    findings.ask(last, Rule::Role, at, "the user has not the last word");
}

fn parts(content: &Value, role: Option<&str>, at: &BodyPath<'_>, findings: &mut Findings) {
    let at = at.key("parts");
    let parts = items(content.get("parts"));
    findings.ask(!parts.is_empty(), Rule::Empty, &at, "no parts");
    for (i, each) in parts.iter().enumerate() {
        part(each, role, &at.item(i), findings);
    }
}

fn part(part: &Value, role: Option<&str>, at: &BodyPath<'_>, findings: &mut Findings) {
    let held = DATA.iter().filter(|key| part.get(key).is_some()).count();
    findings.ask(held == 1, Rule::Empty, at, "a part holds one thing");
    let signed = text(part, "thoughtSignature").is_some_and(|signature| !signature.is_empty());
    if let Some(said) = text(part, "text") {
        // A signature may come with an empty text.
        findings.ask(signed || !blank(said), Rule::Empty, at, "a text without words");
    }
    let thinks = part.get("thought").and_then(Value::as_bool) == Some(true);
    findings.ask(
        !(thinks || signed) || role == Some("model"),
        Rule::Thinking,
        at,
        "only the model thinks",
    );
    let by_model =
        ["functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"];
    if by_model.iter().any(|key| part.get(key).is_some()) {
        findings.ask(role == Some("model"), Rule::Place, at, "only the model calls");
    }
    if let Some(called) = part.get("functionCall") {
        let at = at.key("functionCall");
        function(called, &at, findings);
        // Partial inputs occur only in streamed answers.
        let whole = called.get("partialArgs").is_none() && called.get("willContinue").is_none();
        findings.ask(whole, Rule::ToolInput, &at, "an input in pieces");
    }
    if let Some(answer) = part.get("functionResponse") {
        let at = at.key("functionResponse");
        findings.ask(role == Some("user"), Rule::Place, &at, "the model gives no results");
        function(answer, &at, findings);
        findings.ask(
            answer.get("response").is_some(),
            Rule::Missing,
            &at.key("response"),
            "must be there",
        );
        for (i, each) in items(answer.get("parts")).iter().enumerate() {
            let (list, key) = (at.key("parts"), i);
            media(each, &list.item(key), findings);
        }
    }
    media(part, at, findings);
}

fn function(said: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    let at = at.key("name");
    match text(said, "name") {
        Some(called) => function_name(called, &at, findings),
        None => findings.add(Rule::Missing, &at, "must be there"),
    }
}

fn function_name(called: &str, at: &BodyPath<'_>, findings: &mut Findings) {
    name(findings, at, called, NAME_SIGNS, MAX_NAME);
    let first = called.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    findings.ask(first, Rule::Name, at, "a name begins with a letter or _");
}

fn media(part: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
    if let Some(blob) = part.get("inlineData") {
        let at = at.key("inlineData");
        let taken =
            text(blob, "mimeType").is_some_and(|named| is_media_type(named) && is_taken(named));
        findings.ask(taken, Rule::Media, &at, "no media type that is taken");
        // The service reads both alphabets. The published types require one of them.
        let read = text(blob, "data").is_some_and(|data| !data.is_empty() && any_base64(data));
        findings.ask(read, Rule::Media, &at, "not Base64, or nothing");
    }
    if let Some(file) = part.get("fileData") {
        let at = at.key("fileData");
        let somewhere = text(file, "fileUri").is_some_and(|uri| !uri.is_empty());
        findings.ask(somewhere, Rule::Media, &at, "no address");
        let good = text(file, "mimeType").is_none_or(is_media_type);
        findings.ask(good, Rule::Media, &at, "no media type");
    }
}

/// Whether the documentation names media of this type. It does not name every image type.
fn is_taken(media_type: &str) -> bool {
    const NOT: [&str; 7] = ["gif", "bmp", "tiff", "svg+xml", "avif", "*", "x-icon"];
    let Some((kind, sub)) = media_type.split_once('/') else { return false };
    match kind {
        "image" => !NOT.contains(&sub),
        "application" => !matches!(sub, "zip" | "octet-stream"),
        _ => matches!(kind, "text" | "audio" | "video"),
    }
}

fn is_media_type(text: &str) -> bool {
    let letters = |text: &str| super::values::letters(text, "!#$&-^_.+");
    let plain = text.split(';').next().unwrap_or_default();
    plain.split_once('/').is_some_and(|(kind, sub)| letters(kind) && letters(sub))
}

/// Checks that a turn with calls is followed by one with as many results, of the same names.
fn pairs(contents: &[Value], at: &BodyPath<'_>, findings: &mut Findings) {
    let of = |content: &Value, key: &str| -> Vec<(String, Option<String>)> {
        let held =
            items(content.get("parts")).iter().filter_map(|part| part.get(key)).map(|said| {
                let owned = |key| text(said, key).map(str::to_owned);
                (owned("name").unwrap_or_default(), owned("id"))
            });
        held.collect()
    };
    let mut open: Vec<(String, Option<String>)> = Vec::new();
    for (i, content) in contents.iter().enumerate() {
        let at = at.item(i);
        let results = of(content, "functionResponse");
        if results.len() != open.len() {
            let message = format!("{} results for {} calls", results.len(), open.len());
            findings.add(Rule::Pairing, &at, message);
        } else {
            let names = |of: &[(String, Option<String>)]| {
                let mut names: Vec<String> = of.iter().map(|(name, _)| name.clone()).collect();
                names.sort_unstable();
                names
            };
            findings.ask(
                names(&results) == names(&open),
                Rule::Pairing,
                &at,
                "results of other functions than called",
            );
            let ids = |of: &[(String, Option<String>)]| {
                let mut ids: Vec<String> = of.iter().filter_map(|(_, id)| id.clone()).collect();
                ids.sort_unstable();
                ids
            };
            findings.ask(
                ids(&results) == ids(&open),
                Rule::Pairing,
                &at,
                "results with other ids than the calls",
            );
        }
        open = of(content, "functionCall");
        let ids: Vec<&String> = open.iter().filter_map(|(_, id)| id.as_ref()).collect();
        let different: HashSet<&&String> = ids.iter().collect();
        findings.ask(different.len() == ids.len(), Rule::Duplicate, &at, "two calls with one id");
    }
    if !open.is_empty() {
        findings.add(Rule::Pairing, at, format!("{} calls at the end without results", open.len()));
    }
}

fn tools(body: &Value, findings: &mut Findings) {
    let at = BodyPath::Body.key("tools");
    let mut names = HashSet::new();
    for (i, tool) in items(body.get("tools")).iter().enumerate() {
        let at = at.item(i);
        findings.ask(
            tool.as_object().is_some_and(|tool| !tool.is_empty()),
            Rule::Tools,
            &at,
            "a tool that is none",
        );
        let list = at.key("functionDeclarations");
        for (i, declared) in items(tool.get("functionDeclarations")).iter().enumerate() {
            let at = list.item(i);
            function(declared, &at, findings);
            let declared = text(declared, "name").unwrap_or_default();
            findings.ask(names.insert(declared), Rule::Tools, &at, "two functions of one name");
        }
    }
    let config = body.get("toolConfig").and_then(|config| config.get("functionCallingConfig"));
    for chosen in items(config.and_then(|config| config.get("allowedFunctionNames"))) {
        let (config, calling) = (BodyPath::Body.key("toolConfig"), "functionCallingConfig");
        let at = config.key(calling);
        let declared = chosen.as_str().is_some_and(|chosen| names.contains(chosen));
        findings.ask(declared, Rule::Tools, &at, "a function that is not declared");
    }
    let labels = body.get("labels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let at = BodyPath::Body.key("labels");
        length(findings, &at, Rule::Name, key, 63);
        length(findings, &at, Rule::Name, value.as_str().unwrap_or_default(), 63);
    }
}
