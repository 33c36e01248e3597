//! Requests of the callback that are no plain visit: by HEAD, by a prefetch, with
//! parameters, bodies and headers that no flow sends.

use futures_util::future::try_join_all;
use reqwest::Method;

use crate::browser::{Browser, Visit, encode};
use crate::calls::Call;
use crate::person::Person;
use crate::random;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// `callback-head`: a HEAD or a prefetch, and then the visit.
pub(super) async fn callback_head(trial: &Trial<'_>) -> Outcome {
    type Change = fn(Visit) -> Visit;
    let ways: [(&str, Change); 3] = [
        ("a HEAD", |visit| visit.with_method(Method::HEAD)),
        ("a prefetch", |visit| {
            visit.with_header("sec-purpose", "prefetch")
        }),
        ("a prefetch with prerendering", |visit| {
            visit.with_header("sec-purpose", "prefetch;prerender")
        }),
    ];
    for (way, change) in ways {
        let person = Person::new("Ada");
        let mut browser = trial.browser("browser A");
        let callback = trial.up_to_callback(&mut browser, &person).await?;
        let mark = trial.mark().await?;
        browser.send(&change(callback.clone())).await?;
        let calls = trial.calls(mark).await?;
        require(calls.is_empty(), || {
            let made: Vec<_> = calls.iter().map(Call::describe).collect();
            format!(
                "{way} of the callback made the app call {}",
                made.join("; ")
            )
        })?;
        browser.visit(callback).await?;
        let ends_well = trial.is_signed_in(&mut browser, &person).await?;
        require(ends_well, || {
            format!("after {way} of the callback, the user's visit does not sign in")
        })?;
    }
    Ok(())
}

/// `callback-parameters-ignored`: without a login, and at the end of one.
pub(super) async fn callback_parameters_ignored(trial: &Trial<'_>) -> Outcome {
    let victim = Person::new("Vera");
    trial
        .sign_in(&mut trial.browser("the victim's browser"), &victim)
        .await?;
    let mut groups = groups(&victim);
    if is_shared(&trial.app.ways) {
        for (_, fields) in &mut groups {
            fields.retain(|(name, _)| !LEGACY.contains(&name.as_str()));
        }
    }
    let tries = groups
        .iter()
        .flat_map(|(what, fields)| ParameterPlace::ALL.map(|way| (way, *what, fields)));
    let tries: Vec<_> = tries.collect();
    for (way, what, fields) in &tries {
        without_login(trial, &victim, *way, what, fields).await?;
    }
    let ends = tries.iter();
    let ends = ends.map(|(way, what, fields)| at_the_end(trial, &victim, *way, what, fields));
    try_join_all(ends).await.map(drop)
}

/// The parameters of the legacy callback.
const LEGACY: [&str; 3] = ["code", "state", "error"];

/// Whether both flows end at one address: there, the legacy parameters mean something.
fn is_shared(ways: &[crate::app::SignInWay]) -> bool {
    let mut pairs = ways.iter().flat_map(|a| ways.iter().map(move |b| (a, b)));
    pairs.any(|(a, b)| a.flow != b.flow && a.callback == b.callback)
}

