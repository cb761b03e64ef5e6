//! The check of the full-text index: it must hold the words of every message and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::{Node, UserId};
use sqlx::Row;

use crate::chat::branches::Segment;
use crate::connections::Session;
use crate::error::Result;
use crate::history::words::Tag;
use crate::sql;
use crate::values::place::place;

/// Reports the problems with the words of a branch.
pub(crate) async fn words_of(
    session: &mut Session<'_>,
    segment: &Segment,
    own: &[Arc<Node>],
    user: &UserId,
) -> Result<Option<String>> {
    let query = session.query(sql::WORDS_OF).bind(place(segment.no, 1)).bind(segment.end());
    let mut indexed = HashMap::new();
    for row in session.all(query).await? {
        let words: (i16, i64, String) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        indexed.insert(row.try_get::<i64, _>(0)?, words);
    }
    let tag = Tag::of(user);
    let (mut missing, mut other) = (0, 0);
    let (mut places, mut lexemes) = (Vec::new(), Vec::new());
    for (node, place) in own.iter().zip(place(segment.no, 1)..) {
        let Some(words) = tag.words(node) else { continue };
        match indexed.remove(&place) {
            None => missing += 1,
            Some(stored) => {
                other += usize::from(stored != (words.role, words.length, words.body));
                places.push(place);
                lexemes.push(words.lexemes);
            }
        }
    }
    let query = session.query(sql::OTHER_LEXEMES).bind(places).bind(lexemes);
    let unlike: i64 = session.only(query).await?.try_get(0)?;
    Ok(disagreement(missing, other, unlike, indexed.len()))
}

/// Describes the differences between messages and full-text index. Kinds of difference that do not
/// occur are left out.
fn disagreement(missing: usize, other: usize, unlike: i64, wordless: usize) -> Option<String> {
    let unlike = usize::try_from(unlike).unwrap_or(usize::MAX);
    let facts = [
        (missing, "lacks", ""),
        (other, "has other words for", ""),
        (unlike, "finds", " by other words"),
        (wordless, "has", " without words"),
    ];
    let differences = facts.iter().filter(|(n, ..)| *n > 0).map(|(n, verb, rest)| {
        let plural = if *n == 1 { "" } else { "s" };
        format!("{verb} {n} message{plural}{rest}")
    });
    let differences = differences.collect::<Vec<_>>().join(", ");
    (!differences.is_empty()).then(|| format!("the full-text index {differences}"))
}
