//! The content of messages as safe HTML. Content is text: no markup of a message, a name or a tool
//! result reaches the page as markup.

mod arguments;
mod code;
mod contrast;
mod diff;
mod long;
mod markdown;
mod message;

pub(crate) use self::arguments::summary;
pub(crate) use self::code::{json_block, stylesheet};
pub(crate) use self::diff::{json as diff_json, lines as diff_lines};
pub(crate) use self::long::plain;
pub(crate) use self::markdown::markdown;
pub(crate) use self::message::{call, output, part, result};
