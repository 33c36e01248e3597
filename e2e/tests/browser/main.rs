//! The stack in a real headless Chromium: a user clicks, and every page on the way is
//! checked. Pictures of the pages go to `target/screenshots/`.
//!
//! Needs Chromium and ChromeDriver; `just test` installs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// One user with a browser of their own, at the demo of a fresh stack.
macro_rules! at_the_demo {
    (async |$stack:ident, $user:ident| $body:block) => {
        at_the_demo!(of $crate::interactive_stack(), async |$stack, $user| $body)
    };
    (of $start:expr, async |$stack:ident, $user:ident| $body:block) => {{
        let $stack = $start.await;
        let session = $crate::chromium::open().await;
        let $user = $crate::user::User::at(&session, &$stack);
        let outcome = async {
            $body
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        $crate::chromium::close_after(&session, outcome).await;
    }};
}

mod application;
mod chromium;
mod conformance;
mod inspector_page;
mod lesson_page;
mod site;
mod tls_stack;
mod user;

mod accessibility;
mod across_sites;
mod faults;
mod fragments;
mod https;
mod inspector;
mod lessons;
mod other_port;
mod pictures;
mod planted;
mod present;
mod provider_page;
mod relay;
mod what_happened;

use stack::{Stack, StackSettings};
use user::{Flow, User};

/// A stack whose providers show a page on which the user is chosen.
async fn interactive_stack() -> Stack {
    testkit::leak_check::watch_log();
    Stack::start(StackSettings {
        automatic: false,
        ..StackSettings::for_tests()
    })
    .await
    .unwrap()
}

/// A stack whose providers sign in their default user without a page.
async fn automatic_stack() -> Stack {
    Stack::start(StackSettings::for_tests()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_with_google_through_the_clean_flow() {
    signs_in_and_out(Flow::Clean, "google", "clean-google").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_with_github_through_the_clean_flow() {
    signs_in_and_out(Flow::Clean, "github", "clean-github").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_with_google_through_the_legacy_flow() {
    signs_in_and_out(Flow::Legacy, "google", "legacy-google").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_with_github_through_the_legacy_flow() {
    signs_in_and_out(Flow::Legacy, "github", "legacy-github").await;
}

async fn signs_in_and_out(flow: Flow, provider: &str, name: &str) {
    at_the_demo!(async |stack, user| {
        user.opens_the_demo().await?;
        user.takes_picture(&format!("{name}-1-home")).await?;
        user.starts(flow, provider).await?;
        user.is_at_the_mock_of(provider).await?;
        user.takes_picture(&format!("{name}-2-provider")).await?;
        user.chooses("ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
        user.sees_field("provider", provider).await?;
        user.sees_field("emailVerified", "true").await?;
        user.is_at(&format!("{}/profile", stack.urls().consumer))
            .await?;
        user.takes_picture(&format!("{name}-3-profile")).await?;
        user.signs_out().await?;
        user.is_signed_out().await?;
        user.opens(&format!("{}/profile", stack.urls().consumer))
            .await?;
        user.is_signed_out().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_cancels_sees_a_page_and_can_start_again_with_one_click() {
    at_the_demo!(async |stack, user| {
        for (flow, provider) in [(Flow::Clean, "google"), (Flow::Legacy, "github")] {
            user.opens_the_demo().await?;
            user.starts(flow, provider).await?;
            user.cancels().await?;
            user.sees_problem("access_denied").await?;
            user.takes_picture(&format!("cancelled-{flow:?}")).await?;
            user.starts_again().await?;
            user.is_at_the_mock_of(provider).await?;
            user.chooses("grace").await?;
            user.sees_field("signIns", "1").await?;
            user.signs_out().await?;
        }
        assert_eq!(
            stack
                .upstream()
                .google()
                .journal()
                .iter()
                .filter(|e| e.path == "/token")
                .count(),
            1
        );
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_at_a_provider_is_explained_in_plain_words() {
    at_the_demo!(async |_stack, user| {
        for (provider, misbehaviour, problem) in [
            ("google", "server_error", "provider_unavailable"),
            ("google", "bad_signature", "invalid_provider_response"),
            ("github", "reset", "provider_unavailable"),
        ] {
            user.opens_the_demo().await?;
            user.starts(Flow::Clean, provider).await?;
            user.chooses_misbehaviour(misbehaviour).await?;
            user.sees_problem(problem).await?;
            user.takes_picture(&format!("problem-{provider}-{misbehaviour}"))
                .await?;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_finish_in_the_order_of_their_start() {
    two_tabs([0, 1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_finish_in_the_other_order() {
    two_tabs([1, 0]).await;
}

/// Two logins under way in one browser, one per tab and flow; the tabs finish in
/// `order`, and each finds the user it signed in.
async fn two_tabs(order: [usize; 2]) {
    at_the_demo!(async |_stack, user| {
        let tabs = [user.tab().await?, user.opens_tab().await?];
        let plans = [
            (Flow::Clean, "google", "ada", "Ada Lovelace"),
            (Flow::Clean, "github", "grace", "not given"),
        ];
        for (tab, (flow, provider, ..)) in tabs.iter().zip(plans) {
            user.switches_to(tab).await?;
            user.opens_the_demo().await?;
            user.starts(flow, provider).await?;
            user.is_at_the_mock_of(provider).await?;
        }
        for turn in order {
            let (_, provider, who, name) = plans[turn];
            user.switches_to(&tabs[turn]).await?;
            user.chooses(who).await?;
            user.sees_field("provider", provider).await?;
            user.sees_field("name", name).await?;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_in_one_tab_does_not_sign_out_the_other() {
    at_the_demo!(async |_stack, user| {
        let tabs = [user.tab().await?, user.opens_tab().await?];
        for tab in &tabs {
            user.switches_to(tab).await?;
            user.opens_the_demo().await?;
            user.starts(Flow::Clean, "google").await?;
            user.is_at_the_mock_of("google").await?;
        }
        user.switches_to(&tabs[0]).await?;
        user.chooses("ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
        user.switches_to(&tabs[1]).await?;
        user.cancels().await?;
        user.sees_problem("access_denied").await?;
        user.opens_the_demo().await?;
        user.sees_sign_out().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_entered_in_the_form_signs_in_and_an_unusual_name_survives() {
    at_the_demo!(async |_stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "github").await?;
        user.opens_part("someone-else").await?;
        user.fills("id", "4711").await?;
        user.fills("username", "octo<b>cat").await?;
        user.fills("name", "<script>alert(1)</script>").await?;
        user.enters_another_user().await?;
        user.sees_field("providerSubject", "4711").await?;
        user.sees_field("name", "<script>alert(1)</script>").await?;
        user.sees_field("email", "not given").await?;
        user.takes_picture("another-person").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_url_opened_in_another_browser_belongs_to_the_first() {
    at_the_demo!(async |stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.is_at_the_mock_of("google").await?;
        let sent_on = user.address().await?;

        let other = chromium::open().await;
        let victim = User::at(&other, &stack);
        let seen = async {
            // The provider's page itself can be shared; its answer cannot.
            victim.opens(&sent_on).await?;
            victim.chooses("grace").await?;
            victim.sees_rule("upstream_login.own_browser").await?;
            victim.takes_picture("broker-foreign-browser").await?;
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        chromium::close_after(&other, seen).await;

        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.chooses("ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_fits_a_phone() {
    at_the_demo!(async |stack, user| {
        user.uses_a_phone().await?;
        user.opens_the_demo().await?;
        user.sees_no_sideways_scroll("phone-1-home").await?;
        user.starts(Flow::Clean, "github").await?;
        user.is_at_the_mock_of("github").await?;
        user.sees_no_sideways_scroll("phone-2-provider").await?;
        user.chooses("musa").await?;
        user.sees_field("provider", "github").await?;
        user.sees_no_sideways_scroll("phone-3-profile").await?;
        user.opens(&format!("{}/callback", stack.urls().consumer))
            .await?;
        user.sees_no_sideways_scroll("phone-4-callback").await?;
        user.opens(&format!("{}/login/unknown-knows-this", stack.urls().broker))
            .await?;
        user.sees_rule("handle.known").await?;
        user.sees_no_sideways_scroll("phone-5-broker-page").await?;
        user.opens(&stack.urls().control).await?;
        user.sees_no_sideways_scroll("phone-6-control").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_page_loads_nothing_from_elsewhere() {
    at_the_demo!(async |stack, user| {
        let control = &stack.urls().control;
        user.opens(&format!("{control}/calls")).await?;
        user.follows("the contract").await?;
        user.reads("Start a login").await?;
        user.reads("is marked as this kit").await?;
        user.takes_picture("contract").await?;
        let operation = format!("{control}/contract#tag/legacy-flow/POST/v1/revoke");
        user.opens(&operation).await?;
        user.reads("This kit").await?;
        user.takes_picture("contract-operation").await?;
        user.has_loaded_only_from(control).await?;
    });
}
