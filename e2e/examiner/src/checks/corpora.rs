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
    debug_assert!(
        words_of(row).all(|word| values.iter().any(|(name, _)| *name == word)),
        "a word in braces of {row} has no value"
    );
    values.iter().fold(row.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value.as_ref())
    })
}

/// The words in braces; what else is in braces stays there.
fn words_of(row: &str) -> impl Iterator<Item = &str> {
    let inner = row.split('{').filter_map(|it| Some(it.split_once('}')?.0));
    inner.filter(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_lowercase() || it == b'_'))
}
