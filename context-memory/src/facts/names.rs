//! When two names are the same, and the names of records that follow from them.

use context_core::{MemoryId, MemoryScope, MemorySource, search};

use super::Statement;

/// Signs between words that make no difference between names.
const IDLE: &str = ".,;:!?'\"`()[]{}-_‐–—’‘“”…·";

/// The form in which names are compared: words folded as search does, and between them the signs that tell names apart, as in `C++`.
pub(super) fn folded(name: &str) -> String {
    let (mut form, mut end) = (String::new(), 0);
    let signs = |gap: &str, form: &mut String| {
        form.extend(gap.chars().filter(|c| !c.is_whitespace() && !c.is_control() && !IDLE.contains(*c)));
    };
    for word in search::words(name) {
        signs(&name[end..word.range.start], &mut form);
        if !form.is_empty() {
            form.push(' ');
        }
        form.push_str(&word.folded);
        end = word.range.end;
    }
    // Signs alone are no name.
    if end > 0 {
        signs(&name[end..], &mut form);
        return form;
    }
    String::new()
}

/// What all statements of a subject and a relation are looked up by.
pub(super) fn key(subject: &str, relation: &str) -> String {
    digest("context-memory key of a fact, form 1", &[&folded(subject), &folded(relation)])
}

/// A word that only statements about a subject have.
pub(super) fn subject_word(subject: &str) -> String {
    format!("s{}", digest("context-memory subject of a fact, form 1", &[&folded(subject)]))
}

/// The name of a statement: the same whenever the same is said at the same place.
pub(super) fn statement_id(scope: &MemoryScope, statement: &Statement) -> MemoryId {
    let Statement { subject, relation, object, from, until, source, .. } = statement;
    // Not when it was said: where nobody knows, that is when it was told, and it may be told again.
    let time = |time: &Option<context_core::Timestamp>| {
        time.map(|time| time.as_micros().to_string()).unwrap_or_default()
    };
    let parts = [
        &scope.key(),
        &folded(subject),
        &folded(relation),
        &folded(object),
        &time(from),
        &time(until),
        &place(source.as_ref()),
    ];
    let digest = digest("context-memory statement, form 1", &parts.map(String::as_str));
    MemoryId::from(format!("fact:{digest}"))
}

/// The name of what is kept of a message that was looked through.
pub(super) fn message_id(scope: &MemoryScope, source: &MemorySource) -> MemoryId {
    let parts = [&*scope.key(), &*place(Some(source))];
    MemoryId::from(format!("facts-of:{}", digest("context-memory message with facts, form 1", &parts)))
}

fn place(source: Option<&MemorySource>) -> String {
    let pair = source.map(|source| (&source.session, &source.message));
    serde_json::to_string(&pair).unwrap_or_default()
}

/// 128 bits of a hash of these parts, kept apart from all other hashes by the context.
fn digest(context: &str, parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_whatever_their_case_accents_and_spaces() {
        for (a, b) in [("Café Nero", "CAFE  nero"), ("O'Neil", "O’Neil"), ("Works  at", "works at."), ("Ａｄａ", "ada")]
        {
            assert_eq!(folded(a), folded(b));
        }
        for (a, b) in [("C", "C++"), ("C", "C#"), ("C++", "C#"), ("5", "5%"), ("Bob", "Robert"), ("ab c", "a bc")] {
            assert_ne!(folded(a), folded(b));
        }
        for nothing in ["", " ", "…", "++", "()"] {
            assert_eq!(folded(nothing), "");
        }
    }

    #[test]
    fn names_of_records_never_change() {
        let said = Statement::new("Ada", "works at", "Initech", super::super::Holds::One, Default::default());
        let scope = MemoryScope::new("ada");
        let source = MemorySource::message("s", "m");
        assert_eq!(statement_id(&scope, &said).as_str(), ID);
        assert_ne!(statement_id(&scope, &said.clone().source(source.clone())).as_str(), ID);
        assert_eq!(key("ADA", "Works at"), KEY);
        assert_eq!(message_id(&scope, &source).as_str(), MESSAGE);
    }

    /// Stores keep them: others would let what was forgotten come back.
    const ID: &str = "fact:";
    const KEY: &str = "";
    const MESSAGE: &str = "facts-of:";
}
