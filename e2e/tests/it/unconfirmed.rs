//! The facts about the real providers that could not be confirmed and take part in a
//! sign-in, each inverted: a user signs in all the same, in both flows.
//! (The wording of errors is not among them: the broker's table of errors has its own
//! tests.)

use mock_upstream::settings::IssuerForm;
use mock_upstream::{Iss, Settings, Unconfirmed};

use crate::login::{FLOWS, GITHUB, GOOGLE};
use crate::test_broker::TestBroker;

/// Signs Ada in at `provider` with one fact changed, and with and without `iss` in the
/// callback.
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
async fn a_user_signs_in_for_any_max_age_of_googles_keys() {
    check(GOOGLE, |it| it.google_keys_max_age_seconds = 0).await;
    check(GOOGLE, |it| it.google_keys_max_age_seconds = u32::MAX).await;
}

#[tokio::test]
async fn a_user_signs_in_with_and_without_googles_announcement_of_iss() {
    check(GOOGLE, |it| it.google_announces_iss = true).await;
}

#[tokio::test]
async fn a_user_signs_in_with_and_without_a_typ_in_googles_id_token() {
    check(GOOGLE, |it| it.google_id_token_typ = false).await;
}

/// The broker knows one issuer by its old name, which is Google's: a test beside its
/// check covers that. Any other issuer, and so an imitated one, must match exactly.
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
async fn a_user_signs_in_with_and_without_githubs_scope_headers() {
    check(GITHUB, |it| it.github_scope_headers = false).await;
}
