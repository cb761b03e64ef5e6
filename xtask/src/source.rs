//! Source files as the rules see them: the files of the workspace, and Rust code without comments,
//! literals and tests.
//!
//! This is not a parser. It handles just enough of Rust's lexical structure that a comment or a
//! string cannot fool a rule about code.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path from the root of the workspace, with forward slashes.
    pub path: String,
    /// The content.
    pub text: String,
}

impl SourceFile {
    /// Creates a file with this path and content.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// Whether the file is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is test code, an example or a benchmark.
    pub fn is_test(&self) -> bool {
        let folder = |part: &str| matches!(part, "tests" | "examples" | "benches");
        self.path.split('/').any(folder) || self.path.ends_with("/tests.rs")
    }
}

/// Returns the text files of a folder, ordered by path, without build output and git data.
pub fn files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("could not list {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !matches!(name.as_str(), "target" | ".git") {
                    folders.push(path);
                }
            } else if is_text(&path) {
                found.push(read(root, path)?);
            } else if path.extension().is_some_and(|extension| extension == "png") {
                // Pages may show pictures; nothing is looked for in them.
                found.push(SourceFile::new(relative(root, &path), ""));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Returns all files of a folder, ordered by path. What is not UTF-8 in them is replaced.
pub(crate) fn all_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path)?;
                found.push(SourceFile::new(relative(root, &path), String::from_utf8_lossy(&bytes)));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn is_text(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    matches!(&*extension, "rs" | "toml" | "md" | "sh" | "yml" | "yaml" | "sql" | "lua")
        || path.ends_with(".ci/run")
}

fn read(root: &Path, path: PathBuf) -> Result<SourceFile> {
    let text =
        fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    Ok(SourceFile::new(relative(root, &path), text))
}

/// Returns the path of a file from the root of the workspace.
fn relative(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Returns the code of a file. Comments, the inside of literals, and items behind `#[cfg(test)]`
/// are replaced by spaces. Line numbers are preserved.
pub fn code(text: &str) -> String {
    let mut code = blank_literals(text);
    while let Some(at) = code.find("#[cfg(test)]") {
        let end = item_end(&code[at..]) + at;
        let blanked: String =
            code[at..end].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
        code.replace_range(at..end, &blanked);
    }
    code
}

/// Returns the end of the item at the beginning of `code`: its closing brace, or a semicolon before
/// any brace.
pub(crate) fn item_end(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// A text literal of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// The number of characters, quotes included.
    pub(crate) length: usize,
    /// The lines it is in, from 0.
    pub(crate) lines: std::ops::RangeInclusive<usize>,
}

/// Returns the text literals of a file, without those in comments.
pub(crate) fn literals(text: &str) -> Vec<Literal> {
    let chars: Vec<char> = text.chars().collect();
    let (mut found, mut at, mut line) = (Vec::new(), 0, 0);
    while at < chars.len() {
        let end = literal_end(&chars, at).max(at + 1);
        let breaks = chars[at..end].iter().filter(|c| **c == '\n').count();
        if end > at + 1 && chars[at] != '/' {
            found.push(Literal { length: end - at, lines: line..=line + breaks });
        }
        line += breaks;
        at = end;
    }
    found
}

fn blank_literals(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        out.extend(chars[at..end].iter().map(|&c| if c == '\n' { c } else { ' ' }));
        at = end;
    }
    out
}

/// Returns the end of the comment or literal that begins at `at`, or `at` if none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    let in_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if next == Some('/') => {
            chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| at + n)
        }
        '/' if next == Some('*') => block_comment_end(chars, at),
        '"' => quoted_end(chars, at, '"'),
        // A lifetime is not a literal. Only an escape, or one character and a quote, make one.
        '\'' if next == Some('\\') || chars.get(at + 2) == Some(&'\'') => {
            quoted_end(chars, at, '\'')
        }
        'r' if !in_word || chars[at - 1] == 'b' => raw_end(chars, at),
        _ => at,
    }
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0_usize, at);
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], at: usize, quote: char) -> usize {
    let mut i = at + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            c if c == quote => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

fn raw_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let closes =
        |i: usize| chars[i] == '"' && chars[i + 1..].iter().take(hashes).all(|&c| c == '#');
    let close = (open + 1..chars.len()).find(|&i| closes(i) && i + hashes < chars.len());
    close.map_or(chars.len(), |i| i + 1 + hashes)
}

#[cfg(test)]
mod tests {
    use super::code;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let words: Vec<_> = code(text).split_whitespace().map(String::from).collect();
        assert_eq!(words.join(" "), expect);
        assert_eq!(code(text).lines().count(), text.lines().count());
    }

    #[test]
    fn comments_and_text_are_no_code() {
        check("a // todo!()\nb /* x /* y */ z */ c", "a b c");
        check(r#"a("x \" }") b"#, "a( ) b");
        check("a(r#\"x \" y\"#) b(br\"z\") for", "a( ) b(b ) for");
        check("a('\"', '\\'', b'x') fn f<'a>(x: &'a str)", "a( , , b ) fn f<'a>(x: &'a str)");
    }

    #[test]
    fn tests_are_no_code() {
        check("a\n#[cfg(test)]\nmod tests {\n fn f() { \"}\" }\n}\nb", "a b");
        check("#[cfg(test)]\nuse x;\ny", "y");
        check("#[cfg(test)]\nmod unclosed {", "");
    }
}
