//! The content of messages as safe HTML. Content is text: no markup of a message, a name or a tool
//! result reaches the page as markup.

mod arguments;
mod code;
mod diff;
mod long;
mod markdown;
mod message;

pub(crate) use self::code::stylesheet;
pub(crate) use self::markdown::markdown;
pub(crate) use self::message::{call, part, result};
