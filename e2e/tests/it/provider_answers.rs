//! The answers of a provider, delivered by the right browser: the
//! state, the code or error, the issuer, and whatever else comes along.

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::query::{parameter, with_more, with_parameter, without_parameter};

const INVALID: &str = "invalid_provider_response";

#[tokio::test]
async fn an_answer_without_the_state_of_this_upstream_login_consumes_nothing() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let other = stack.halfway(flow, provider).await;
            let halfway = stack.halfway(flow, provider).await;
            let state = parameter(&halfway.answer, "state");
            let before = stack.token_calls(provider);
            for answer in [
                without_parameter(&halfway.answer, "state"),
                with_parameter(&halfway.answer, "state", ""),
                with_parameter(&halfway.answer, "state", "wrong"),
                with_parameter(&halfway.answer, "state", &parameter(&other.answer, "state")),
                with_parameter(&halfway.answer, "state", &state.to_lowercase()),
                with_more(&halfway.answer, "state", &state),
                with_more(&halfway.answer, "state", "another"),
            ] {
                let response = halfway.browser.open(&answer).await;
                response.is_page(400, "This sign-in did not begin in this browser");
            }
            assert_eq!(stack.token_calls(provider), before);
            halfway.login.assert_pending(&stack.backend).await;
            halfway.finish(&stack.backend).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_answer_on_the_other_providers_path_consumes_nothing() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for (provider, other) in [(GOOGLE, GITHUB), (GITHUB, GOOGLE)] {
            let calls = || stack.token_calls(GOOGLE) + stack.token_calls(GITHUB);
            let before = calls();
            let halfway = stack.halfway(flow, provider).await;
            let crossed = halfway.answer.replace(
                &stack.broker_callback(provider),
                &stack.broker_callback(other),
            );
            let response = halfway.browser.open(&crossed).await;
            response.is_page(400, "This sign-in did not begin in this browser");
            assert_eq!(calls(), before);
            halfway.finish(&stack.backend).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn a_provider_that_does_not_exist_has_no_callback() {
    let stack = TestStack::start().await;
    let halfway = stack.halfway(Flow::Clean, GOOGLE).await;
    for other in ["gitlab", "Google", "google%20"] {
        let crossed = halfway.answer.replace(
            &stack.broker_callback(GOOGLE),
            &stack.broker_callback(other),
        );
        let response = halfway.browser.open(&crossed).await;
        assert_eq!(
            (response.status, response.location()),
            (404, None),
            "{other}"
        );
    }
    halfway.finish(&stack.backend).await.is_ada(GOOGLE);
}

#[tokio::test]
async fn an_issuer_that_is_not_the_providers_own_is_never_believed() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for (provider, other) in [(GOOGLE, GITHUB), (GITHUB, GOOGLE)] {
            let own = parameter(&stack.halfway(flow, provider).await.answer, "iss");
            let foreign = parameter(&stack.halfway(flow, other).await.answer, "iss");
            check_issuer(&stack, flow, provider, |answer| {
                with_parameter(answer, "iss", &foreign)
            })
            .await;
            check_issuer(&stack, flow, provider, |answer| {
                with_parameter(answer, "iss", "")
            })
            .await;
            check_issuer(&stack, flow, provider, |answer| {
                with_parameter(answer, "iss", &format!("{own}/"))
            })
            .await;
            check_issuer(&stack, flow, provider, |answer| {
                with_parameter(answer, "iss", &own.to_uppercase())
            })
            .await;
            check_issuer(&stack, flow, provider, |answer| {
                with_more(answer, "iss", &own)
            })
            .await;
        }
    }
}

/// Asserts that an answer changed like this fails without a token call.
async fn check_issuer(
    stack: &TestStack,
    flow: Flow,
    provider: &str,
    change: impl Fn(&str) -> String,
) {
    let before = stack.token_calls(provider);
    let halfway = stack.halfway(flow, provider).await;
    halfway
        .finish_with(&stack.backend, &change(&halfway.answer))
        .await
        .is_error(INVALID);
    assert_eq!(stack.token_calls(provider), before);
}

