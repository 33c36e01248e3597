//! What a provider's answer may look like, delivered by the right browser: the
//! state, the code or error, the issuer, and whatever else comes along.

use url::Url;

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::world::{Halfway, World};

const INVALID: &str = "invalid_provider_response";

#[tokio::test]
async fn an_answer_without_this_upstream_logins_state_is_refused_and_spends_nothing() {
    let world = World::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let other = world.halfway(flow, provider).await;
            let begun = world.halfway(flow, provider).await;
            let state = parameter(&begun.answer, "state");
            let before = world.token_calls(provider);
            for answer in [
                without(&begun.answer, "state"),
                with(&begun.answer, "state", ""),
                with(&begun.answer, "state", "wrong"),
                with(&begun.answer, "state", &parameter(&other.answer, "state")),
                with(&begun.answer, "state", &state.to_lowercase()),
                with_more(&begun.answer, "state", &state),
                with_more(&begun.answer, "state", "another"),
            ] {
                let response = begun.browser.open(&answer).await;
                response.is_page(400, "This sign-in did not begin in this browser");
            }
            assert_eq!(world.token_calls(provider), before);
            begun.ticket.is_still_open(&world.backend).await;
            begun.finish(&world.backend).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_answer_on_the_other_providers_path_is_refused_and_spends_nothing() {
    let world = World::start().await;
    for flow in FLOWS {
        for (provider, other) in [(GOOGLE, GITHUB), (GITHUB, GOOGLE)] {
            let calls = || world.token_calls(GOOGLE) + world.token_calls(GITHUB);
            let before = calls();
            let begun = world.halfway(flow, provider).await;
            let crossed = begun.answer.replace(
                &world.broker_callback(provider),
                &world.broker_callback(other),
            );
            let response = begun.browser.open(&crossed).await;
            response.is_page(400, "This sign-in did not begin in this browser");
            assert_eq!(calls(), before);
            begun.finish(&world.backend).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn a_provider_that_does_not_exist_has_no_callback() {
    let world = World::start().await;
    let begun = world.halfway(Flow::Clean, GOOGLE).await;
    for other in ["gitlab", "Google", "google%20"] {
        let crossed = begun.answer.replace(
            &world.broker_callback(GOOGLE),
            &world.broker_callback(other),
        );
        let response = begun.browser.open(&crossed).await;
        assert_eq!(
            (response.status, response.location()),
            (404, None),
            "{other}"
        );
    }
    begun.finish(&world.backend).await.is_ada(GOOGLE);
}

#[tokio::test]
async fn an_issuer_that_is_not_the_providers_own_is_never_believed() {
    let world = World::start().await;
    for flow in FLOWS {
        for (provider, other) in [(GOOGLE, GITHUB), (GITHUB, GOOGLE)] {
            let own = parameter(&world.halfway(flow, provider).await.answer, "iss");
            let foreign = parameter(&world.halfway(flow, other).await.answer, "iss");
            check_issuer(&world, flow, provider, |answer| {
                with(answer, "iss", &foreign)
            })
            .await;
            check_issuer(&world, flow, provider, |answer| with(answer, "iss", "")).await;
            check_issuer(&world, flow, provider, |answer| {
                with(answer, "iss", &format!("{own}/"))
            })
            .await;
            check_issuer(&world, flow, provider, |answer| {
                with(answer, "iss", &own.to_uppercase())
            })
            .await;
            check_issuer(&world, flow, provider, |answer| {
                with_more(answer, "iss", &own)
            })
            .await;
        }
    }
}

/// Asserts that an answer changed like this fails without a token call.
async fn check_issuer(world: &World, flow: Flow, provider: &str, change: impl Fn(&str) -> String) {
    let before = world.token_calls(provider);
    let begun = world.halfway(flow, provider).await;
    finish_with(world, &begun, &change(&begun.answer))
        .await
        .is_error(INVALID);
    assert_eq!(world.token_calls(provider), before);
}

#[tokio::test]
async fn an_issuer_may_be_absent_and_need_not_come_with_an_error() {
    let world = World::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let begun = world.halfway(flow, provider).await;
            let bare = without(&begun.answer, "iss");
            finish_with(&world, &begun, &bare).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_errors_issuer_is_judged_like_a_codes() {
    let world = World::start().await;
    for provider in PROVIDERS {
        let begun = world.halfway(Flow::Clean, provider).await;
        let denied = with(&without(&begun.answer, "code"), "error", "access_denied");
        let forged = with(&denied, "iss", "https://evil.example");
        finish_with(&world, &begun, &forged).await.is_error(INVALID);
    }
}

#[tokio::test]
async fn parameters_that_nobody_knows_change_nothing() {
    let world = World::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let begun = world.halfway(flow, provider).await;
            let mut answer = begun.answer.clone();
            for number in 0..20 {
                answer = with_more(&answer, &format!("junk{number}"), "<script>\u{0}%#&");
            }
            // What would matter elsewhere does not matter here.
            for name in ["redirect_uri", "next", "return_to", "subject", "junk0"] {
                answer = with_more(&answer, name, "https://evil.example/");
            }
            finish_with(&world, &begun, &answer).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_neither_a_code_nor_an_error_is_invalid_and_asks_nobody() {
    let world = World::start().await;
    let long = "x".repeat(2049);
    for flow in FLOWS {
        for provider in PROVIDERS {
            let check = async |change: &dyn Fn(&str) -> String| {
                let begun = world.halfway(flow, provider).await;
                let answer = change(&begun.answer);
                finish_with(&world, &begun, &answer).await.is_error(INVALID);
            };
            let before = world.token_calls(provider);
            check(&|answer| without(answer, "code")).await;
            check(&|answer| with(answer, "code", "")).await;
            check(&|answer| with(answer, "code", &long)).await;
            check(&|answer| with(answer, "code", "a\nb")).await;
            check(&|answer| with_more(answer, "code", "second")).await;
            check(&|answer| with_more(answer, "error", "access_denied")).await;
            check(&|answer| with_more(answer, "error", "")).await;
            check(&|answer| with(&without(answer, "code"), "error", "")).await;
            check(&|answer| with(&without(answer, "code"), "error", "unheard_of")).await;
            assert_eq!(world.token_calls(provider), before);
        }
    }
}

#[tokio::test]
async fn a_broken_escape_is_a_code_like_any_other_which_the_provider_refuses() {
    let world = World::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            for code in ["%", "%zz", "%F0%28%8C%28"] {
                let begun = world.halfway(flow, provider).await;
                let answer = format!("{}&code={code}", without(&begun.answer, "code"));
                finish_with(&world, &begun, &answer).await.is_error(INVALID);
            }
        }
    }
}

#[tokio::test]
async fn an_error_of_the_provider_becomes_one_of_three() {
    let world = World::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            for (theirs, ours) in [
                ("access_denied", "access_denied"),
                ("server_error", "provider_unavailable"),
                ("temporarily_unavailable", "provider_unavailable"),
                ("invalid_request", INVALID),
                ("Access_Denied", INVALID),
                ("application_suspended", "provider_unavailable"),
            ] {
                let begun = world.halfway(flow, provider).await;
                let answer = with(&without(&begun.answer, "code"), "error", theirs);
                finish_with(&world, &begun, &answer).await.is_error(ours);
            }
        }
        assert_eq!(world.token_calls(GOOGLE) + world.token_calls(GITHUB), 0);
    }
}

#[tokio::test]
async fn another_logins_code_is_worth_nothing_here() {
    let world = World::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let theirs = world.halfway(flow, provider).await;
            let begun = world.halfway(flow, provider).await;
            let injected = with(&begun.answer, "code", &parameter(&theirs.answer, "code"));
            finish_with(&world, &begun, &injected)
                .await
                .is_error(INVALID);
        }
    }
}

async fn finish_with(world: &World, begun: &Halfway, answer: &str) -> crate::login::Outcome {
    let arrival = begun.deliver(answer).await;
    begun.ticket.outcome(&world.backend, &arrival.url).await
}

// A URL's query, changed.

fn parameter(url: &str, name: &str) -> String {
    let url = Url::parse(url).expect("a URL");
    let found = url.query_pairs().find(|(known, _)| known == name);
    found.expect("a parameter").1.into_owned()
}

/// With `value` instead of what `name` had, if it was there.
fn with(url: &str, name: &str, value: &str) -> String {
    with_more(&without(url, name), name, value)
}

/// With one more parameter, beside those of the same name.
fn with_more(url: &str, name: &str, value: &str) -> String {
    let mut url = Url::parse(url).expect("a URL");
    url.query_pairs_mut().append_pair(name, value);
    url.into()
}

fn without(url: &str, name: &str) -> String {
    let mut url = Url::parse(url).expect("a URL");
    let kept: Vec<_> = url
        .query_pairs()
        .into_owned()
        .filter(|(known, _)| known != name)
        .collect();
    url.query_pairs_mut().clear().extend_pairs(kept);
    url.into()
}
