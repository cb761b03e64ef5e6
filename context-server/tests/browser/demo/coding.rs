//! An agent that mends a program.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_runtime::{Media, MediaSource, Part, Role, assistant, user};
use serde_json::json;

use super::{CODING, Demo, call, failed_step, message, say, step};

const SOURCE: &str = "//! Dates as people write them.

/// Parses a date such as `6.3.2026`.
pub fn parse(text: &str) -> Option<Date> {
    let mut parts = text.split('.');
    let day = parts.next()?.parse().ok()?;
    let month = parts.next()?.parse().ok()?;
    let year = parts.next()?.parse().ok()?;
    Some(Date { day, month, year })
}
";

const BEFORE: &str = "    let year = parts.next()?.parse().ok()?;
    Some(Date { day, month, year })
";

const AFTER: &str = "    let year: u32 = parts.next()?.trim().parse().ok()?;
    // Two digits mean this century.
    let year = if year < 100 { 2000 + year } else { year };
    if parts.next().is_some() {
        return None;
    }
    Some(Date { day, month, year })
";

pub(super) async fn write(demo: &Demo) {
    let mut engine = demo.chat(CODING, "Mend the date parser").await;
    let ask = "`parse(\"6.3.26\")` gives the year 26. It should be 2026, and `6.3.2026.1` should be refused. \
               This is what the form shows:";
    let picture = Part::Image(Media {
        source: MediaSource::Base64(STANDARD.encode(form()).into()),
        media_type: Some("image/png".to_owned()),
        name: Some("form.png".to_owned()),
        metadata: Default::default(),
    });
    let [read, source] =
        step("I read the parser first.", "t1", "read_file", json!({"path": "src/date.rs"}), SOURCE);
    say(
        &mut engine,
        [message(Role::User, [Part::text(ask), picture]).with_id("c-ask"), read, source],
    )
    .await;
    let edit = json!({"file_path": "src/date.rs", "old_string": BEFORE, "new_string": AFTER});
    let [edit, edited] = step(
        "The year is taken as it stands, and nothing looks for a fourth part.",
        "t2",
        "edit_file",
        edit,
        "Edited src/date.rs: 2 lines became 7.",
    );
    let [test, failed] = failed_step(
        "",
        "t3",
        "bash",
        json!({"command": "cargo test -p dates", "timeout": 120}),
        &test_output(),
    );
    say(&mut engine, [edit, edited, test, failed]).await;
    let both = [
        call("t4", "bash", json!({"command": "git diff --stat && cargo test -p dates"})),
        call("t5", "read_file", json!({"path": "tests/forms.rs", "from": 12, "count": 4})),
    ];
    let results = [
        Part::ToolResult(
            both[0].result(" src/date.rs | 7 ++++++-\ntest result: ok. 62 passed; 0 failed"),
        ),
        Part::ToolResult(both[1].result("assert_eq!(parse(\"1.1.99\").unwrap().year, 2099);\n")),
    ];
    let text = "One test expects `1.1.99` to be 2099, which is what the rule says now. I run them all again, and look at that test.";
    let parts = [Part::text(text)].into_iter().chain(both.map(Part::ToolCall));
    let done = "Mended in `src/date.rs`:\n\n```rust\nassert_eq!(parse(\"6.3.26\").unwrap().year, 2026);\nassert!(parse(\"6.3.2026.1\").is_none());\n```\n\n- [x] two digits mean this century\n- [x] a fourth part is refused\n- [ ] dates before 2000 with two digits: say if you need them";
    say(&mut engine, [message(Role::Assistant, parts), message(Role::Tool, results)]).await;
    say(
        &mut engine,
        [assistant(done).with_id("c-done"), user("Thank you! That is all.").with_id("c-thanks")],
    )
    .await;
}

/// Returns the output of a test run, longer than is shown at once.
fn test_output() -> String {
    let mut text = "running 62 tests\n".to_owned();
    for n in 1..=61 {
        text.push_str(&format!("test forms::case_{n:02} ... ok\n"));
    }
    text.push_str(
        "test forms::two_digits ... FAILED\n\nfailures:\n    forms::two_digits: assertion `left == right` failed\n      left: 2099\n     right: 1999\n\ntest result: FAILED. 61 passed; 1 failed\n",
    );
    text
}

/// Returns a picture of a form, drawn here.
fn form() -> Vec<u8> {
    let picture = image::RgbImage::from_fn(360, 96, |x, y| {
        let (field, error) = ((20..210).contains(&x) && (20..48).contains(&y), y > 58 && y < 76);
        let edge = field && (x == 20 || x == 209 || y == 20 || y == 47);
        let digit = field && (30..42).contains(&y) && x > 30 && x < 92 && x % 14 < 8;
        image::Rgb(match () {
            () if edge => [179, 38, 30],
            () if digit => [40, 44, 52],
            () if field => [255, 255, 255],
            () if error && x > 20 && x < 250 && x % 11 < 8 => [179, 38, 30],
            () => [240, 242, 246],
        })
    });
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}
