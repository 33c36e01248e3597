//! The people file: users of one's own beside the seed users, in TOML.
//!
//! Its rules are those of the JSON of a [`User`]: the members of a person apply to both
//! accounts, and each account overrides them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::user::{InvalidUser, KnownUser, USER_MEMBERS, User, take_text};
use crate::Provider;

/// The size limit of a file, enough for some thousand people.
const MAX_BYTES: u64 = 256 * 1024;

/// The key of the page's form for another account.
const RESERVED_KEY: &str = "other";

/// The length limit of a parser's message, which may quote the whole file.
const MAX_MESSAGE_CHARS: usize = 200;

/// The reason that the page shows for a person without one.
const REASON: &str = "One of your own users.";

/// The reason why a people file cannot be used, as one line.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct PeopleFileError {
    path: PathBuf,
    problem: Problem,
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("{0}; name a TOML file with [[people]] tables")]
    Unreadable(#[from] io::Error),
    #[error("is no regular file; name a TOML file with [[people]] tables")]
    NotAFile,
    #[error("has more than {} KiB; leave people out", MAX_BYTES / 1024)]
    TooLarge,
    #[error("line {line}: {message}")]
    Syntax { line: usize, message: String },
    #[error("has no person; add a [[people]] table for each")]
    Empty,
    #[error("person {name}: {rule}")]
    Person { name: String, rule: BrokenRule },
}

/// A rule that a person of the file breaks.
#[derive(Debug, thiserror::Error)]
enum BrokenRule {
    #[error("key is missing; add a short name, as in key = \"marie\"")]
    NoKey,
    #[error("key must be 1 to 40 characters of a-z, 0-9, - and _")]
    Key,
    #[error("key is reserved for the form of another account; choose another key")]
    ReservedKey,
    #[error("key is that of another person or of a seed user; choose another key")]
    DuplicateKey,
    #[error("{name:?} is no member of a person; the members are key, reason, google, github, {}",
        members(&USER_MEMBERS[1..]))]
    UnknownMember { name: String },
    #[error("has no account; add google = {{ id = \"…\" }}, github = {{ id = \"…\" }}, or both")]
    NoAccount,
    #[error("{0}")]
    Member(#[from] InvalidUser),
    #[error("{} must be a table, as in {{ id = \"4711\" }}", .0.name())]
    NotATable(Provider),
    #[error("{}: {name:?} is no member of an account; the members are {}", provider.name(),
        members(&USER_MEMBERS))]
    UnknownAccountMember { provider: Provider, name: String },
    #[error("{}: {error}", provider.name())]
    Account {
        provider: Provider,
        error: InvalidUser,
    },
    #[error("{}: id is also that of {other}; choose another id", provider.name())]
    DuplicateId { provider: Provider, other: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeopleFile {
    #[serde(default)]
    people: Vec<Map<String, Value>>,
}

/// Appends the people of the file at `path` to `users`.
pub(super) fn add_to(users: &mut Vec<KnownUser>, path: &Path) -> Result<(), PeopleFileError> {
    let added = read(path).and_then(|text| parse(&text, users));
    added.map_err(|problem| PeopleFileError {
        path: path.to_owned(),
        problem,
    })
}

fn read(path: &Path) -> Result<String, Problem> {
    // To open a pipe is to wait for its writer.
    if !path.metadata()?.is_file() {
        return Err(Problem::NotAFile);
    }
    let mut text = String::new();
    let mut limited = File::open(path)?.take(MAX_BYTES + 1);
    limited.read_to_string(&mut text)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(Problem::TooLarge),
        false => Ok(text),
    }
}

fn parse(text: &str, users: &mut Vec<KnownUser>) -> Result<(), Problem> {
    let file: PeopleFile = toml::from_str(text).map_err(|error| Problem::syntax(text, &error))?;
    if file.people.is_empty() {
        return Err(Problem::Empty);
    }
    for (index, members) in file.people.into_iter().enumerate() {
        let name = name(index, &members);
        let person =
            person(members).and_then(|person| check_unique(&person, users).map(|()| person));
        users.push(person.map_err(|rule| Problem::Person { name, rule })?);
    }
    Ok(())
}

