//! Values that are secrets by the name they stand under.
//!
//! What this does not do: find secrets in prose; keys of a known form are masked wherever they
//! stand, see [`context_core::base::secrets`].

use context_core::Json;
use serde_json::Value;

/// What stands for such a value.
const MASK: &str = "…";

/// Names, in small letters and without separators, whose values are nobody's business, also as the
/// end of a longer name.
const NAMES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "authorization",
    "credential",
    "credentials",
    "cookie",
];

/// What stands for JSON that is nested too deep to be looked through: it is not shown at all.
const TOO_DEEP: &str = "(nested too deep to be shown)";

/// The same JSON without them.
pub(super) fn without_named_secrets(json: &Json) -> Json {
    let Ok(mut value) = json.parse::<Value>() else { return Json::from(TOO_DEEP) };
    let mut masked = false;
    let mut open = vec![&mut value];
    while let Some(next) = open.pop() {
        match next {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (name, member) in members {
                    if is_secret(name) && (member.is_string() || member.is_number()) {
                        *member = Value::from(MASK);
                        masked = true;
                    } else {
                        open.push(member);
                    }
                }
            }
            _ => {}
        }
    }
    // Digits and order stay as they were where nothing had to go.
    if masked { Json::from(&value) } else { json.clone() }
}

/// `max_tokens` is none, `auth_token` is.
fn is_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    NAMES.iter().any(|secret| plain.ends_with(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_by_their_names() {
        let json = r#"{"user":"ann","password":"hunter2","db":[{"API-Key":7,"auth_token":"x","max_tokens":9}]}"#;
        let masked = without_named_secrets(&Json::from_text(json).unwrap());
        for gone in ["hunter2", ":7", "\"x\""] {
            assert!(!masked.as_str().contains(gone), "{gone} in {masked}");
        }
        assert!(masked.as_str().contains("ann") && masked.as_str().contains("\"max_tokens\":9"));
    }

    #[test]
    fn what_cannot_be_looked_through_is_not_shown() {
        let deep = format!("{}{{\"password\":\"hunter2\"}}{}", "[".repeat(200), "]".repeat(200));
        let masked = without_named_secrets(&Json::from_text(&deep).unwrap());
        assert_eq!(masked, Json::from(TOO_DEEP));
    }

    #[test]
    fn what_has_none_stays_as_it_was_written() {
        let json = Json::from_text(r#"{"z":1.50,"a":[12345678901234567890123]}"#).unwrap();
        assert_eq!(without_named_secrets(&json), json);
    }
}
