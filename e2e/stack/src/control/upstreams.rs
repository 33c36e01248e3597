//! The imitated providers: their settings, next sign-ins, misbehaviours and requests.

use mock_upstream::journal::Entry;
use mock_upstream::{Iss, Misbehaviour, Mode, Next, Provider, Queued, Upstream, User};
use rocket::form::Form;
use rocket::http::Status;
use rocket::response::status::NoContent;
use rocket::serde::json::{Json, Value, json};
use rocket::{FromForm, Route, delete, get, post, put, routes};
use serde::Deserialize;

use super::call_list::{Call, calls};
use super::stack::find_project;
use crate::compared::nearest;
use crate::request::{ControlError, Imitated, JsonBody, RedirectBack, ReturnPath, parse_field};

pub(super) fn calls() -> Vec<Call> {
    calls! {
        settings => "The switches of a provider, as PUT takes them.";
        configure, r#"{"mode":"automatic","iss":"off"}"# => "Sets the switches: with automatic, users sign in without a page.";
        rotate_keys => "Adds a signing key, or removes the oldest.";
        next, r#"{"misbehave":"bad_signature"}"# => "Plans the next sign-in: a failure, {\"person\":{\"key\":\"ada\"}} or {\"person\":{\"id\":\"7\"}}; with client_id, of that client alone. It waits, behind those that were planned before, until a sign-in takes it, also one that fails later, or a reset or DELETE takes it back.";
        take_back => "Takes a planned sign-in back.";
        misbehaviours => "The failures of a provider.";
        requests => "The requests to a provider, masked.";
    }
}

pub(super) fn forms() -> Vec<Route> {
    routes![misbehave_form, take_back_form]
}