/// The parameters, by the idea behind them.
fn groups(victim: &Person) -> [(&'static str, Vec<(String, String)>); 3] {
    let email = victim.email.clone().unwrap_or_default();
    let name = victim.name.clone().unwrap_or_default();
    let username = victim.username.clone().unwrap_or_default();
    let subject = format!("google:{}", victim.id);
    let pairs = |pairs: &[(&str, &str)]| {
        let owned = pairs.iter();
        owned
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let (key, code, state) = (random::secret(), random::secret(), random::secret());
    [
        (
            "another user's profile",
            pairs(&[
                ("subject", &subject),
                ("sub", &subject),
                ("id", &victim.id),
                ("user_id", &victim.id),
                ("providerSubject", &victim.id),
                ("email", &email),
                ("name", &name),
                ("username", &username),
                ("user", &username),
            ]),
        ),
        (
            "a session key, a code and a state",
            pairs(&[
                ("session_key", &key),
                ("key", &key),
                ("code", &code),
                ("state", &state),
                ("access_token", &code),
                ("token", &code),
            ]),
        ),
        (
            "the outcome of a login",
            pairs(&[
                ("status", "failed"),
                ("error", "access_denied"),
                ("error_description", "cancelled"),
            ]),
        ),
    ]
}

/// The place of the parameters.
#[derive(Clone, Copy)]
enum ParameterPlace {
    Query,
    /// The body of a GET.
    Body,
    Form,
    Headers,
}

impl ParameterPlace {
    const ALL: [Self; 4] = [Self::Query, Self::Body, Self::Form, Self::Headers];

    fn as_str(self) -> &'static str {
        match self {
            Self::Query => "in the query",
            Self::Body => "in a body",
            Self::Form => "in a form",
            Self::Headers => "in headers",
        }
    }

    fn apply(self, mut visit: Visit, fields: &[(String, String)]) -> Visit {
        match self {
            Self::Query => visit.url.set_query(Some(&encode(fields))),
            Self::Body => visit.fields = Some(fields.to_vec()),
            Self::Form => {
                visit.method = Method::POST;
                visit.fields = Some(fields.to_vec());
            }
            Self::Headers => {
                for (name, header) in HEADERS {
                    if let Some((_, value)) = fields.iter().find(|(its, _)| its == name) {
                        visit = visit.with_header(header, value);
                    }
                }
            }
        }
        visit
    }
}

/// The headers that carry a parameter, where proxies and careless apps use one.
const HEADERS: [(&str, &str); 9] = [
    ("subject", "x-subject"),
    ("user_id", "x-user-id"),
    ("username", "x-forwarded-user"),
    ("user", "remote-user"),
    ("email", "x-forwarded-email"),
    ("session_key", "x-session-key"),
    ("token", "x-token"),
    ("status", "x-status"),
    ("error", "x-error"),
];

async fn without_login(
    trial: &Trial<'_>,
    victim: &Person,
    way: ParameterPlace,
    what: &str,
    fields: &[(String, String)],
) -> Outcome {
    let mut attacker = trial.browser("the attacker's browser");
    attacker.open(&trial.testbed.start).await?;
    let mark = trial.mark().await?;
    let visit = way.apply(Visit::typed(&trial.callback()?), fields);
    attacker.visit(visit).await?;
    not_the_victim(trial, &mut attacker, victim, way, what).await?;
    let calls = trial.testbed.calls(mark).await?;
    require(!calls.iter().any(Call::is_fetch), || {
        format!(
            "the callback with {what} {} makes the app ask the broker, without a login",
            way.as_str()
        )
    })
}

async fn at_the_end(
    trial: &Trial<'_>,
    victim: &Person,
    way: ParameterPlace,
    what: &str,
    fields: &[(String, String)],
) -> Outcome {
    let person = Person::new("Ada");
    let mut browser = trial.browser("browser A");
    let callback = trial.up_to_callback(&mut browser, &person).await?;
    let mut changed = browser.clone();
    changed.visit(way.apply(callback.clone(), fields)).await?;
    not_the_victim(trial, &mut changed, victim, way, what).await?;
    let mut ends_well = trial.is_signed_in(&mut changed, &person).await?;
    if !ends_well && matches!(way, ParameterPlace::Body | ParameterPlace::Form) {
        // No browser sends such a request; an app may refuse it, but not end the login.
        // The cookies are those of before: without its Lax cookie the request looks like
        // a first visit, to which many frameworks give a new session.
        browser.visit(callback).await?;
        not_the_victim(trial, &mut browser, victim, way, what).await?;
        ends_well = trial.is_signed_in(&mut browser, &person).await?;
    }
    require(ends_well, || {
        format!(
            "a login whose callback has {what} {} does not end well",
            way.as_str()
        )
    })
}

async fn not_the_victim(
    trial: &Trial<'_>,
    browser: &mut Browser,
    victim: &Person,
    way: ParameterPlace,
    what: &str,
) -> Outcome {
    if !trial.is_signed_in(browser, victim).await? {
        return Ok(());
    }
    Err(Stop::takeover(format!(
        "the callback with {what} {} shows that user's account",
        way.as_str()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{Flow, SignInWay};

    #[test]
    fn two_flows_share_a_callback_if_they_have_one_path() {
        let way = |flow, callback: &str| SignInWay {
            flow,
            provider: "google",
            steps: Vec::new(),
            callback: callback.to_owned(),
        };
        let clean = way(Flow::Clean, "/callback");
        assert!(!is_shared(&[clean.clone(), clean.clone()]));
        assert!(!is_shared(&[clean.clone(), way(Flow::Legacy, "/old")]));
        assert!(is_shared(&[clean, way(Flow::Legacy, "/callback")]));
    }
}
