//! Guards: whether a value is a fragment, an object, a message.
//!
//! The recorded guards look at the keys of any value. Here a value is a fragment only if it was
//! constructed as one. So a plain value is judged as data, which is never a fragment, whatever its
//! keys. Where the recorded guard sees a fragment, one of the same name is constructed and judged.
//! Undefined is null.

use context_runtime::{Fragment, FragmentData, Message, Role};

use super::written;
use crate::encoding::{entry, flag, text};
use crate::judge::{Difference, Outcome};

pub(super) fn judge(row: &FragmentData) -> Outcome {
    let value = entry(row, "value").unwrap_or(&FragmentData::Null);
    Outcome::of(check(row, value))
}

fn check(row: &FragmentData, value: &FragmentData) -> Result<String, Difference> {
    let says = |data: &FragmentData, message: bool| (data.is_fragment(), data.is_map(), message);
    let recorded =
        (flag(row, "isFragment"), flag(row, "isFragmentObject"), flag(row, "isMessageFragment"));
    let differs = |ours: (bool, bool, bool)| {
        Difference::new(
            format!("fragment, object, message: {}", written(value)),
            format!("{recorded:?}"),
            format!("{ours:?}"),
        )
    };
    let plain = says(value, false);
    if plain.0 || (!recorded.0 && plain != recorded) {
        return Err(differs(plain));
    }
    if !recorded.0 {
        return Ok("equal".to_owned());
    }
    let name = text(value, "name").unwrap_or_default();
    let fragment = match text(value, "type") {
        Some("message") => Fragment::from(Message::new(Role::User, [])),
        _ => Fragment::new(name, entry(value, "data").cloned().unwrap_or_default()),
    };
    let message = fragment.is_message();
    let made = says(&fragment.into(), message);
    if made == recorded {
        Ok("equal once it is made a fragment; a map until then".to_owned())
    } else {
        Err(differs(made))
    }
}
