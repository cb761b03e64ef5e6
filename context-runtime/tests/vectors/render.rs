//! Suite `deepagents-render`: fragments and their rendered text.
//!
//! A plain case must give the same text. A suspect one must be sound instead: the output parses,
//! contains every text and number of the input in order (any order with grouping, which gathers),
//! and every name can be read back. XML is judged here: its multi-line text is indented, and two
//! names may differ where the recorded inflection of a word differs from the library's. Rules of
//! other formats are in their own modules.

use std::collections::HashSet;
use std::fs;

use context_runtime::{Fragment, FragmentData, RenderOptions, Renderer, XmlRenderer, renderer};

use crate::encoding::{Unknown, decode_fragment, entry, flag, items, text};
use crate::judge::{BoxError, Difference, Judged, Outcome};
use crate::{File, markdown, toml_tree, toon_tree, xml};

/// The rules for the cases of a format.
struct Format {
    name: &'static str,
    equal: fn(&Input, &str, &Inflections) -> Result<String, Difference>,
    sound: fn(&Input) -> Result<String, Difference>,
}

const FORMATS: [Format; 4] = [
    Format { name: "xml", equal: Input::check_equal, sound: Input::check_sound },
    Format {
        name: "markdown",
        equal: |input, expected, _| markdown::check_equal(input, expected),
        sound: markdown::check_sound,
    },
    Format {
        name: "toml",
        equal: |input, expected, _| toml_tree::check(input, Some(expected)),
        sound: |input| toml_tree::check(input, None),
    },
    Format {
        name: "toon",
        equal: |input, expected, _| toon_tree::check(input, Some(expected)),
        sound: |input| toon_tree::check(input, None),
    },
];

pub(crate) fn judge(file: &File<'_>) -> Result<Vec<Judged>, BoxError> {
    let words = Inflections::beside(file)?;
    let judged = file.cases()?.into_iter().map(|case| {
        let id = text(&case, "id").unwrap_or("(no id)").to_owned();
        Judged { id, outcome: judge_case(&case, &words) }
    });
    Ok(judged.collect())
}

fn judge_case(case: &FragmentData, words: &Inflections) -> Outcome {
    if flag(case, "skip") {
        return Outcome::Skipped(text(case, "ours").unwrap_or("not to be run").into());
    }
    let name = text(case, "renderer").unwrap_or_default();
    let Some(format) = FORMATS.iter().find(|format| format.name == name) else {
        return Outcome::Skipped(format!("no renderer {name:?}"));
    };
    let input = match Input::decode(case) {
        Ok(input) => input,
        Err(Unknown(what)) => return Outcome::Skipped(format!("not known: {what}")),
    };
    let checked = match text(case, "expected") {
        Some(expected) if !flag(case, "suspect") => (format.equal)(&input, expected, words),
        _ => (format.sound)(&input),
    };
    Outcome::of(checked)
}

/// The input of a case.
pub(crate) struct Input {
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) group: bool,
    wrap: Option<String>,
}

impl Input {
    fn decode(case: &FragmentData) -> Result<Self, Unknown> {
        let (mut group, mut wrap) = (false, None);
        if let Some(FragmentData::Map(options)) = entry(case, "options") {
            for (key, value) in options {
                match (key.as_str(), value) {
                    ("groupFragments", FragmentData::Bool(on)) => group = *on,
                    ("wrapTag", FragmentData::Text(tag)) => wrap = Some(tag.to_string()),
                    _ => return Err(Unknown(format!("option {key}"))),
                }
            }
        }
        if !matches!(entry(case, "fragments"), Some(FragmentData::List(_))) {
            return Err(Unknown("fragments that cannot be written down".into()));
        }
        let defs = entry(case, "defs");
        let fragments =
            items(case, "fragments").iter().map(|fragment| decode_fragment(fragment, defs));
        Ok(Self { fragments: fragments.collect::<Result<_, _>>()?, group, wrap })
    }

    /// Renders in a format that does not wrap.
    pub(crate) fn render_as(
        &self,
        format: &str,
        options: RenderOptions,
    ) -> Result<String, Difference> {
        let failed = |error: &dyn std::fmt::Display| Difference::new("renders", "a text", error);
        let options = options.group(self.group);
        let renderer = renderer(format, options).ok_or_else(|| failed(&"no such renderer"))?;
        renderer.render(&self.fragments).map_err(|error| failed(&error))
    }

    fn render(&self, indent_text: bool) -> Result<String, Difference> {
        let renderer = XmlRenderer::new().group(self.group).indent_text(indent_text);
        let rendered = match &self.wrap {
            Some(tag) => renderer.render_wrapped(tag, &self.fragments),
            None => renderer.render(&self.fragments),
        };
        rendered.map_err(|error| Difference::new("renders", "a text", error))
    }

    fn check_equal(&self, expected: &str, words: &Inflections) -> Result<String, Difference> {
        let ours = self.render(true)?;
        if ours == expected {
            return Ok("equal".into());
        }
        if words.explain(expected, &ours) {
            return Ok("equal but for inflected names".into());
        }
        Err(Difference::new("equal", expected, ours))
    }

