//! Styles and scripts, embedded in the program.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::content;

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The scripts by name. A script imports only those before it.
pub(crate) const SCRIPTS: [(&str, &str); 10] = [
    ("theme.js", include_str!("assets/theme.js")),
    ("dom.js", include_str!("assets/dom.js")),
    ("rows.js", include_str!("assets/rows.js")),
    ("dialogs.js", include_str!("assets/dialogs.js")),
    ("actions.js", include_str!("assets/actions.js")),
    ("sent.js", include_str!("assets/sent.js")),
    ("keys.js", include_str!("assets/keys.js")),
    ("live.js", include_str!("assets/live.js")),
    ("lists.js", include_str!("assets/lists.js")),
    ("page.js", include_str!("assets/page.js")),
];

/// The styles: of the page, and of the colours of code.
static STYLES: LazyLock<String> = LazyLock::new(|| {
    let own = [include_str!("assets/page.css"), include_str!("assets/sent.css")];
    format!("{}\n{}", own.join("\n"), content::stylesheet())
});

/// Returns the styles.
pub(crate) fn styles() -> &'static str {
    &STYLES
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
