//! The rows of `corpora.toml`: what the checks send and look for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A name, and what it stands for.
pub(super) type Pair = (String, String);

/// The rows, by the checks that use them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Corpora {
    pub(super) wrong_answer: Vec<WrongAnswer>,
    pub(super) wrong_addresses: Vec<Pair>,
    pub(super) wrong_states: Vec<Pair>,
    pub(super) early_callbacks: Vec<Pair>,
    pub(super) hostile_queries: Vec<Pair>,
    pub(super) hostile_text: String,
    pub(super) foreign_headers: Vec<Pair>,
    pub(super) cancelled: Vec<String>,
    pub(super) parameters: Vec<Parameters>,
    pub(super) parameter_headers: Vec<Pair>,
    pub(super) hostile_names: Vec<Pair>,
    /// Each with its member and its value.
    pub(super) hostile_members: Vec<(String, String, String)>,
    /// Names that are like that of a cookie.
    pub(super) like_names: Vec<Pair>,
    pub(super) subjects: Vec<Subjects>,
    /// Each with what of an address it sends to other sites.
    pub(super) referrer_policies: Vec<Pair>,
    pub(super) return_to: ReturnTo,
    pub(super) error_page: ErrorPage,
}

/// One thing that is wrong with an answer of the broker.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrongAnswer {
    /// The change in words, after "with".
    pub(super) name: String,
    pub(super) part: Part,
    pub(super) status: Option<u16>,
    pub(super) content_type: Option<String>,
    pub(super) body: Option<String>,
    /// Whether the second half of the answer is missing.
    #[serde(default)]
    pub(super) is_cut: bool,
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
    pub(super) remove: Option<String>,
    /// Whether an app only shows the wrong part: it neither identifies nor decides.
    #[serde(default)]
    pub(super) is_shown: bool,
}

/// The part of the broker's answers that is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Any,
    Session,
    Token,
    /// The profile, in whichever answer it is.
    Profile,
    Result,
}

/// Parameters by the idea behind them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    pub(super) name: String,
    pub(super) pairs: Vec<Pair>,
}

/// A subject, and others that are like it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subjects {
    pub(super) owner: String,
    /// Each with its difference in words, after "a user whose subject".
    pub(super) others: Vec<Pair>,
}

/// Parameters that name a page to return to, and addresses outside.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReturnTo {
    pub(super) names: Vec<String>,
    pub(super) addresses: Vec<String>,
}

/// The values over which parsers stumble, and what frameworks then show.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorPage {
    pub(super) paths: Vec<String>,
    pub(super) queries: Vec<String>,
    pub(super) cookie_values: Vec<String>,
    pub(super) sources: Vec<String>,
    pub(super) marks: Vec<Pair>,
}

/// Every row.
pub(super) static CORPORA: LazyLock<Corpora> = LazyLock::new(|| {
    toml::from_str(include_str!("../../corpora.toml")).expect("a test reads corpora.toml")
});

/// The text of a row, with values in place of the words in braces.
pub(super) fn fill<V: AsRef<str>>(row: &str, values: &[(&str, V)]) -> String {
    values.iter().fold(row.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value.as_ref())
    })
}

#[cfg(test)]
mod tests {
    /// The words that the checks fill in.
    const WORDS: &str = "a all authority b code email first half host id key long markup n name \
        needle origin other other_half other_scheme path rest right scheme state swapped unknown \
        username";

    #[test]
    fn every_word_in_braces_is_filled_in_by_a_check() {
        let rows = include_str!("../../corpora.toml").lines();
        let rows = rows.filter(|line| !line.starts_with('#'));
        let words = rows.flat_map(|line| line.split('{').skip(1));
        let words = words.filter_map(|it| Some(it.split_once('}')?.0));
        let is_word = |it: &str| it.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        let unknown = |it: &&str| is_word(it) && !WORDS.split_whitespace().any(|word| word == *it);
        assert_eq!(
            words.filter(unknown).collect::<Vec<_>>(),
            Vec::<&str>::new()
        );
    }
}
