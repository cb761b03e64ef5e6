//! Styles and scripts, embedded in the program.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::content;

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The scripts by name. A script imports only those before it.
pub(crate) const SCRIPTS: [(&str, &str); 14] = [
    ("theme.js", include_str!("assets/theme.js")),
    ("dom.js", include_str!("assets/dom.js")),
    ("static.js", include_str!("assets/static.js")),
    ("rows.js", include_str!("assets/rows.js")),
    ("dialogs.js", include_str!("assets/dialogs.js")),
    ("actions.js", include_str!("assets/actions.js")),
    ("sent.js", include_str!("assets/sent.js")),
    ("memory.js", include_str!("assets/memory.js")),
    ("keys.js", include_str!("assets/keys.js")),
    ("live.js", include_str!("assets/live.js")),
    ("lists.js", include_str!("assets/lists.js")),
    ("steps.js", include_str!("assets/steps.js")),
    ("run.js", include_str!("assets/run.js")),
    ("page.js", include_str!("assets/page.js")),
];

/// The styles: of the page, and of the colours of code.
static STYLES: LazyLock<String> = LazyLock::new(|| {
    let own = [
        include_str!("assets/page.css"),
        include_str!("assets/sent.css"),
        include_str!("assets/run.css"),
        include_str!("assets/memory.css"),
    ];
    format!("{}\n{}", own.join("\n"), content::stylesheet())
});

/// Returns the script that chooses the colours.
pub(crate) fn theme() -> &'static str {
    SCRIPTS[0].1
}

/// Returns the styles.
pub(crate) fn styles() -> &'static str {
    &STYLES
}

/// Returns all scripts as one module, for a page in a file: imports are left out, since each script
/// follows those that it needs, and no two have a name in common.
pub(crate) fn bundle() -> String {
    let lines = SCRIPTS[1..].iter().flat_map(|(_, text)| text.lines());
    let own = lines.filter(|line| !line.starts_with("import "));
    let own = own.map(|line| line.strip_prefix("export ").unwrap_or(line));
    own.collect::<Vec<_>>().join("\n")
}

/// Answers with an asset.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let found = match name.as_str() {
        "page.css" => Some((STYLE, styles())),
        name => SCRIPTS.iter().find(|(known, _)| *known == name).map(|(_, text)| (SCRIPT, *text)),
    };
    match found {
        None => StatusCode::NOT_FOUND.into_response(),
        // The program may be a newer one the next time, at the same address.
        Some((kind, text)) => {
            ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text)
                .into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A page in a file has all scripts as one module, in which a second declaration of a name is a
    /// syntax error that stops the whole page.
    #[test]
    fn no_two_scripts_declare_the_same_name() {
        let mut names: HashMap<&str, &str> = HashMap::new();
        for (script, text) in &SCRIPTS[1..] {
            for line in text.lines() {
                let line = line.strip_prefix("export ").unwrap_or(line);
                let line = line.strip_prefix("async ").unwrap_or(line);
                let declared = ["function ", "class ", "const ", "let "]
                    .iter()
                    .find_map(|word| line.strip_prefix(word));
                let Some(declared) = declared else { continue };
                let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
                let name = declared.split(is_end).next().unwrap_or_default();
                let before = names.insert(name, script);
                assert!(before.is_none(), "{name} is in {script} and in {before:?}");
            }
        }
        assert!(!bundle().contains("\nimport "));
    }
}
