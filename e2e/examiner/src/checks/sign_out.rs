//! The end of a session: by sign-out, on the server and with the access token at the broker; by
//! no other site. Beside its cookies, nothing opens it.

use std::collections::BTreeSet;

use serde_json::json;

use super::demands::{calls_during, signed_in};
use super::start::{foreign_form, foreign_form_in_sandbox, foreign_image, foreign_link};
use crate::browser::{Page, Visit};
use crate::calls::operation::{PROFILE, REVOKE, TOKEN};
use crate::calls::{self, Call};
use crate::catalogue::limit_of;
use crate::time::Stopwatch;
use crate::trial::Trial;
use crate::user::User;
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
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    let mut copies = copies_of(&ada);
    let visit = ada.sign_out_visit().await?;
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
    require(!opens_session(&mut ada).await?, || {
        format!("after sign-out{broker} the user is still signed in")
    })?;
    require_worthless(&mut copies, &format!("after sign-out{broker}")).await?;
    if fault.is_none() {
        // An app that keeps a list of ended sessions may drop an entry too early.
        trial.advance(LATER_SECONDS).await?;
        require_worthless(&mut copies, &format!("{LATER_SECONDS} s after sign-out")).await?;
    }
    Ok(mark)
}

/// Copies of the browser: with all its cookies, and with each alone.
fn copies_of<'t>(user: &User<'t>) -> Vec<User<'t>> {
    let mut all = user.clone();
    "a copy of the old cookies".clone_into(&mut all.browser.transport.name);
    let cookies = all.browser.jar.of(&user.trial.testbed.start);
    let alone = cookies.into_iter().map(|cookie| {
        let mut copy = all.clone();
        copy.browser.transport.name = format!("a copy of the old cookie {}", cookie.name);
        copy.browser.jar = all.browser.jar.only(|name| name == cookie.name);
        copy
    });
    alone.chain([all.clone()]).collect()
}

async fn require_worthless(copies: &mut [User<'_>], when: &str) -> Outcome {
    for copy in copies {
        let is_in = opens_session(copy).await?;
        let name = &copy.browser.transport.name;
        require(!is_in, || format!("{when} {name} opens the session"))?;
    }
    Ok(())
}

/// Whether the user is signed in; the start page, which may begin a session, is opened before.
pub(super) async fn opens_session(user: &mut User<'_>) -> Outcome<bool> {
    user.open(&user.trial.testbed.start).await?;
    user.is_signed_in().await
}

/// `session-by-cookie`: in browsers without cookies, the addresses at which the user's browser
/// has been.
pub(super) async fn session_by_cookie(trial: &Trial<'_>) -> Outcome {
    let step = trial.app.sign_out.as_ref();
    let has_sign_out = |page: &Page| step.is_some_and(|step| step.on_page(page).is_some());
    let page = trial.testbed.at(&trial.app.sign_out_page)?;
    let visitors_page = trial.browser("browser B").open(&page).await?;
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    ada.open(&trial.testbed.start).await?;
    let callback = trial.callback()?;
    let asked = ada.browser.asked.iter();
    let asked = asked.filter(|url| trial.testbed.is_app(url) && url.path() != callback.path());
    for address in BTreeSet::from_iter(asked) {
        let mut other = trial.user_as("browser B", ada.person.clone());
        let page = other.open(address).await?;
        // Alone, the name may be on a page that is meant for everybody.
        let is_user = has_sign_out(&page) && !has_sign_out(&visitors_page);
        let is_in =
            (is_user && other.person.is_shown_in(&page.body)) || other.is_signed_in().await?;
        require(!is_in, || {
            let path = address.path();
            format!(
                "a browser without cookies that opens {path}, as the user's did, is signed in as the user"
            )
        })?;
    }
    Ok(())
}

/// `sign-out-same-site`: the request that signs out, made by another site.
pub(super) async fn sign_out_same_site(trial: &Trial<'_>) -> Outcome {
    // The attacker copies the form from a page of their own session.
    let mut attacker = trial.signed_in("the attacker's browser", "Otto").await?;
    let copied = attacker.sign_out_visit().await?;

    let mut victim = trial.signed_in("the victim's browser", "Vera").await?;
    for (way, is_page, change) in WAYS {
        let visit = change(copied.clone());
        let path = visit.url.path().to_owned();
        let mut after = victim.clone();
        after.visit(visit).await?;
        let judged = if is_page { &mut after } else { &mut victim };
        let failed = format!("{way} on a page of another site signs the user out, at {path}");
        signed_in(judged, &failed).await?;
    }
    Ok(())
}

type Change = fn(Visit) -> Visit;

/// The requests, each with whether the cookies that its answer leaves are judged, and not those of
/// before: a page of another site that embeds an image cannot set its cookies.
const WAYS: [(&str, bool, Change); 6] = [
    ("a link", true, foreign_link),
    ("an image", false, foreign_image),
    ("a form", true, foreign_form),
    ("a sandboxed form", false, foreign_form_in_sandbox),
    ("a link without metadata", false, |visit| {
        without_metadata(foreign_link(visit))
    }),
    ("a form without metadata", false, |visit| {
        without_metadata(foreign_form(visit))
    }),
];

/// The request of an old browser, which says nothing about the page that makes it.
fn without_metadata(visit: Visit) -> Visit {
    let names = "origin referer sec-fetch-site sec-fetch-mode sec-fetch-dest".split(' ');
    let without = |visit: Visit, name| visit.with_header(name, "");
    names.fold(visit, without)
}

/// `token-revoked`: a token that is kept ends at sign-out, and sign-out needs no broker.
pub(super) async fn token_revoked(trial: &Trial<'_>) -> Outcome {
    trial.sign_out_step()?;
    let mut ada = trial.user("browser A", "Ada");
    let at_sign_in = calls_during(trial, ada.sign_in()).await?;
    let at_whoami = calls_during(trial, ada.whoami()).await?;
    let at_sign_out = calls_during(trial, ada.sign_out()).await?;
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
        let broker = ", while the broker's answers are lost,";
        sign_out_with(trial, Some("lose_response"), broker).await?;
    }
    Ok(())
}

fn is_revocation(call: &Call) -> bool {
    call.operation == REVOKE
}
