//! Equality of names, and the record ids derived from them.

use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, MemorySource};
use context_store_kit::search;

use super::Statement;

/// Characters between words that do not distinguish names.
const IDLE: &str = ".,;:!?'\"`()[]{}-_‐–—’‘“”…·";

/// Returns the form in which names are compared: words folded as in search, and the characters
/// between them that distinguish names, as in `C++`.
pub(super) fn folded(name: &str) -> String {
    let (mut form, mut end) = (String::new(), 0);
    let signs = |gap: &str, form: &mut String| {
        form.extend(
            gap.chars().filter(|c| !c.is_whitespace() && !c.is_control() && !IDLE.contains(*c)),
        );
    };
    for word in search::words(name) {
        signs(&name[end..word.range.start], &mut form);
        if !form.is_empty() {
            form.push(' ');
        }
        form.push_str(&word.folded);
        end = word.range.end;
    }
    // Punctuation alone is not a name.
    if end > 0 {
        signs(&name[end..], &mut form);
        return form;
    }
    String::new()
}

/// Returns the lookup key for all statements of a subject and a relation.
pub(super) fn key(subject: &str, relation: &str) -> String {
    MemoryId::derived("facts", &[&folded(subject), &folded(relation)]).to_string()
}

/// Returns a word that only statements about this subject contain.
pub(super) fn subject_word(subject: &str) -> String {
    format!("s{}", MemoryId::derived("subject", &[&folded(subject)]))
}

/// Returns the id of a statement, which is the same for the same statement from the same source.
pub(super) fn statement_id(scope: &MemoryScope, statement: &Statement) -> MemoryId {
    let Statement { subject, relation, object, from, until, source, .. } = statement;
    // The time of the statement is not part of the id: if unknown, it is the time of the call, and
    // the call may be repeated.
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
    MemoryId::derived("fact", &parts.map(String::as_str))
}

/// Returns the id of the marker of a processed message.
pub(super) fn message_id(scope: &MemoryScope, source: &MemorySource) -> MemoryId {
    let parts = [&*scope.key(), &*place(Some(source))];
    MemoryId::derived("fact-source", &parts)
}

fn place(source: Option<&MemorySource>) -> String {
    let pair = source.map(|source| (&source.session, &source.message));
    serde_json::to_string(&pair).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_whatever_their_case_accents_and_spaces() {
        for (a, b) in [
            ("Café Nero", "CAFE  nero"),
            ("O'Neil", "O’Neil"),
            ("Works  at", "works at."),
            ("Ａｄａ", "ada"),
        ] {
            assert_eq!(folded(a), folded(b));
        }
        for (a, b) in [
            ("C", "C++"),
            ("C", "C#"),
            ("C++", "C#"),
            ("5", "5%"),
            ("Bob", "Robert"),
            ("ab c", "a bc"),
        ] {
            assert_ne!(folded(a), folded(b));
        }
        for nothing in ["", " ", "…", "++", "()"] {
            assert_eq!(folded(nothing), "");
        }
    }

    #[test]
    fn names_of_records_never_change() {
        let record = Statement::new(
            "Ada",
            "works at",
            "Initech",
            super::super::Cardinality::One,
            Default::default(),
        );
        let (scope, source) = (MemoryScope::new("ada"), MemorySource::message("s", "m"));
        let names = [
            statement_id(&scope, &record).to_string(),
            statement_id(&scope, &record.source(source.clone())).to_string(),
            message_id(&scope, &source).to_string(),
            key("ADA", "Works at"),
            subject_word("ada"),
        ];
        assert_eq!(names, NAMES);
    }

    /// Stores contain these ids. If they changed, forgotten facts could come back.
    const NAMES: [&str; 5] = [
        "73f578a1098b6de754f0ef3b089d8e07",
        "c107d1e2143832742a8a33b3253c2c99",
        "038f8c088d5367d84efaa38bf47a51cd",
        "709f8c1705388eb585d69f2910eced8e",
        "sa5b9a96f907aa14a28fdffb3d14b9c8c",
    ];
}
