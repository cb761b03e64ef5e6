//! The parser of schema files.

use std::collections::HashMap;

use super::{Form, Forms, Key};

pub(super) fn forms(text: &str) -> Forms {
    let words = words(text);
    let names: HashMap<String, usize> = words
        .windows(2)
        .filter(|pair| pair[1] == "=")
        .enumerate()
        .map(|(place, pair)| (pair[0].to_owned(), place))
        .collect();
    let mut reader = Reader { words: &words, next: 0, names: &names };
    let mut forms = Vec::with_capacity(names.len());
    while reader.next < words.len() {
        reader.next += 1; // its name
        reader.expect("=");
        forms.push(reader.form());
    }
    assert_eq!(forms.len(), names.len(), "every name is there once");
    Forms { forms, names }
}

/// Splits a text into names, literals with their quotes, and punctuation.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '"' => rest[1..].find('"').expect("a literal ends on its line") + 2,
                '.' => 3,
                c if is_letter(c) => rest.find(|c| !is_letter(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            words.push(&rest[..end]);
            rest = rest[end..].trim_start();
        }
    }
    words
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Reader<'a> {
    words: &'a [&'a str],
    next: usize,
    names: &'a HashMap<String, usize>,
}

impl<'a> Reader<'a> {
    fn take(&mut self) -> &'a str {
        let word = self.words[self.next];
        self.next += 1;
        word
    }

    fn expect(&mut self, sign: &str) {
        assert_eq!(self.take(), sign);
    }

    /// Consumes a punctuation token if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        let there = self.words.get(self.next) == Some(&sign);
        self.next += usize::from(there);
        there
    }

    fn form(&mut self) -> Form {
        let mut forms = vec![self.single()];
        while self.takes("|") {
            forms.push(self.single());
        }
        if forms.len() == 1 { forms.remove(0) } else { Form::OneOf(forms) }
    }

    fn single(&mut self) -> Form {
        match self.take() {
            "str" => Form::Text,
            "int" => Form::Int,
            "num" => Form::Number,
            "bool" => Form::Bool,
            "null" => Form::Null,
            "any" => Form::Any,
            "base64" => Form::Base64,
            "[" => {
                let item = self.form();
                self.expect("]");
                Form::List(item.into())
            }
            "{" => self.object(),
            literal if literal.starts_with('"') => {
                Form::Literal(literal.trim_matches('"').to_owned())
            }
            name => Form::Named(*self.names.get(name).unwrap_or_else(|| panic!("no form {name}"))),
        }
    }

    fn object(&mut self) -> Form {
        if self.takes("*") {
            self.expect(":");
            let each = self.form();
            self.expect("}");
            return Form::Map(each.into());
        }
        let (mut keys, mut open) = (Vec::new(), false);
        while !self.takes("}") {
            if self.takes("...") {
                open = true;
                continue;
            }
            let name = self.take().to_owned();
            let needed = !self.takes("?");
            self.expect(":");
            keys.push(Key { name, needed, form: self.form() });
            self.takes(",");
        }
        Form::Object { keys, open }
    }
}
