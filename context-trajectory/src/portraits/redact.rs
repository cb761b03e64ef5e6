//! Masking values whose names mark them as secrets.
//!
//! Secrets in prose are not found here. Keys of a known form are masked everywhere by
//! [`context_core::base::secrets`].

use context_core::Json;
use serde_json::Value;

/// The replacement for a masked value.
const MASK: &str = "…";

/// Names of secret values, in lower case and without separators. A longer name that ends in one of
/// them is secret too.
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

/// The replacement for JSON that is nested too deep to be searched. Such JSON is not shown at all.
const TOO_DEEP: &str = "(nested too deep to be shown)";

/// Returns the JSON with secret values masked.
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
    // If nothing was masked, digits and order stay as they were.
    if masked { Json::from(&value) } else { json.clone() }
}

/// Returns whether a name marks a secret: `auth_token` does, `max_tokens` does not.
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
