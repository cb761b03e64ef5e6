//! Answer types: an amount for a question of how much, a time for a question of when.

use context_store_kit::search;

/// A type of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    Money,
    Percent,
    Number,
    Age,
    Duration,
    Time,
    /// The name of a person, place or thing.
    Name,
    Mail,
    Colour,
}

/// Returns the answer types that a question asks for.
pub(super) fn asked(question: &str) -> Vec<Cue> {
    let words: Vec<String> = search::words(question).map(|word| word.folded).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let follows = |first: &str, second: &[&str]| {
        words.windows(2).any(|pair| pair[0] == first && second.contains(&pair[1].as_str()))
    };
    let cues = [
        (
            Cue::Money,
            has(&[
                "cost", "costs", "price", "pay", "paid", "spend", "spent", "budget", "salary",
                "worth",
            ]) || follows("how", &["much"]),
        ),
        (Cue::Percent, has(&["percent", "percentage", "rate", "discount"])),
        (Cue::Number, has(&["many", "number", "count", "often"])),
        (Cue::Age, has(&["old", "age"])),
        (Cue::Duration, follows("how", &["long"]) || has(&["duration"])),
        (Cue::Time, has(&["when", "date", "day", "month", "year", "time"])),
        (
            Cue::Name,
            has(&[
                "where",
                "who",
                "whom",
                "whose",
                "name",
                "named",
                "called",
                "city",
                "country",
                "brand",
                "company",
                "store",
                "restaurant",
            ]),
        ),
        (Cue::Mail, has(&["email", "mail"])),
        (Cue::Colour, has(&["color", "colour"])),
    ];
    cues.into_iter().filter(|(_, is_asked)| *is_asked).map(|(cue, _)| cue).collect()
}

/// Returns the share of these answer types that a sentence has, from 0 to 1.
pub(super) fn share(cues: &[Cue], sentence: &str) -> f64 {
    if cues.is_empty() {
        return 0.0;
    }
    let sentence = Sentence::of(sentence);
    cues.iter().filter(|cue| sentence.has(**cue)).count() as f64 / cues.len() as f64
}

struct Sentence<'a> {
    text: &'a str,
    words: Vec<String>,
}

impl<'a> Sentence<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, words: search::words(text).map(|word| word.folded).collect() }
    }

    fn any(&self, wanted: &[&str]) -> bool {
        self.words.iter().any(|word| wanted.binary_search(&word.as_str()).is_ok())
    }

    fn has(&self, cue: Cue) -> bool {
        match cue {
            Cue::Money => {
                let sign = self.text.contains(['$', '€', '£', '¥', '₹']);
                sign || (self.number() && self.any(CURRENCIES))
            }
            Cue::Percent => self.text.contains('%') || self.any(&["percent"]),
            Cue::Number => self.number() || self.any(&["couple", "dozen", "once", "twice"]),
            Cue::Age => self.any(&["age", "aged", "old"]) && self.number() || self.says_age(),
            Cue::Duration => self.number() && self.any(UNITS),
            Cue::Time => {
                let year = |word: &String| {
                    matches!(word.as_bytes(),
                    [b'1', b'9', ..] | [b'2', b'0', ..] if word.len() == 4)
                };
                self.any(TIMES) || self.words.iter().any(year) || (self.number() && self.any(CLOCK))
            }
            Cue::Name => names(self.text).next().is_some(),
            Cue::Mail => self.text.contains('@'),
            Cue::Colour => self.any(COLOURS),
        }
    }

    fn number(&self) -> bool {
        let is_number = |word: &String| {
            word.bytes().any(|byte| byte.is_ascii_digit())
                || NUMBERS.binary_search(&word.as_str()).is_ok()
        };
        self.words.iter().any(is_number)
    }

    /// Recognizes an age, as in `I'm 35` or `in my mid-50s`.
    fn says_age(&self) -> bool {
        let two_digits = |word: &str| {
            let digits = word.trim_end_matches('s');
            digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        let before = |word: &str| {
            matches!(word, "m" | "am" | "mid" | "early" | "late" | "turned" | "turning" | "my")
        };
        self.words.windows(2).any(|pair| before(&pair[0]) && two_digits(&pair[1]))
    }
}

/// Returns capitalized words other than `I` that do not start a sentence.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut begins = true;
    text.split_whitespace().filter_map(move |written| {
        let first = std::mem::replace(&mut begins, written.ends_with(['.', '!', '?', ':']));
        let word = written.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        let is_name = word.chars().next().is_some_and(char::is_uppercase)
            && !(word == "I" || word.starts_with("I'") || word.starts_with("I’"));
        (is_name && !first).then_some(word)
    })
}

const CLOCK: &[&str] = &["am", "clock", "noon", "pm"];
const COLOURS: &[&str] = &[
    "beige",
    "black",
    "blue",
    "brown",
    "gold",
    "golden",
    "gray",
    "green",
    "grey",
    "orange",
    "pink",
    "purple",
    "red",
    "silver",
    "teal",
    "turquoise",
    "violet",
    "white",
    "yellow",
];
const CURRENCIES: &[&str] = &[
    "bucks", "cents", "dollar", "dollars", "eur", "euro", "euros", "gbp", "pound", "pounds", "usd",
    "yen",
];
const NUMBERS: &[&str] = &[
    "eight",
    "eighteen",
    "eighty",
    "eleven",
    "fifteen",
    "fifty",
    "five",
    "forty",
    "four",
    "fourteen",
    "hundred",
    "million",
    "nine",
    "nineteen",
    "ninety",
    "one",
    "seven",
    "seventeen",
    "seventy",
    "six",
    "sixteen",
    "sixty",
    "ten",
    "thirteen",
    "thirty",
    "thousand",
    "three",
    "twelve",
    "twenty",
    "two",
];
const TIMES: &[&str] = &[
    "afternoon",
    "ago",
    "april",
    "august",
    "autumn",
    "december",
    "evening",
    "fall",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "monday",
    "month",
    "morning",
    "next",
    "night",
    "november",
    "october",
    "saturday",
    "september",
    "since",
    "spring",
    "summer",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "winter",
    "yesterday",
];
const UNITS: &[&str] = &[
    "day", "days", "decade", "decades", "hour", "hours", "minute", "minutes", "month", "months",
    "second", "seconds", "week", "weeks", "year", "years",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order() {
        for list in [CLOCK, CURRENCIES, NUMBERS, TIMES, UNITS] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }

    #[track_caller]
    fn fits(question: &str, good: &str, bad: &str) {
        let cues = asked(question);
        assert_eq!((share(&cues, good), share(&cues, bad)), (1.0, 0.0), "{cues:?}");
    }

    #[test]
    fn an_answer_has_what_is_asked_for() {
        fits("How much did the phone cost?", "The phone was $599.", "The phone was a bargain.");
        fits("How many cats does she have?", "She has three cats.", "She has cats.");
        fits("How old is he?", "He's in his mid-50s, 52 years old.", "He is a painter.");
        fits("When did they meet?", "We met last summer.", "We met at a fair.");
        fits("Where does she live?", "She moved to Lisbon.", "She moved away.");
        fits("How long was the flight?", "It took nine hours.", "It took a while.");
        fits("What percentage did you save?", "I saved 20%.", "I saved a bit.");
        assert_eq!(share(&asked("Tell me about trains"), "Trains are fast."), 0.0);
    }
}
