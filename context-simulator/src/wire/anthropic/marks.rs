//! Cache breakpoints: their number, positions and order.

use serde_json::Value;

use super::super::Rule;
use super::super::place::{At, Findings, items, kind};

/// The maximum number of cache breakpoints of a request.
const MOST: usize = 4;

pub(super) fn check(body: &Value, found: &mut Findings) {
    let mut marks = Marks::default();
    // The service reads in this order: tools, system, messages.
    for (key, value) in [("tools", body.get("tools")), ("system", body.get("system"))] {
        let at = At::Body.key(key);
        for (i, block) in items(value).iter().enumerate() {
            marks.block(block, &at.item(i), found);
        }
    }
    let list = At::Body.key("messages");
    for (i, message) in items(body.get("messages")).iter().enumerate() {
        let (message_at, key) = (list.item(i), "content");
        let at = message_at.key(key);
        for (i, block) in items(message.get(key)).iter().enumerate() {
            marks.block(block, &at.item(i), found);
        }
    }
    // A cache breakpoint on the request itself lies after everything else.
    marks.one(body, &At::Body, found);
    if marks.count > MOST {
        found.add(
            Rule::CacheMark,
            &At::Body,
            format!("{} cache marks, {MOST} is the most", marks.count),
        );
    }
}

#[derive(Default)]
struct Marks {
    count: usize,
    short: bool,
}

impl Marks {
    fn block(&mut self, block: &Value, at: &At<'_>, found: &mut Findings) {
        let inner = at.key("content");
        for (i, inside) in items(block.get("content")).iter().enumerate() {
            self.one(inside, &inner.item(i), found);
        }
        self.one(block, at, found);
    }

    fn one(&mut self, block: &Value, at: &At<'_>, found: &mut Findings) {
        let Some(mark) = block.get("cache_control").filter(|mark| !mark.is_null()) else { return };
        self.count += 1;
        let thinks = matches!(kind(block), "thinking" | "redacted_thinking");
        found.ask(!thinks, Rule::CacheMark, at, "a mark on a thought");
        let long = mark.get("ttl").and_then(Value::as_str) == Some("1h");
        found.ask(
            !(long && self.short),
            Rule::CacheMark,
            at,
            "a mark of an hour behind one of minutes",
        );
        self.short |= !long;
    }
}
