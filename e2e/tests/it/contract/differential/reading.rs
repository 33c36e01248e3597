//! A plain implementation of the specification's tables for bodies, without any
//! library.

use std::collections::HashSet;

use serde_json::Value;

use super::body::{Body, Endpoint, Kind, Shape};
use super::{uris, values};

/// A violated rule of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) rule: &'static str,
    /// Why a schema does not see it, if it does not.
    pub(super) gap: Option<SchemaGap>,
}

/// The rules that a JSON Schema cannot express. Besides these the three agree on every
/// body; that a callback is *registered* is no matter of form, so all three call
/// a body with another one well formed, and the broker refuses it by a rule of
/// its own, `redirect_uri.registered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaGap {
    /// A schema counts the characters of a value, not the bytes that spell a body.
    BodySize,
    /// A schema validates a parsed object, in which only the last of two members is left.
    DuplicateField,
    /// A pattern recognises neither a port's range and default, nor a path's dot
    /// segments, nor how an address of numbers is written canonically.
    UriForm,
}

/// The verdict of the tables on one body.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) faults: Vec<Fault>,
    /// Status and rule of the answer, when there are no faults.
    pub(super) outcome: (u16, Option<&'static str>),
}

impl Reading {
    pub(super) fn is_well_formed(&self) -> bool {
        self.faults.is_empty()
    }

    pub(super) fn is_valid_by_schema(&self) -> bool {
        self.faults.iter().all(|fault| fault.gap.is_some())
    }
}

/// The most bytes of a body.
const MOST_BYTES: usize = 32 * 1024;

/// The status of a request that starts a login.
const BEGINS: (u16, Option<&str>) = (200, None);

/// Whether `rule` is about a body's form, and not about what it asks for.
pub(super) fn is_about_form(endpoint: Endpoint, rule: &str) -> bool {
    rule == "body.size" || rules(endpoint).contains(&rule)
}

/// The status of a refusal by a rule about form.
pub(super) fn status(rule: &str) -> u16 {
    if rule == "body.size" { 413 } else { 400 }
}

/// Every rule of form that a body of `endpoint` breaks sooner or later. Few bodies
/// are too large, so that one is not counted on.
pub(super) fn rules(endpoint: Endpoint) -> Vec<&'static str> {
    let fields = endpoint.fields().iter().map(|(_, kind)| rule(*kind));
    fields.chain([CANONICAL]).chain(RULES_OF_SHAPE).collect()
}

/// The rule of a callback that no pattern shows.
const CANONICAL: &str = "redirect_uri.canonical";

const RULES_OF_SHAPE: [&str; 5] = [
    "body.json",
    "body.unknown_field",
    "body.duplicate_field",
    "body.missing_field",
    "body.field_type",
];

/// The session keys that have begun a login.
#[derive(Debug, Default)]
pub(super) struct StartedKeys(HashSet<String>);

/// Reads a body after those that began a login with the keys in `begun`, and
/// adds its own if it begins one.
pub(super) fn read(body: &Body, text: &str, started: &mut StartedKeys) -> Reading {
    let mut reading = read_parsed(body);
    if text.len() > MOST_BYTES {
        reading
            .faults
            .push(unseen("body.size", SchemaGap::BodySize));
    }
    if reading.is_well_formed() && reading.outcome == BEGINS && !started.is_new(body) {
        reading.outcome = (400, Some("session_key.fresh"));
    }
    reading
}

impl StartedKeys {
    /// Whether the key of `body` has begun no login; from now on it has.
    fn is_new(&mut self, body: &Body) -> bool {
        let Shape::Object(members, _) = &body.shape else {
            return true;
        };
        let keys = members.iter().filter(|(name, _)| name == "session_key");
        let mut keys = keys.filter_map(|(_, value)| value.as_str());
        keys.all(|key| self.0.insert(key.to_owned()))
    }
}

fn read_parsed(body: &Body) -> Reading {
    match &body.shape {
        Shape::Object(members, _) => Reading {
            faults: faults(body.endpoint, members),
            outcome: outcome(body.endpoint, members),
        },
        Shape::Other(_) => Reading {
            faults: vec![seen("body.json")],
            outcome: (400, None),
        },
        // A parser that reads from the front can find any fault before the truncation.
        Shape::Broken(_) => Reading {
            faults: rules(body.endpoint).into_iter().map(seen).collect(),
            outcome: (400, None),
        },
    }
}

