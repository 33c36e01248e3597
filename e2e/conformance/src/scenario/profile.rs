//! What a profile must be, whichever flow it came by.

use serde_json::Value;

use crate::expect::{self, Holds, that};
use crate::http::Exchange;
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

/// Judges a profile of somebody who signed in with `provider`.
pub(super) fn judge(run: &mut Run<'_>, exchange: &Exchange, profile: &Value, provider: &str) {
    run.members(R::ProfileFields, exchange, profile, FIELDS);
    run.judge(R::ProfileTypes, exchange, types(profile));
    let of_it = expect::member(profile, "provider", provider);
    run.judge(R::ProfileProvider, exchange, of_it);
    let text = |field: &str| profile[field].as_str().map(str::to_owned);
    let (Some(subject), Some(theirs)) = (text("subject"), text("providerSubject")) else {
        return;
    };
    run.keep_secret("subject", &subject);
    let random = subject.strip_prefix("sub_");
    let form = that(
        random.is_some_and(expect::is_43),
        "ours is sub_ and 43 characters",
    );
    run.judge(R::SubjectForm, exchange, form);
    let account = (provider.to_owned(), theirs);
    match run.subjects.get(&account) {
        Some(known) => {
            let same = that(*known == subject, "expected the subject of the last login");
            run.judge(R::ProfileSubjectStable, exchange, same);
        }
        None => drop(run.subjects.insert(account, subject)),
    }
}

/// The types of the fields that are there.
fn types(profile: &Value) -> Holds {
    let each = |names: &[&str], what: &str, is_it: fn(&Value) -> bool| {
        names.iter().try_for_each(|name| match profile.get(name) {
            Some(value) => that(is_it(value), format!("expected {name} to be {what}")),
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
