//! The values that a refusal is about: what was sent, beside what is right.

use contract::Rule::{
    AuthorizeClient, BodyMissingField, BodyUnknownField, ClientRecognised, CodeCallback,
    ProviderKnown, RedirectUriRegistered, ResultCallback, ResultKnown, SessionKeyFresh,
    SessionKeyPattern, StatePattern,
};
use contract::{Provider, Rule};
use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::event_log::{EventLog, LoggedEvent};
use crate::mask;
use crate::projects::ProjectCredentials;

/// A value that was refused, beside the right ones. Secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compared {
    pub(crate) name: String,
    pub(crate) got: Marked,
    pub(crate) right: Vec<Marked>,
    /// The one of several right values that is probably meant.
    pub(crate) meant: Option<String>,
}

/// A text: before, in and after the part in which it differs from another.
pub(crate) type Marked = [String; 3];

/// The values that the refusal in `event` is about; none if the request is no longer kept.
pub(crate) fn compared(
    event: &LoggedEvent,
    event_log: &EventLog,
    projects: &[ProjectCredentials],
) -> Vec<Compared> {
    let rule = Rule::ALL.iter().find(|rule| Some(rule.id()) == event.rule);
    let request = event_log.request(&event.request_id);
    let (Some(rule), Some(request)) = (rule, request) else {
        return Vec::new();
    };
    let sent = Sent(fields(&request));
    sent.compared(*rule, &event.operation, projects)
}

/// The fields of a JSON body, or else of the query, with their secrets.
struct Sent(Map<String, Value>);

fn fields(request: &Request<Bytes>) -> Map<String, Value> {
    let query = request.uri().query().unwrap_or_default();
    let query = form_urlencoded::parse(query.as_bytes());
    let query = query.map(|(name, value)| (name.into_owned(), Value::from(value)));
    serde_json::from_slice(request.body()).unwrap_or_else(|_| query.collect())
}

/// The fields that the contract gives the body of `operation`.
fn known_fields(operation: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(contract::openapi::DOCUMENT).unwrap_or_default();
    let (method, path) = operation.split_once(' ').unwrap_or_default();
    let body = &document["paths"][path][method.to_lowercase()]["requestBody"];
    let schema = body["content"]["application/json"]["schema"]["$ref"].as_str();
    let schema = schema.and_then(|it| document.pointer(it.trim_start_matches('#')));
    let members = schema.and_then(|it| it["properties"].as_object());
    members.map_or_else(Vec::new, |it| it.keys().cloned().collect())
}

impl Sent {
    fn compared(
        &self,
        rule: Rule,
        operation: &str,
        projects: &[ProjectCredentials],
    ) -> Vec<Compared> {
        let project = projects
            .iter()
            .find(|it| Some(it.client_id.as_str()) == self.text("client_id"));
        let key = "43 characters of A-Z, a-z, 0-9, - and _";
        match (rule, project) {
            (BodyUnknownField | BodyMissingField, _) => self.differences(&known_fields(operation)),
            (ProviderKnown, _) => {
                self.beside("provider", Provider::ALL.map(Provider::as_str), mask::scrub)
            }
            (ClientRecognised, Some(project)) => {
                let secret = mask::mask(project.client_secret.expose());
                self.beside("client_secret", [secret], mask::mask)
            }
            (ClientRecognised, None) => {
                let known = projects.iter().map(|it| it.client_id.as_str());
                self.beside("client_id", known, mask::scrub)
            }
            (RedirectUriRegistered | ResultCallback | CodeCallback | AuthorizeClient, Some(it)) => {
                let known = it.redirect_uris.iter().map(|it| mask::url(it.as_str()));
                self.beside("redirect_uri", known, mask::url)
            }
            (SessionKeyPattern, _) => self.beside("session_key", [key], length),
            (StatePattern, _) => self.beside("state", [key], length),
            (SessionKeyFresh, _) => {
                self.beside("session_key", ["a new key for each login"], mask::mask)
            }
            (ResultKnown, _) => {
                let right = "a key with which the project itself started a login";
                self.beside("session_key", [right], mask::mask)
            }
            _ => Vec::new(),
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    fn beside(
        &self,
        name: &str,
        right: impl IntoIterator<Item = impl Into<String>>,
        shown: impl Fn(&str) -> String,
    ) -> Vec<Compared> {
        let right: Vec<String> = right.into_iter().map(Into::into).collect();
        let got = self.text(name).map(shown);
        let compared = got.map(|got| Compared::new(name, &got, &right));
        compared.into_iter().collect()
    }

    /// The unknown fields, or that there is none, beside the known ones that are missing.
    fn differences(&self, known: &[String]) -> Vec<Compared> {
        let missing = known.iter().filter(|it| !self.0.contains_key(*it));
        let missing: Vec<_> = missing.cloned().collect();
        let unknown = self.0.keys().filter(|it| !known.contains(it));
        let mut unknown: Vec<_> = unknown.map(|it| mask::scrub(it)).collect();
        if unknown.is_empty() {
            unknown.push("nothing".to_owned());
        }
        let unknown = unknown.iter();
        unknown
            .map(|it| Compared::new("field", it, &missing))
            .collect()
    }
}

/// Of a secret that has not its form, only the length is shown.
fn length(secret: &str) -> String {
    format!("{} characters", secret.chars().count())
}

impl Compared {
    pub(crate) fn new(name: &str, got: &str, right: &[String]) -> Self {
        let near = nearest(right.iter().map(String::as_str), got);
        let other = near.unwrap_or_default();
        let right = right.iter();
        let right = right.map(|it| marked(it, if it == other { got } else { it }));
        Self {
            name: name.to_owned(),
            got: marked(got, other),
            meant: near
                .filter(|_| name == "field" || right.len() > 1)
                .map(str::to_owned),
            right: right.collect(),
        }
    }

    /// On one line, for the diagram.
    pub(crate) fn line(&self) -> String {
        let right: Vec<_> = self.right.iter().map(|it| it.concat()).collect();
        let (got, right) = (self.got.concat(), right.join(" or "));
        format!("{}: got {got}, right is {right}", self.name)
    }
}

/// `text` with what is between the beginning and the end that it shares with `other`.
fn marked(text: &str, other: &str) -> Marked {
    let same = text.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let start = same.map(|(a, _)| a.len_utf8()).sum();
    let (before, rest) = text.split_at(start);
    let ends = rest.chars().rev().zip(other[start..].chars().rev());
    let same = ends.take_while(|(a, b)| a == b);
    let end = same.map(|(a, _)| a.len_utf8()).sum::<usize>();
    let (different, after) = rest.split_at(rest.len() - end);
    [before, different, after].map(str::to_owned)
}

/// The least similarity of a name that is suggested, from 0 to 1.
const SIMILAR: f64 = 0.6;

/// The one of `known` that `name` is nearest to, if one is near.
pub(crate) fn nearest<'k>(known: impl Iterator<Item = &'k str>, name: &str) -> Option<&'k str> {
    // The comparison of long ones takes long.
    let scored = known.map(|known| (strsim::jaro_winkler(known, name), known));
    let near = scored.filter(|(score, _)| name.len() <= 200 && *score >= SIMILAR);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, it)| it)
}