#[tokio::test]
async fn an_issuer_may_be_absent_and_need_not_come_with_an_error() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let halfway = stack.halfway(flow, provider).await;
            let bare = without_parameter(&halfway.answer, "iss");
            halfway
                .finish_with(&stack.backend, &bare)
                .await
                .is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_errors_issuer_is_checked_like_a_codes() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let halfway = stack.halfway(Flow::Clean, provider).await;
        let denied = with_parameter(
            &without_parameter(&halfway.answer, "code"),
            "error",
            "access_denied",
        );
        let forged = with_parameter(&denied, "iss", "https://evil.example");
        halfway
            .finish_with(&stack.backend, &forged)
            .await
            .is_error(INVALID);
    }
}

#[tokio::test]
async fn unknown_parameters_change_nothing() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let halfway = stack.halfway(flow, provider).await;
            let mut answer = halfway.answer.clone();
            for number in 0..20 {
                answer = with_more(&answer, &format!("junk{number}"), "<script>\u{0}%#&");
            }
            // What would matter elsewhere does not matter here.
            for name in ["redirect_uri", "next", "return_to", "subject", "junk0"] {
                answer = with_more(&answer, name, "https://evil.example/");
            }
            halfway
                .finish_with(&stack.backend, &answer)
                .await
                .is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_neither_a_code_nor_an_error_is_invalid() {
    let stack = TestStack::start().await;
    let long = "x".repeat(2049);
    for flow in FLOWS {
        for provider in PROVIDERS {
            let check = async |change: &dyn Fn(&str) -> String| {
                let halfway = stack.halfway(flow, provider).await;
                let answer = change(&halfway.answer);
                halfway
                    .finish_with(&stack.backend, &answer)
                    .await
                    .is_error(INVALID);
            };
            let before = stack.token_calls(provider);
            check(&|answer| without_parameter(answer, "code")).await;
            check(&|answer| with_parameter(answer, "code", "")).await;
            check(&|answer| with_parameter(answer, "code", &long)).await;
            check(&|answer| with_parameter(answer, "code", "a\nb")).await;
            check(&|answer| with_more(answer, "code", "second")).await;
            check(&|answer| with_more(answer, "error", "access_denied")).await;
            check(&|answer| with_more(answer, "error", "")).await;
            check(&|answer| with_parameter(&without_parameter(answer, "code"), "error", "")).await;
            check(&|answer| {
                with_parameter(&without_parameter(answer, "code"), "error", "unheard_of")
            })
            .await;
            assert_eq!(stack.token_calls(provider), before);
        }
    }
}

#[tokio::test]
async fn a_broken_escape_is_a_code_like_any_other_which_the_provider_refuses() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            for code in ["%", "%zz", "%F0%28%8C%28"] {
                let halfway = stack.halfway(flow, provider).await;
                let answer = format!("{}&code={code}", without_parameter(&halfway.answer, "code"));
                halfway
                    .finish_with(&stack.backend, &answer)
                    .await
                    .is_error(INVALID);
            }
        }
    }
}

#[tokio::test]
async fn an_error_of_the_provider_becomes_one_of_three() {
    let stack = TestStack::start().await;
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
                let halfway = stack.halfway(flow, provider).await;
                let answer =
                    with_parameter(&without_parameter(&halfway.answer, "code"), "error", theirs);
                halfway
                    .finish_with(&stack.backend, &answer)
                    .await
                    .is_error(ours);
            }
        }
        assert_eq!(stack.token_calls(GOOGLE) + stack.token_calls(GITHUB), 0);
    }
}

#[tokio::test]
async fn the_code_of_another_login_is_not_accepted() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let theirs = stack.halfway(flow, provider).await;
            let halfway = stack.halfway(flow, provider).await;
            let injected =
                with_parameter(&halfway.answer, "code", &parameter(&theirs.answer, "code"));
            halfway
                .finish_with(&stack.backend, &injected)
                .await
                .is_error(INVALID);
        }
    }
}
