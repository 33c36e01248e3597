//! The checks of a profile, from either flow.

use serde_json::Value;

use crate::expect::{self, Check, ensure};
use crate::http::Exchange;
use crate::project::QueuedUser;
use crate::requirement::Requirement as R;
use crate::run::Run;

const FIELDS: &[&str] = &[
    "subject",
    "provider",
    "providerSubject",
    "name",
    "username",
    "email",
    "emailVerified",
    "avatarUrl",
];

/// Checks the profile of a user who signed in with `provider`. Its contents are
/// compared with `user` where a control address queued that user.
pub(super) fn check(
    run: &mut Run<'_>,
    exchange: &Exchange,
    profile: &Value,
    provider: &str,
    user: &QueuedUser,
) {
    run.check_members(R::ProfileFields, exchange, profile, FIELDS);
    run.check(R::ProfileTypes, exchange, types(profile));
    let of_it = expect::member(profile, "provider", provider);
    run.check(R::ProfileProvider, exchange, of_it);
    let is_queued = run.plan.control.is_some();
    if is_queued {
        check_contents(run, exchange, profile, provider, user);
    }
    let text = |field: &str| profile[field].as_str().map(str::to_owned);
    let (Some(subject), Some(id)) = (text("subject"), text("providerSubject")) else {
        return;
    };
    run.mask.add("subject", &subject);
    let id = if is_queued { user.id.to_owned() } else { id };
    check_subject(run, exchange, (provider.to_owned(), id), subject.clone());
    if let Some(email) = text("email") {
        let none = not_email(&subject, &email);
        run.check(R::ProfileSubjectNotEmail, exchange, none);
    }
}

/// Compares the subject with those of this account and of all others.
fn check_subject(
    run: &mut Run<'_>,
    exchange: &Exchange,
    account: (String, String),
    subject: String,
) {
    let random = subject.strip_prefix("sub_");
    let form = ensure(
        random.is_some_and(expect::is_43_base64url),
        "this kit sends sub_ and 43 characters",
    );
    run.check(R::ProfileSubjectForm, exchange, form);
    let mut others = run.subjects.iter().filter(|(known, _)| **known != account);
    let is_distinct = others.all(|(_, known)| *known != subject);
    if run.subjects.keys().any(|known| *known != account) {
        let distinct = ensure(is_distinct, "expected another subject than other accounts'");
        run.check(R::ProfileSubjectDistinct, exchange, distinct);
    }
    match run.subjects.get(&account) {
        Some(known) => {
            let same = ensure(*known == subject, "expected the subject of the last login");
            run.check(R::ProfileSubjectStable, exchange, same);
        }
        None => drop(run.subjects.insert(account, subject)),
    }
}

fn not_email(subject: &str, email: &str) -> Check {
    let has_email = subject.to_lowercase().contains(&email.to_lowercase());
    ensure(!has_email, "expected no e-mail address in the subject")
}

/// Compares a profile with the account at the provider. The reasons name no value: a
/// report does not show who signed in.
fn check_contents(
    run: &mut Run<'_>,
    exchange: &Exchange,
    profile: &Value,
    provider: &str,
    user: &QueuedUser,
) {
    let is_id = profile["providerSubject"] == user.id;
    let id = ensure(is_id, "this kit sends the provider's id of the account");
    run.check(R::ProfileProviderSubject, exchange, id);
    run.check(R::ProfileNames, exchange, names(profile, provider, user));
    run.check(R::ProfileEmail, exchange, email(profile, user));
    if let Some(found) = profile["emailVerified"].as_bool() {
        let is_verified = profile["email"].is_string() && user.email_verified;
        let verified = ensure(
            found == is_verified,
            "this kit sends true for an address that the provider verified, and for no other",
        );
        run.check(R::ProfileEmailVerified, exchange, verified);
    }
}

fn names(profile: &Value, provider: &str, user: &QueuedUser) -> Check {
    // Google's accounts have no username.
    let username = user.username.filter(|_| provider != "google");
    let expected = [
        ("name", user.name),
        ("username", username),
        ("avatarUrl", user.picture),
    ];
    expected.into_iter().try_for_each(|(name, expected)| {
        let found = &profile[name];
        // Another type is another requirement.
        let is_it = match found {
            Value::String(text) => Some(text.as_str()) == expected,
            Value::Null => expected.is_none(),
            _ => true,
        };
        ensure(is_it, format!("this kit sends the {name} of the account"))
    })
}

fn email(profile: &Value, user: &QueuedUser) -> Check {
    let email = profile["email"].as_str();
    let may_be_dropped = !user.email_verified && email.is_none();
    ensure(
        email == user.email || may_be_dropped,
        "this kit sends the address of the account",
    )
}

/// The types of the fields that are present.
fn types(profile: &Value) -> Check {
    let each = |names: &[&str], what: &str, is_it: fn(&Value) -> bool| {
        names.iter().try_for_each(|name| match profile.get(name) {
            Some(value) => ensure(is_it(value), format!("expected {name} to be {what}")),
            None => Ok(()),
        })
    };
    each(&["subject", "providerSubject"], "a string", |it| {
        it.as_str().is_some_and(|text| !text.is_empty())
    })?;
    each(
        &["name", "username", "email", "avatarUrl"],
        "a string or null",
        |it| it.is_string() || it.is_null(),
    )?;
    each(&["emailVerified"], "a boolean", Value::is_boolean)
}