/// The switches as `PUT` takes them, so that a tool can restore what it has changed.
#[get("/api/upstreams/<provider>")]
fn settings(provider: &str, imitated: Imitated<'_>) -> Result<Json<Value>, ControlError> {
    let upstream = find(imitated, provider)?;
    Ok(Json(json!({
        "mode": upstream.mode().name(),
        "iss": upstream.iss().name(),
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderSettings {
    mode: Option<String>,
    iss: Option<String>,
}

#[put("/api/upstreams/<provider>", data = "<settings>")]
fn configure(
    provider: &str,
    settings: JsonBody<ProviderSettings>,
    imitated: Imitated<'_>,
) -> Result<NoContent, ControlError> {
    let upstream = find(imitated, provider)?;
    let mode = settings.0.mode.map(|it| parse_field::<Mode>("mode", &it));
    let iss = settings.0.iss.map(|it| parse_field::<Iss>("iss", &it));
    let (mode, iss) = (mode.transpose()?, iss.transpose()?);
    if let Some(mode) = mode {
        upstream.set_mode(mode);
    }
    if let Some(iss) = iss {
        upstream.set_iss(iss);
    }
    Ok(NoContent)
}

#[post("/api/upstreams/google/keys/rotate")]
fn rotate_keys(imitated: Imitated<'_>) -> NoContent {
    imitated.upstream.mock.rotate_google_keys();
    NoContent
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NextSignIn {
    person: Option<Value>,
    misbehave: Option<String>,
    client_id: Option<String>,
}

#[post("/api/upstreams/<provider>/next", data = "<next>")]
fn next(
    provider: &str,
    next: JsonBody<NextSignIn>,
    imitated: Imitated<'_>,
) -> Result<(Status, Json<Value>), ControlError> {
    let upstream = find(imitated, provider)?;
    next.0.check_client(upstream, imitated)?;
    let client_id = next.0.client_id.clone();
    let is_before = |it: &Queued| it.label.is_none() || it.label == client_id;
    let ahead = upstream.queued().into_iter().filter(is_before).count();
    let sent = (next.0.person.clone(), next.0.misbehave.clone());
    let next = next.0.parse(upstream)?;
    let id = match &client_id {
        Some(client_id) => upstream.queue_for(client_id, next),
        None => upstream.queue(next),
    };
    let mut queued = json!({
        "id": id.map_err(ControlError::bad_request)?,
        "provider": upstream.provider().name(),
        "client_id": client_id,
        "ahead": ahead,
        "waits_until": "a sign-in reaches the provider, also one that fails later, or a reset or DELETE takes it back",
    });
    match sent {
        (Some(person), _) => queued["person"] = person,
        (None, misbehave) => queued["misbehave"] = json!(misbehave),
    }
    Ok((Status::Created, Json(queued)))
}

/// Takes one planned sign-in back.
#[delete("/api/upstreams/<provider>/next/<id>")]
fn take_back(provider: &str, id: &str, imitated: Imitated<'_>) -> Result<NoContent, ControlError> {
    let upstream = find(imitated, provider)?;
    let removed = id.parse().ok().and_then(|id| upstream.remove_queued(id));
    removed.map(|_| NoContent).ok_or_else(|| {
        ControlError::not_found(
            "id: no planned sign-in has this number; a sign-in may have taken it",
        )
    })
}

#[derive(FromForm)]
struct MisbehaveForm<'r> {
    provider: &'r str,
    misbehaviour: &'r str,
}

#[post("/do/misbehave", data = "<form>")]
fn misbehave_form(
    form: Form<MisbehaveForm<'_>>,
    back: ReturnPath<'_>,
    imitated: Imitated<'_>,
) -> RedirectBack {
    let MisbehaveForm {
        provider,
        misbehaviour,
    } = form.into_inner();
    let provider: Provider = parse_field("provider", provider)?;
    let planned = NextSignIn {
        misbehave: Some(misbehaviour.trim().to_owned()),
        ..NextSignIn::default()
    };
    next(provider.name(), JsonBody(planned), imitated)?;
    back.redirect()
}

#[derive(FromForm)]
struct PlannedForm<'r> {
    provider: &'r str,
    id: u64,
}

/// Takes a planned sign-in back, if no sign-in was faster.
#[post("/do/take-back", data = "<form>")]
fn take_back_form(
    form: Form<PlannedForm<'_>>,
    back: ReturnPath<'_>,
    imitated: Imitated<'_>,
) -> RedirectBack {
    let PlannedForm { provider, id } = form.into_inner();
    let provider = parse_field("provider", provider)?;
    imitated.upstream.provider(provider).remove_queued(id);
    back.redirect()
}

impl NextSignIn {
    /// Rejects a `client_id` that no sign-in will have: of no project, or of no app.
    fn check_client(&self, at: &Upstream, imitated: Imitated<'_>) -> Result<(), ControlError> {
        match (imitated.stack, self.client_id.as_deref()) {
            (Some(stack), id) => find_project(&stack.projects, id).map(drop),
            (None, Some(id)) if !at.has_client(id) => Err(ControlError::bad_request(
                "client_id: no app is registered by this id; --client registers one",
            )),
            _ => Ok(()),
        }
    }

    fn parse(self, upstream: &Upstream) -> Result<Next, ControlError> {
        match (self.person, self.misbehave) {
            (Some(person), None) => parse_person(person, upstream).map(Next::User),
            (None, Some(name)) => {
                parse_misbehaviour(upstream.provider(), &name).map(Next::Misbehave)
            }
            _ => Err(ControlError::bad_request(
                r#"send {"person":{…}} or {"misbehave":"NAME"}"#,
            )),
        }
    }
}

/// A user by the key of the sign-in page, or with all members.
fn parse_person(person: Value, upstream: &Upstream) -> Result<User, ControlError> {
    match person.get("key") {
        None => User::try_from(person).map_err(ControlError::bad_request),
        Some(Value::String(key)) if person.as_object().is_some_and(|it| it.len() == 1) => {
            let known = upstream.known_user(key);
            known.map_err(|error| ControlError::bad_request(format!("key: {error}")))
        }
        Some(_) => Err(ControlError::bad_request(
            r#"key: a string without other members, as in {"person":{"key":"ada"}}"#,
        )),
    }
}

#[get("/api/upstreams/<provider>/misbehaviours")]
fn misbehaviours(provider: &str, imitated: Imitated<'_>) -> Result<Json<Vec<Value>>, ControlError> {
    let upstream = find(imitated, provider)?;
    let listed = |it: &Misbehaviour| {
        json!({
            "name": it.name(),
            "says": it.description(upstream.provider()),
            "error": it.error(),
        })
    };
    Ok(Json(upstream.misbehaviours().iter().map(listed).collect()))
}

#[get("/api/upstreams/<provider>/requests")]
fn requests(provider: &str, imitated: Imitated<'_>) -> Result<Json<Vec<Entry>>, ControlError> {
    Ok(Json(find(imitated, provider)?.journal()))
}

fn find<'r>(imitated: Imitated<'r>, name: &str) -> Result<&'r Upstream, ControlError> {
    let provider = name.parse::<Provider>();
    let provider = provider.map_err(ControlError::bad_request)?;
    Ok(imitated.upstream.provider(provider))
}

/// The number of names that an error suggests.
const MAX_HINTS: usize = 4;

/// The misbehaviour of `provider` with this name; an error says which one may be meant.
fn parse_misbehaviour(provider: Provider, name: &str) -> Result<Misbehaviour, ControlError> {
    let known = Misbehaviour::parse(provider, name);
    known.map_err(|_| {
        let hints = hints(provider, name);
        let hint = match hints.is_empty() {
            true => String::new(),
            false => format!(" Did you mean {}?", hints.join(" or ")),
        };
        ControlError::bad_request(format!(
            "{provider} has no misbehaviour {name:?}.{hint} \
             GET /api/upstreams/{}/misbehaviours lists all.",
            provider.name()
        ))
    })
}

/// The stems of words for a user who cancels.
const CANCEL: [&str; 5] = ["cancel", "denied", "declin", "reject", "abort"];

/// The misbehaviours that may be meant: those that end a login with the error `word`, then those
/// whose name or description has it, or else the nearest name.
fn hints(provider: Provider, word: &str) -> Vec<&'static str> {
    let lower = word.to_lowercase();
    let is_in = |text: &str| !lower.is_empty() && text.to_lowercase().contains(&lower);
    let cancels = CANCEL.iter().any(|stem| lower.contains(stem));
    let ends_so = |it: &Misbehaviour| it.error() == Some(&lower);
    let mut hits = Misbehaviour::of(provider).to_vec();
    hits.retain(|it| {
        let is_cancel = cancels && *it == Misbehaviour::Deny;
        is_cancel || ends_so(it) || is_in(it.name()) || is_in(it.description(provider))
    });
    if !hits.is_empty() {
        hits.sort_by_key(|it| !ends_so(it));
        return hits.iter().take(MAX_HINTS).map(|it| it.name()).collect();
    }
    let names = Misbehaviour::of(provider).iter().map(|it| it.name());
    nearest(names, word).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_may_be_meant_are_suggested() {
        for (word, meant) in [
            ("bad_sig", &["bad_signature"][..]),
            ("bad_signatrue", &["bad_signature"]),
            ("Nonce", &["wrong_nonce", "no_nonce"]),
            ("access_denied", &["deny"]),
            ("user_cancelled", &["deny"]),
            ("qqq", &[]),
            (&"deny".repeat(100), &[]),
        ] {
            assert_eq!(hints(Provider::Google, word), meant, "{word}");
        }
    }
}