    fn check_sound(&self) -> Result<String, Difference> {
        let ours = self.render(false)?;
        let broken = |rule: &str, expected: &dyn std::fmt::Debug| {
            Difference::new(rule, format!("{expected:?}"), &ours)
        };
        let document =
            xml::read(&ours).map_err(|error| broken("parses as XML", &error.to_string()))?;
        let mut expected = Content::of(&self.fragments);
        expected.leaves.iter_mut().for_each(|text| *text = sayable(text));
        let (mut leaves, mut wanted) = (document.leaves.clone(), expected.leaves.clone());
        if self.group {
            leaves.sort();
            wanted.sort();
        }
        if leaves != wanted {
            return Err(broken("holds every text, in order", &expected.leaves));
        }
        if !holds(&document.names, &expected.names, !self.group) {
            return Err(broken("names can be read back", &expected.names));
        }
        let order =
            if self.group { "nothing lost (grouping gathers)" } else { "nothing lost, order kept" };
        Ok(format!("sound: parses as XML, {order}, names can be read back"))
    }
}

/// The texts and names of the input, in document order.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) leaves: Vec<String>,
    pub(crate) names: Vec<String>,
}

impl Content {
    pub(crate) fn of(fragments: &[Fragment]) -> Self {
        let mut content = Self::default();
        fragments.iter().for_each(|fragment| content.add_fragment(fragment));
        content
    }

    fn add_fragment(&mut self, fragment: &Fragment) {
        if let Some(data) = fragment.data().filter(|data| !data.is_empty()) {
            self.names.push(fragment.name().to_owned());
            self.add(data);
        }
    }

    fn add(&mut self, data: &FragmentData) {
        match data {
            FragmentData::Bool(value) => self.leaves.push(value.to_string()),
            FragmentData::Number(number) => self.leaves.push(number.to_string()),
            FragmentData::Text(text) => self.leaves.push(text.to_string()),
            FragmentData::Fragment(fragment) => self.add_fragment(fragment),
            FragmentData::List(list) => list.iter().for_each(|item| self.add(item)),
            FragmentData::Map(map) => {
                for (key, value) in map.iter().filter(|(_, value)| !value.is_empty()) {
                    // A key that holds a fragment of its own name may be one element with it.
                    let same =
                        matches!(value, FragmentData::Fragment(inner) if inner.name() == key);
                    if !same {
                        self.names.push(key.clone());
                    }
                    self.add(value);
                }
            }
            _ => {}
        }
    }
}

/// Returns a text as XML 1.0 can express it: control characters are replaced by their pictures.
fn sayable(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' | '\n' | '\r' => c,
        '\0'..' ' => char::from_u32(0x2400 + c as u32).unwrap_or(c),
        '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        _ => c,
    };
    text.chars().map(shown).collect()
}

/// Whether `names` contains all of `wanted`, in this order or in any.
pub(crate) fn holds(names: &[String], wanted: &[String], in_order: bool) -> bool {
    if in_order {
        let mut names = names.iter();
        return wanted.iter().all(|name| names.any(|other| other == name));
    }
    let mut left: Vec<_> = names.iter().collect();
    wanted.iter().all(|name| {
        let found = left.iter().position(|other| *other == name);
        found.map(|at| left.swap_remove(at)).is_some()
    })
}

/// Words whose recorded singular or plural differs from the library's, as pairs of both.
struct Inflections(HashSet<(String, String)>);

impl Inflections {
    /// Compares the optional table of words beside the file with the library.
    fn beside(file: &File<'_>) -> Result<Self, BoxError> {
        let path = file.path.with_file_name("deepagents-misc.json");
        if !path.is_file() {
            return Ok(Self(HashSet::new()));
        }
        let table: FragmentData = serde_json::from_str(&fs::read_to_string(path)?)?;
        let mut differing = HashSet::new();
        for row in items(&table, "words") {
            let FragmentData::List(row) = row else { continue };
            let columns: Vec<_> = row.iter().filter_map(FragmentData::as_text).collect();
            let [word, plural, singular, ..] = columns.as_slice() else { continue };
            for (recorded, ours) in [(singular, item_name(word)), (plural, group_name(word))] {
                differing.extend(
                    ours.filter(|ours| ours != recorded).map(|ours| (recorded.to_string(), ours)),
                );
            }
        }
        Ok(Self(differing))
    }

    /// Whether two texts are equal except for names that are inflected differently.
    fn explain(&self, expected: &str, ours: &str) -> bool {
        let (expected, ours) = (xml::pieces(expected), xml::pieces(ours));
        let name = |tag: &str| tag.trim_matches(['<', '/', '>']).to_owned();
        expected.len() == ours.len()
            && expected.iter().zip(&ours).all(|(expected, ours)| {
                let both_tags = expected.starts_with('<') && ours.starts_with('<');
                let same_end = expected.starts_with("</") == ours.starts_with("</");
                expected == ours
                    || (both_tags && same_end && self.0.contains(&(name(expected), name(ours))))
            })
    }
}

/// Returns the library's name for the items of a list with this name.
fn item_name(word: &str) -> Option<String> {
    let list = Fragment::new(word, FragmentData::list(["a", "b"]));
    inner_name(&XmlRenderer::new(), list)
}

/// Returns the library's name for a group of fragments with this name.
fn group_name(word: &str) -> Option<String> {
    let list = Fragment::new(
        "list",
        FragmentData::list([Fragment::new(word, "a"), Fragment::new(word, "b")]),
    );
    inner_name(&XmlRenderer::new().group(true), list)
}

fn inner_name(renderer: &XmlRenderer, fragment: Fragment) -> Option<String> {
    let document = xml::read(&renderer.render(&[fragment]).ok()?).ok()?;
    document.names.into_iter().nth(1)
}
