//! Sign-out: it ends the session on the server, and no other site does it.

use serde_json::json;

use super::start::{ATTACKER, as_get, as_post};
use crate::browser::{Browser, Visit};
use crate::calls::operation::{PROFILE, REVOKE, TOKEN};
use crate::catalogue::limit_of;
use crate::person::Person;
use crate::time::Stopwatch;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// The time after which the old cookie is tried again.
const LATER_SECONDS: u64 = 601;

/// The calls that an app may make when a user signs out.
const OPERATIONS: [&str; 3] = [REVOKE, PROFILE, TOKEN];

/// The number of calls of each operation that meet the fault.
const CALLS: u32 = 3;

/// `sign-out-server`: with a copy of the cookies, while the broker works, refuses every
/// connection, and says nothing.
pub(super) async fn sign_out_server(trial: &Trial<'_>) -> Outcome {
    let mark = sign_out_with(trial, None).await?;
    sign_out_with(trial, Some("refuse")).await?;
    // An app that calls nothing at sign-out waits for nothing.
    let calls = trial.calls(mark).await?;
    if calls.iter().any(|call| OPERATIONS[0] == call.operation) {
        sign_out_with(trial, Some("silence")).await?;
    }
    Ok(())
}

/// Signs out while the broker has a fault. Returns the point in the log before it.
async fn sign_out_with(trial: &Trial<'_>, fault: Option<&str>) -> Outcome<u64> {
    let person = Person::new("Ada");
    let mut browser = trial.browser("browser A");
    trial.sign_in(&mut browser, &person).await?;
    let mut copy = browser.clone();
    "a copy of the old cookies".clone_into(&mut copy.transport.name);
    let visit = trial.sign_out_visit(&mut browser).await?;
    let mark = trial.mark().await?;
    for operation in OPERATIONS {
        for nth in 1..=CALLS {
            if let Some(fault) = fault {
                trial
                    .arm_with(operation, fault, &json!({ "nth": nth }))
                    .await?;
            }
        }
    }
    let broker = match fault {
        None => "",
        Some("refuse") => ", while the broker is down,",
        Some(_) => ", while the broker does not answer,",
    };
    let watch = Stopwatch::start();
    let page = browser.visit(visit).await?;
    let took = watch.elapsed();
    trial.testbed.control.disarm().await?;
    require(took < limit_of("sign-out-server"), || {
        format!("sign-out{broker} takes {} s", took.as_secs())
    })?;
    require(page.status < 500, || {
        format!("sign-out{broker} is answered with status {}", page.status)
    })?;
    require(!trial.is_signed_in(&mut browser, &person).await?, || {
        format!("after sign-out{broker} the user is still signed in")
    })?;
    require(!trial.is_signed_in(&mut copy, &person).await?, || {
        format!("after sign-out{broker} a copy of the old cookie still opens the session")
    })?;
    if fault.is_none() {
        // An app that keeps a list of ended sessions may drop an entry too early.
        trial.advance(LATER_SECONDS).await?;
        require(!trial.is_signed_in(&mut copy, &person).await?, || {
            format!(
                "{LATER_SECONDS} s after sign-out a copy of the old cookie opens the session again"
            )
        })?;
    }
    Ok(mark)
}

/// `sign-out-same-site`: the request that signs out, made by another site.
pub(super) async fn sign_out_same_site(trial: &Trial<'_>) -> Outcome {
    // The attacker copies the form from a page of their own session.
    let mut attacker = trial.browser("the attacker's browser");
    trial.sign_in(&mut attacker, &Person::new("Otto")).await?;
    let copied = trial.sign_out_visit(&mut attacker).await?;

    let person = Person::new("Vera");
    let mut browser = trial.browser("the victim's browser");
    trial.sign_in(&mut browser, &person).await?;
    for (way, effect, change) in WAYS {
        let visit = change(copied.clone().by_page_of(ATTACKER));
        let path = visit.url.path().to_owned();
        let mut after = browser.clone();
        after.visit(visit).await?;
        // A page of another site that embeds an image cannot set its cookies.
        let judged: &mut Browser = match effect {
            Effect::OnServer => &mut browser,
            Effect::OnCookies => &mut after,
        };
        let stays = trial.is_signed_in(judged, &person).await?;
        require(stays, || format!("{way} to {path} signs the user out"))?;
    }
    Ok(())
}

/// The place in which a sign-out is looked for.
#[derive(Clone, Copy)]
enum Effect {
    /// The session is over for the cookies of before.
    OnServer,
    /// The answer has changed the browser's cookies, too.
    OnCookies,
}

type Change = fn(Visit) -> Visit;

const WAYS: [(&str, Effect, Change); 6] = [
    ("a link on another site", Effect::OnCookies, as_get),
    ("an image on another site", Effect::OnServer, |visit| {
        Visit {
            destination: "image",
            ..as_get(visit)
        }
    }),
    ("a form on another site", Effect::OnCookies, as_post),
    (
        "a form in a sandboxed frame of another site",
        Effect::OnServer,
        |visit| as_post(visit).with_header("origin", "null"),
    ),
    (
        "a link on another site, in a browser without metadata headers,",
        Effect::OnServer,
        |visit| without_metadata(as_get(visit)),
    ),
    (
        "a form on another site, in a browser without metadata headers,",
        Effect::OnServer,
        |visit| without_metadata(as_post(visit)),
    ),
];

/// The request of a browser that says nothing about the page that makes it.
fn without_metadata(visit: Visit) -> Visit {
    let names = [
        "origin",
        "referer",
        "sec-fetch-site",
        "sec-fetch-mode",
        "sec-fetch-dest",
    ];
    names
        .into_iter()
        .fold(visit, |visit, name| visit.with_header(name, ""))
}
