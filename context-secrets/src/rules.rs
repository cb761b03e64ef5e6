//! Rules of the program: literal values and patterns.

use std::sync::Arc;

use regex::Regex;

use crate::finder::{Inner, SecretFinder, literals};
use crate::kind::SecretKind;

/// The shortest literal value. Shorter ones occur by chance.
const SHORTEST_LITERAL: usize = 6;

/// Builder of a [`SecretFinder`] with rules of the program.
///
/// ```
/// use context_secrets::SecretFinder;
///
/// let finder = SecretFinder::builder()
///     .literal("billing-key", "correct horse battery staple")
///     .pattern("employee-number", r"\bE-(?<secret>[0-9]{6})\b")
///     .without("jwt")
///     .build()?;
/// let (shown, _) = finder.mask("E-123456: correct horse battery staple");
/// assert_eq!(shown, "E-[secret:employee-number]: [secret:billing-key]");
/// # Ok::<(), context_secrets::SecretRuleError>(())
/// ```
#[derive(Clone, Default)]
pub struct SecretFinderBuilder {
    literals: Vec<(String, String)>,
    patterns: Vec<(String, String)>,
    without: Vec<String>,
}

/// The reason why a rule was refused. No text shows a literal value.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SecretRuleError {
    /// A name is not one of lowercase letters, digits and hyphens.
    #[error("the name {0:?} is not one of at most 40 lowercase letters, digits and hyphens")]
    BadName(String),
    /// A literal value is too short.
    #[error("the literal value of {0} is shorter than 6 bytes")]
    ShortLiteral(SecretKind),
    /// A pattern is not a regular expression.
    #[error("the pattern of {kind} is not a regular expression")]
    BadPattern {
        /// The name of the rule.
        kind: SecretKind,
        /// The error of the parser.
        source: Box<regex::Error>,
    },
    /// A pattern matches the empty text.
    #[error("the pattern of {0} matches the empty text")]
    EmptyPattern(SecretKind),
    /// The literal values are too many or too long together.
    #[error("the literal values are too large")]
    TooLarge(#[source] Box<aho_corasick::BuildError>),
}

context_core::readable_debug!(SecretRuleError);

impl SecretFinder {
    /// Begins a finder with rules of the program.
    pub fn builder() -> SecretFinderBuilder {
        SecretFinderBuilder::default()
    }
}

impl SecretFinderBuilder {
    /// Adds a value that is a secret wherever it occurs, such as a key of this process. `name` is
    /// the kind in its mark.
    #[must_use]
    pub fn literal(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.literals.push((name.into(), value.into()));
        self
    }

    /// Adds a regular expression in the syntax of the crate `regex`. If it has a group named
    /// `secret`, only that group is masked.
    #[must_use]
    pub fn pattern(mut self, name: impl Into<String>, pattern: impl Into<String>) -> Self {
        self.patterns.push((name.into(), pattern.into()));
        self
    }

    /// Leaves out a built-in kind.
    #[must_use]
    pub fn without(mut self, kind: impl Into<String>) -> Self {
        self.without.push(kind.into());
        self
    }

    /// Builds the finder, or reports the first rule that is not valid.
    pub fn build(self) -> Result<SecretFinder, SecretRuleError> {
        let named = |name: &str| {
            SecretKind::named(name).ok_or_else(|| SecretRuleError::BadName(name.to_owned()))
        };
        let mut inner = Inner::default();
        for name in &self.without {
            inner.without.insert(named(name)?);
        }
        let (mut kinds, mut values) = (Vec::new(), Vec::new());
        for (name, value) in self.literals {
            let kind = named(&name)?;
            if value.len() < SHORTEST_LITERAL {
                return Err(SecretRuleError::ShortLiteral(kind));
            }
            kinds.push(kind);
            values.push(value);
        }
        if !values.is_empty() {
            let automaton =
                literals(&values).map_err(|error| SecretRuleError::TooLarge(Box::new(error)))?;
            inner.literals = Some((automaton, kinds));
        }
        for (name, pattern) in self.patterns {
            let kind = named(&name)?;
            let pattern = Regex::new(&pattern).map_err(|error| SecretRuleError::BadPattern {
                kind: kind.clone(),
                source: Box::new(error),
            })?;
            if pattern.is_match("") {
                return Err(SecretRuleError::EmptyPattern(kind));
            }
            inner.patterns.push((kind, pattern));
        }
        Ok(SecretFinder(Arc::new(inner)))
    }
}
