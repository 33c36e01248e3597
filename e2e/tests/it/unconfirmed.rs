//! The facts about the real providers that could not be confirmed and take part in a
//! sign-in, each turned the other way: a user signs in all the same, in both flows.
//! (How refusals are worded does not: the broker's table of errors has its own tests.)

use mock_upstream::settings::IssuerForm;
use mock_upstream::{Iss, Settings, Unconfirmed};

use crate::login::{FLOWS, GITHUB, GOOGLE};
use crate::test_broker::TestBroker;

/// Signs Ada in at `provider`, of which one fact is otherwise, and whose callback
/// carries `iss` or does not.
async fn check(provider: &str, change: impl Fn(&mut Unconfirmed)) {
    for iss in [Iss::On, Iss::Off] {
        let broker = broker(iss, &change).await;
        for flow in FLOWS {
            broker.sign_in(flow, provider).await.is_ada(provider);
            // Again, on documents that are kept or were fetched anew.
            broker.sign_in(flow, provider).await.is_ada(provider);
        }
    }
}

async fn broker(iss: Iss, change: impl Fn(&mut Unconfirmed)) -> TestBroker {
    let change = |settings: &mut Settings| {
        for site in [&mut settings.google, &mut settings.github] {
            site.iss = iss;
            change(&mut site.unconfirmed);
        }
    };
    TestBroker::with_providers(change).await
}

#[tokio::test]
async fn however_long_googles_keys_may_be_kept_a_user_signs_in() {
    check(GOOGLE, |it| it.google_keys_max_age_seconds = 0).await;
    check(GOOGLE, |it| it.google_keys_max_age_seconds = u32::MAX).await;
}

#[tokio::test]
async fn whether_or_not_google_announces_iss_a_user_signs_in() {
    check(GOOGLE, |it| it.google_announces_iss = true).await;
}

#[tokio::test]
async fn whether_or_not_googles_id_token_says_its_type_a_user_signs_in() {
    check(GOOGLE, |it| it.google_id_token_typ = false).await;
}

/// The broker knows one issuer by its old name, which is Google's: a test beside its
/// check says so. Of any other, and so of an imitation, the whole address is asked.
#[tokio::test]
async fn an_issuer_other_than_googles_own_is_not_known_without_its_scheme() {
    let broker = broker(Iss::On, |it| {
        it.google_id_token_issuer = IssuerForm::WithoutScheme;
    })
    .await;
    for flow in FLOWS {
        let outcome = broker.sign_in(flow, GOOGLE).await;
        outcome.is_error("invalid_provider_response");
    }
}

#[tokio::test]
async fn whether_or_not_github_lists_scopes_a_user_signs_in() {
    check(GITHUB, |it| it.github_scope_headers = false).await;
}
