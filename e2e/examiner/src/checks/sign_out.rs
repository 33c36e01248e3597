//! Sign-out: it ends the session on the server and the access token at the broker, and no other
//! site does it.

use serde_json::json;

use super::start::{foreign_form, foreign_form_in_sandbox, foreign_image, foreign_link};
use crate::browser::Visit;
use crate::calls::operation::{PROFILE, REVOKE, TOKEN};
use crate::calls::{self, Call};
use crate::catalogue::limit_of;
use crate::time::Stopwatch;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The time after which the old cookie is tried again.
const LATER_SECONDS: u64 = 601;

/// The calls that an app may make when a user signs out.
const OPERATIONS: [&str; 3] = [REVOKE, PROFILE, TOKEN];

/// The number of calls of each operation that meet the fault.
const CALLS: u32 = 3;

/// `sign-out-server`: with a copy of the cookies, while the broker works, refuses every
/// connection, and says nothing.
pub(super) async fn sign_out_server(trial: &Trial<'_>) -> Outcome {
    let mark = sign_out_with(trial, None, "").await?;
    sign_out_with(trial, Some("refuse"), ", while the broker is down,").await?;
    // An app that calls nothing at sign-out waits for nothing.
    let calls = trial.calls(mark).await?;
    if calls.iter().any(is_revocation) {
        let broker = ", while the broker does not answer,";
        sign_out_with(trial, Some("silence"), broker).await?;
    }
    Ok(())
}

/// Signs out while the broker has a fault. Returns the point in the log before it.
async fn sign_out_with(trial: &Trial<'_>, fault: Option<&str>, broker: &str) -> Outcome<u64> {
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    let mut copy = ada.clone();
    "a copy of the old cookies".clone_into(&mut copy.browser.transport.name);
    let visit = trial.sign_out_visit(&mut ada.browser).await?;
    let mark = trial.mark().await?;
    if let Some(fault) = fault {
        for operation in OPERATIONS {
            for nth in 1..=CALLS {
                let nth = json!({ "nth": nth });
                trial.arm_with(operation, fault, &nth).await?;
            }
        }
    }
    let watch = Stopwatch::start();
    let page = ada.visit(visit).await?;
    let took = watch.elapsed();
    trial.testbed.control.disarm().await?;
    require(took < limit_of("sign-out-server"), || {
        format!("sign-out{broker} takes {} s", took.as_secs())
    })?;
    require(page.status < 500, || {
        format!("sign-out{broker} is answered with status {}", page.status)
    })?;
    require(!ada.is_signed_in().await?, || {
        format!("after sign-out{broker} the user is still signed in")
    })?;
    require(!copy.is_signed_in().await?, || {
        format!("after sign-out{broker} a copy of the old cookie still opens the session")
    })?;
    if fault.is_none() {
        // An app that keeps a list of ended sessions may drop an entry too early.
        trial.advance(LATER_SECONDS).await?;
        require(!copy.is_signed_in().await?, || {
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
    let mut attacker = trial.user("the attacker's browser", "Otto");
    attacker.sign_in().await?;
    let copied = trial.sign_out_visit(&mut attacker.browser).await?;

    let mut victim = trial.user("the victim's browser", "Vera");
    victim.sign_in().await?;
    for (way, effect, change) in WAYS {
        let visit = change(copied.clone());
        let path = visit.url.path().to_owned();
        let mut after = victim.clone();
        after.visit(visit).await?;
        // A page of another site that embeds an image cannot set its cookies.
        let judged = match effect {
            Effect::OnServer => &mut victim,
            Effect::OnCookies => &mut after,
        };
        let stays = judged.is_signed_in().await?;
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
    ("a link on another site", Effect::OnCookies, foreign_link),
    ("an image on another site", Effect::OnServer, foreign_image),
    ("a form on another site", Effect::OnCookies, foreign_form),
    (
        "a form in a sandboxed frame of another site",
        Effect::OnServer,
        foreign_form_in_sandbox,
    ),
    (
        "a link on another site, in a browser without metadata headers,",
        Effect::OnServer,
        |visit| without_metadata(foreign_link(visit)),
    ),
    (
        "a form on another site, in a browser without metadata headers,",
        Effect::OnServer,
        |visit| without_metadata(foreign_form(visit)),
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
    let without = |visit: Visit, name| visit.with_header(name, "");
    names.into_iter().fold(visit, without)
}

/// `token-revoked`: a token that is kept ends at sign-out, and sign-out needs no broker.
pub(super) async fn token_revoked(trial: &Trial<'_>) -> Outcome {
    trial.sign_out_step()?;
    let mut ada = trial.user("browser A", "Ada");
    let mark = trial.mark().await?;
    ada.sign_in().await?;
    let at_sign_in = trial.calls(mark).await?;
    let shown = trial.mark().await?;
    ada.whoami().await?;
    let at_whoami = trial.calls(shown).await?;
    let mark = trial.mark().await?;
    ada.sign_out().await?;
    let at_sign_out = trial.calls(mark).await?;

    let mut revoked = at_sign_in.iter().chain(&at_sign_out);
    let Some(last) = revoked.rfind(|call| is_revocation(call)) else {
        let keeps_token = at_whoami.iter().any(|call| call.operation == PROFILE);
        require(
            !keeps_token,
            || "the app still uses the access token after sign-in, and sign-out does not end it",
        )?;
        return Err(Stop::not_applicable(
            "the app neither uses the access token after sign-in nor ends it: nothing shows that it keeps it",
        ));
    };
    require(last.status.is_some_and(|it| it < 400), || {
        let refused = calls::describe(last);
        format!("the broker refused the end of the token: {refused}")
    })?;
    if at_sign_out.iter().any(is_revocation) {
        without_broker(trial).await?;
    }
    Ok(())
}

fn is_revocation(call: &Call) -> bool {
    call.operation == REVOKE
}

/// Sign-out succeeds also where the end of the token does not.
async fn without_broker(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    trial.arm(REVOKE, "lose_response").await?;
    ada.sign_out().await?;
    require(
        !ada.is_signed_in().await?,
        || "the broker's answer to the end of the token was lost, and the user stays signed in",
    )
}
