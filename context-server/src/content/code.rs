//! Colours for code and JSON.

use std::sync::LazyLock;

use maud::{Markup, PreEscaped, html};
use syntect::highlighting::Theme;
use syntect::html::{ClassStyle, ClassedHTMLGenerator, css_for_theme_with_class_style};
use syntect::parsing::SyntaxSet;
use syntect::util::LinesWithEndings;
use two_face::theme::{EmbeddedLazyThemeSet, EmbeddedThemeName};

use super::contrast;

/// Longer code is shown without colours.
const LONGEST: usize = 24 * 1024;
/// Code with a longer line is shown without colours: the rules may take long for it.
const LONGEST_LINE: usize = 2_000;
const STYLE: ClassStyle = ClassStyle::SpacedPrefixed { prefix: "s-" };

/// The backgrounds of code, `--code` of the styles.
const LIGHT: [u8; 3] = [0xf4, 0xf5, 0xf7];
const DARK: [u8; 3] = [0x1e, 0x22, 0x28];

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Returns the styles of the colours, for light and dark.
pub(crate) fn stylesheet() -> String {
    let themes: EmbeddedLazyThemeSet = two_face::theme::extra();
    let css = |theme: &Theme| css_for_theme_with_class_style(theme, STYLE).unwrap_or_default();
    let (light, dark) = (
        css(themes.get(EmbeddedThemeName::InspiredGithub)),
        css(themes.get(EmbeddedThemeName::OneHalfDark)),
    );
    let light = contrast::readable(&without_background(&light), LIGHT);
    let dark = contrast::readable(&without_background(&dark), DARK);
    format!(":root {{\n{light}\n}}\n:root[data-theme=dark] {{\n{dark}\n}}\n")
}

/// Removes the rule of the whole block: the page has its own background.
fn without_background(rules: &str) -> String {
    match (rules.find(".s-code {"), rules.find(".s-code {").and_then(|at| rules[at..].find('}'))) {
        (Some(at), Some(end)) => format!("{}{}", &rules[..at], &rules[at + end + 1..]),
        _ => rules.to_owned(),
    }
}

/// Returns a block of code in a language, by its name or the end of a file's name.
pub(crate) fn block(code: &str, language: &str) -> Markup {
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    html! {
        div class="code" {
            @if !language.is_empty() { span class="lang" { (language) } }
            pre tabindex="0" { code { (highlighted(code, language)) } }
        }
    }
}

/// Returns code with colours, or as text if the language is not known.
pub(crate) fn highlighted(code: &str, language: &str) -> Markup {
    let plain = || html! { (code) };
    if language.is_empty() || code.len() > LONGEST {
        return plain();
    }
    let name = match language {
        "js" | "jsx" | "javascript" => "js",
        "shell" | "console" | "zsh" => "bash",
        other => other,
    };
    let Some(syntax) = SYNTAXES.find_syntax_by_token(name) else { return plain() };
    if code.lines().any(|line| line.len() > LONGEST_LINE) {
        return plain();
    }
    let mut generator = ClassedHTMLGenerator::new_with_class_style(syntax, &SYNTAXES, STYLE);
    for line in LinesWithEndings::from(code) {
        if generator.parse_html_for_line_which_includes_newline(line).is_err() {
            return plain();
        }
    }
    PreEscaped(generator.finalize())
}

/// Returns JSON as a block, indented and coloured.
pub(crate) fn json_block(text: &str) -> Markup {
    html! { pre class="text body" { (json_text(text)) } }
}

/// Returns a text as indented JSON if it is JSON, else as it is.
pub(crate) fn json_text(text: &str) -> Markup {
    highlighted(&indented(text).unwrap_or_else(|| text.to_owned()), "json")
}

/// Returns a JSON text with line breaks and indentation. Numbers and strings stay as written.
/// `None` if the text is no JSON object or list.
pub(crate) fn indented(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            (in_string, escaped) = (escaped || character != '"', character == '\\' && !escaped);
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                out.push(character);
            }
            '{' | '[' => {
                while characters.next_if(|next| next.is_whitespace()).is_some() {}
                out.push(character);
                if let Some(close) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(character);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            space if space.is_whitespace() => {}
            other => out.push(other),
        }
    }
    Some(out)
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    // Deeper levels are not told apart.
    out.extend(std::iter::repeat_n("  ", depth.min(40)));
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn json_is_indented_and_nothing_else_changes() {
        let text = r#"{"a":1.10,"b":[],"c":[1, {"d":"x,{\"y\":\\"}],"e":{ }}"#;
        let shown = "{\n  \"a\": 1.10,\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": \"x,{\\\"y\\\":\\\\\"\n    }\n  ],\n  \"e\": {}\n}";
        assert_eq!(indented(text).as_deref(), Some(shown));
        assert_eq!(indented("no json"), None);
        assert_eq!(indented("{\"a\":"), None);
    }
}
