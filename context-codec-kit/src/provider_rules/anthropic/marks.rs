//! Cache breakpoints: their number, positions and order.

use serde_json::Value;

use super::super::Rule;
use super::super::body_path::{BodyPath, Findings, items, kind};

/// The maximum number of cache breakpoints of a request.
const MOST: usize = 4;

pub(super) fn check(body: &Value, findings: &mut Findings) {
    let mut marks = Marks::default();
    // The service reads in this order: tools, system, messages.
    for (key, value) in [("tools", body.get("tools")), ("system", body.get("system"))] {
        let at = BodyPath::Body.key(key);
        for (i, block) in items(value).iter().enumerate() {
            marks.block(block, &at.item(i), findings);
        }
    }
    let list = BodyPath::Body.key("messages");
    for (i, message) in items(body.get("messages")).iter().enumerate() {
        let (message_at, key) = (list.item(i), "content");
        let at = message_at.key(key);
        for (i, block) in items(message.get(key)).iter().enumerate() {
            marks.block(block, &at.item(i), findings);
        }
    }
    // A cache breakpoint on the request itself lies after everything else.
    marks.one(body, &BodyPath::Body, findings);
    if marks.count > MOST {
        findings.add(
            Rule::CacheMark,
            &BodyPath::Body,
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
    fn block(&mut self, block: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
        let inner = at.key("content");
        for (i, inside) in items(block.get("content")).iter().enumerate() {
            self.one(inside, &inner.item(i), findings);
        }
        self.one(block, at, findings);
    }

    fn one(&mut self, block: &Value, at: &BodyPath<'_>, findings: &mut Findings) {
        let Some(mark) = block.get("cache_control").filter(|mark| !mark.is_null()) else { return };
        self.count += 1;
        let thinks = matches!(kind(block), "thinking" | "redacted_thinking");
        findings.ask(!thinks, Rule::CacheMark, at, "a mark on a thought");
        let long = mark.get("ttl").and_then(Value::as_str) == Some("1h");
        findings.ask(
            !(long && self.short),
            Rule::CacheMark,
            at,
            "a mark of an hour behind one of minutes",
        );
        self.short |= !long;
    }
}