impl Problem {
    fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().iter().take(start);
        Self::Syntax {
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
            message: printable(error.message()),
        }
    }
}

/// The start of a message that may quote the file, with escapes for what a terminal or a
/// reader would take for something else.
fn printable(message: &str) -> String {
    let mut start: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
    if start.len() < message.len() {
        start.push('…');
    }
    // `"` and `'` stay as they are.
    let escaped = start.replace('\n', " ").escape_debug().to_string();
    escaped.replace("\\\"", "\"").replace("\\'", "'")
}

/// The name of a person in an error: the key, or else the number of the table.
fn name(index: usize, members: &Map<String, Value>) -> String {
    match members.get("key") {
        Some(Value::String(key)) if is_key(key) => format!("`{key}`"),
        _ => format!("{}", index + 1),
    }
}

fn person(mut members: Map<String, Value>) -> Result<KnownUser, BrokenRule> {
    let key = take_text(&mut members, "key")?.ok_or(BrokenRule::NoKey)?;
    if !is_key(&key) {
        return Err(BrokenRule::Key);
    }
    let reason = take_text(&mut members, "reason")?;
    let google = members.remove(Provider::Google.name());
    let github = members.remove(Provider::GitHub.name());
    // An id belongs to one account.
    if let Some(name) = unknown(&members, &USER_MEMBERS[1..]) {
        return Err(BrokenRule::UnknownMember { name });
    }
    let person = KnownUser {
        key: key.into(),
        reason: reason.unwrap_or_else(|| REASON.to_owned()).into(),
        github_reason: None,
        google: account(Provider::Google, google, &members)?,
        github: account(Provider::GitHub, github, &members)?,
    };
    match (&person.google, &person.github) {
        (None, None) => Err(BrokenRule::NoAccount),
        _ => Ok(person),
    }
}

/// The account of a person at `provider`, with the members that both accounts share.
fn account(
    provider: Provider,
    own: Option<Value>,
    shared: &Map<String, Value>,
) -> Result<Option<User>, BrokenRule> {
    let own = match own {
        None => return Ok(None),
        Some(Value::Object(own)) => own,
        Some(_) => return Err(BrokenRule::NotATable(provider)),
    };
    if let Some(name) = unknown(&own, &USER_MEMBERS) {
        return Err(BrokenRule::UnknownAccountMember { provider, name });
    }
    let mut members = shared.clone();
    members.extend(own);
    let account = User::try_from(Value::Object(members));
    let checked = account.and_then(|account| account.check_for(provider).map(|()| account));
    let invalid = |error| BrokenRule::Account { provider, error };
    checked.map(Some).map_err(invalid)
}

fn check_unique(person: &KnownUser, others: &[KnownUser]) -> Result<(), BrokenRule> {
    if person.key == RESERVED_KEY {
        return Err(BrokenRule::ReservedKey);
    }
    if others.iter().any(|other| other.key == person.key) {
        return Err(BrokenRule::DuplicateKey);
    }
    for provider in Provider::ALL {
        let Some(account) = person.at(provider) else {
            continue;
        };
        let has_id = |other: &&KnownUser| other.at(provider).is_some_and(|it| it.id == account.id);
        if let Some(other) = others.iter().find(has_id) {
            let other = format!("`{}`", other.key);
            return Err(BrokenRule::DuplicateId { provider, other });
        }
    }
    Ok(())
}

fn is_key(key: &str) -> bool {
    let may_contain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=40).contains(&key.len()) && key.bytes().all(may_contain)
}

/// The first member that is not one of `known`.
fn unknown(members: &Map<String, Value>, known: &[&str]) -> Option<String> {
    let mut names = members.keys();
    let unknown = names.find(|name| !known.contains(&name.as_str()))?;
    Some(unknown.chars().take(MAX_MESSAGE_CHARS).collect())
}

fn members(names: &[&str]) -> String {
    names.join(", ")
}