fn faults(endpoint: Endpoint, members: &[(String, Value)]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, (name, value)) in members.iter().enumerate() {
        let Some(kind) = kind(endpoint, name) else {
            faults.push(seen("body.unknown_field"));
            continue;
        };
        let is_last = members[index + 1..].iter().all(|(other, _)| other != name);
        if is_last {
            faults.extend(faults_of(kind, value));
        } else {
            let hidden = faults_of(kind, value).into_iter().map(|fault| fault.rule);
            let hidden = hidden.chain(["body.duplicate_field"]);
            faults.extend(hidden.map(|rule| unseen(rule, SchemaGap::DuplicateField)));
        }
    }
    for (name, _) in endpoint.fields() {
        if !members.iter().any(|(sent, _)| sent == name) {
            faults.push(seen("body.missing_field"));
        }
    }
    faults
}

fn kind(endpoint: Endpoint, name: &str) -> Option<Kind> {
    let mut fields = endpoint.fields().iter();
    fields.find(|field| field.0 == name).map(|field| field.1)
}

/// The faults of one field: a reader may name any of them.
fn faults_of(kind: Kind, value: &Value) -> Vec<Fault> {
    let Value::String(text) = value else {
        return vec![seen("body.field_type")];
    };
    let length = text.chars().count();
    let is_right = match kind {
        Kind::ClientId { min } => (min..=100).contains(&length),
        Kind::ClientSecret | Kind::Code => (1..=200).contains(&length),
        Kind::SessionKey => length == 43 && text.chars().all(is_base64url),
        Kind::Provider => text == "google" || text == "github",
        Kind::GrantType => text == "authorization_code",
        Kind::CodeVerifier => {
            (43..=128).contains(&length)
                && text
                    .chars()
                    .all(|it| is_base64url(it) || it == '.' || it == '~')
        }
        // Only a parser distinguishes a URL that a browser would rewrite from no URL.
        Kind::RedirectUri if !uris::looks_right(text) => {
            return vec![seen(rule(kind)), seen(CANONICAL)];
        }
        Kind::RedirectUri if uris::is_canonical(text) => true,
        Kind::RedirectUri => {
            return [rule(kind), CANONICAL]
                .map(|rule| unseen(rule, SchemaGap::UriForm))
                .into();
        }
    };
    if is_right {
        Vec::new()
    } else {
        vec![seen(rule(kind))]
    }
}

fn is_base64url(character: char) -> bool {
    matches!(character, 'A'..='Z' | 'a'..='z' | '0'..='9' | '-' | '_')
}

fn rule(kind: Kind) -> &'static str {
    match kind {
        Kind::ClientId { .. } => "client_id.length",
        Kind::ClientSecret => "client_secret.length",
        Kind::SessionKey => "session_key.pattern",
        Kind::Provider => "provider.known",
        Kind::RedirectUri => "redirect_uri.shape",
        Kind::GrantType => "grant_type.constant",
        Kind::Code => "code.length",
        Kind::CodeVerifier => "code_verifier.pattern",
    }
}

fn seen(rule: &'static str) -> Fault {
    Fault { rule, gap: None }
}

fn unseen(rule: &'static str, gap: SchemaGap) -> Fault {
    Fault {
        rule,
        gap: Some(gap),
    }
}

/// The status of a well-formed body: nothing that it names was started or issued.
fn outcome(endpoint: Endpoint, members: &[(String, Value)]) -> (u16, Option<&'static str>) {
    let sends = |name: &str, text: &str| {
        let mut members = members.iter();
        members.any(|(sent, value)| sent == name && value == text)
    };
    let is_ours =
        sends("client_id", values::CLIENT_ID) && sends("client_secret", values::CLIENT_SECRET);
    let is_registered = values::callbacks()
        .iter()
        .any(|callback| sends("redirect_uri", callback));
    match endpoint {
        _ if is_ours && !is_registered => (400, Some("redirect_uri.registered")),
        Endpoint::Session if is_ours => BEGINS,
        Endpoint::Result if is_ours => (400, Some("result.known")),
        Endpoint::Token if is_ours => (400, Some("code.known")),
        // The specification shows no other status for a refused result.
        Endpoint::Result => (400, Some("client.recognised")),
        Endpoint::Session | Endpoint::Token => (401, Some("client.recognised")),
    }
}
