//! The pages, rendered on the server. Scripts add what needs a hand: scrolling, keys, dialogs.

mod answering;
mod branch_difference;
mod branches;
mod chat;
mod chats;
mod compare;
mod graph;
mod memory;
mod pieces;
mod prompt;
mod provenance;
mod row;
mod run;
mod search;
mod sent;
mod sent_bar;
mod sent_controls;
mod shell;
mod step;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::html;

pub(crate) use self::answering::answering;
pub(crate) use self::branch_difference::branch_difference;
pub(crate) use self::branches::branches;
pub(crate) use self::chat::{CHUNK, chat, rows};
pub(crate) use self::chats::chats;
pub(crate) use self::compare::{bodies, compare};
pub(crate) use self::memory::memory;
pub(crate) use self::prompt::{prompt, prompt_on_top};
pub(crate) use self::run::{run, step};
pub(crate) use self::search::search;
pub(crate) use self::sent::{piece, sent, shown_body};
use self::shell::{Shell, Tab};
use crate::links::Links;
use crate::{OperationError, Operations};

/// The error of a page, as a page.
pub(crate) struct PageError {
    links: Links,
    error: OperationError,
}

/// Turns the errors of a page's operations into a page.
trait OrPage<T> {
    fn or_page(self, links: &Links) -> Result<T, PageError>;
}

impl<T, E: Into<OperationError>> OrPage<T> for Result<T, E> {
    fn or_page(self, links: &Links) -> Result<T, PageError> {
        self.map_err(|error| PageError { links: links.clone(), error: error.into() })
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let status = self.error.status();
        let body = html! {
            main class="single" {
                h1 { @if status == StatusCode::NOT_FOUND { "Not found" } @else { "That did not work" } }
                p { (self.error) }
                p { a href=(self.links.to("/")) { "All chats" } }
            }
        };
        let page = Shell::new(&self.links, "Not found", Tab::None).page(&body);
        (status, page).into_response()
    }
}

/// Answers for an address that no page has.
pub(crate) async fn not_found(State(_): State<Operations>, links: Links) -> Response {
    let body = html! {
        main class="single" {
            h1 { "Not found" }
            p { "There is no page at this address." }
            p { a href=(links.to("/")) { "All chats" } }
        }
    };
    (StatusCode::NOT_FOUND, Shell::new(&links, "Not found", Tab::None).page(&body)).into_response()
}
