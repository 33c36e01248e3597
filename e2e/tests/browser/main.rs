//! The stack as a person sees it, in a real headless Chromium: they click, and
//! every page on the way is looked at. Pictures of the pages go to
//! `target/screenshots/`.
//!
//! Needs Chromium and ChromeDriver; `just test` installs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// One person with a browser of their own, at the demo of a fresh stack.
macro_rules! at_the_demo {
    (async |$stack:ident, $person:ident| $body:block) => {
        at_the_demo!(of $crate::interactive_stack(), async |$stack, $person| $body)
    };
    (of $start:expr, async |$stack:ident, $person:ident| $body:block) => {{
        let $stack = $start.await;
        let session = $crate::chromium::open().await;
        let $person = $crate::person::Person::at(&session, &$stack);
        let outcome = async {
            $body
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        $crate::chromium::close_after(&session, outcome).await;
    }};
}

mod app;
mod chromium;
mod conformance;
mod person;
mod site;
mod teacher;
mod tls_stack;

mod across_sites;
mod faults;
mod fragments;
mod inspector;
mod planted;
mod relay;

use person::{Flow, Person};
use stack::{Stack, StackSettings};

/// A stack whose providers ask who signs in.
async fn interactive_stack() -> Stack {
    testkit::leak_check::watch_log();
    Stack::start(StackSettings {
        automatic: false,
        ..StackSettings::for_tests()
    })
    .await
    .unwrap()
}

/// A stack whose providers sign in their default person without a page.
async fn automatic_stack() -> Stack {
    Stack::start(StackSettings::for_tests()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_with_google_through_the_clean_flow() {
    signs_in_and_out(Flow::Clean, "google", "clean-google").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_with_github_through_the_clean_flow() {
    signs_in_and_out(Flow::Clean, "github", "clean-github").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_with_google_through_the_legacy_flow() {
    signs_in_and_out(Flow::Legacy, "google", "legacy-google").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_with_github_through_the_legacy_flow() {
    signs_in_and_out(Flow::Legacy, "github", "legacy-github").await;
}

async fn signs_in_and_out(flow: Flow, provider: &str, name: &str) {
    at_the_demo!(async |stack, person| {
        person.goes_home().await?;
        person.takes_picture(&format!("{name}-1-home")).await?;
        person.starts(flow, provider).await?;
        person.is_at_the_imitation_of(provider).await?;
        person.takes_picture(&format!("{name}-2-provider")).await?;
        person.chooses("ada").await?;
        person.is_signed_in_as("Ada Lovelace").await?;
        person.sees_field("provider", provider).await?;
        person.sees_field("emailVerified", "true").await?;
        person
            .is_at(&format!("{}/profile", stack.urls().consumer))
            .await?;
        person.takes_picture(&format!("{name}-3-profile")).await?;
        person.signs_out().await?;
        person.is_signed_out().await?;
        person
            .opens(&format!("{}/profile", stack.urls().consumer))
            .await?;
        person.is_signed_out().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_cancels_is_told_so_and_can_start_again_with_one_click() {
    at_the_demo!(async |stack, person| {
        for (flow, provider) in [(Flow::Clean, "google"), (Flow::Legacy, "github")] {
            person.goes_home().await?;
            person.starts(flow, provider).await?;
            person.cancels().await?;
            person.meets_problem("access_denied").await?;
            person.takes_picture(&format!("cancelled-{flow:?}")).await?;
            person.starts_again().await?;
            person.is_at_the_imitation_of(provider).await?;
            person.chooses("grace").await?;
            person.sees_field("signIns", "1").await?;
            person.signs_out().await?;
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
    at_the_demo!(async |_stack, person| {
        for (provider, misbehaviour, problem) in [
            ("google", "server_error", "provider_unavailable"),
            ("google", "bad_signature", "invalid_provider_response"),
            ("github", "reset", "provider_unavailable"),
        ] {
            person.goes_home().await?;
            person.starts(Flow::Clean, provider).await?;
            person.lets_go_wrong(misbehaviour).await?;
            person.meets_problem(problem).await?;
            person
                .takes_picture(&format!("problem-{provider}-{misbehaviour}"))
                .await?;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_finish_in_the_order_in_which_they_began() {
    two_tabs([0, 1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_finish_in_the_other_order() {
    two_tabs([1, 0]).await;
}

/// Two logins under way in one browser, one per tab and flow; the tabs finish in
/// `order`, and each finds the person it signed in.
async fn two_tabs(order: [usize; 2]) {
    at_the_demo!(async |_stack, person| {
        let tabs = [person.tab().await?, person.opens_tab().await?];
        let plans = [
            (Flow::Clean, "google", "ada", "Ada Lovelace"),
            (Flow::Clean, "github", "grace", "null — legitimate"),
        ];
        for (tab, (flow, provider, ..)) in tabs.iter().zip(plans) {
            person.turns_to(tab).await?;
            person.goes_home().await?;
            person.starts(flow, provider).await?;
            person.is_at_the_imitation_of(provider).await?;
        }
        for turn in order {
            let (_, provider, who, name) = plans[turn];
            person.turns_to(&tabs[turn]).await?;
            person.chooses(who).await?;
            person.sees_field("provider", provider).await?;
            person.sees_field("name", name).await?;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_in_one_tab_signs_nobody_out_in_the_other() {
    at_the_demo!(async |_stack, person| {
        let tabs = [person.tab().await?, person.opens_tab().await?];
        for tab in &tabs {
            person.turns_to(tab).await?;
            person.goes_home().await?;
            person.starts(Flow::Clean, "google").await?;
            person.is_at_the_imitation_of("google").await?;
        }
        person.turns_to(&tabs[0]).await?;
        person.chooses("ada").await?;
        person.is_signed_in_as("Ada Lovelace").await?;
        person.turns_to(&tabs[1]).await?;
        person.cancels().await?;
        person.meets_problem("access_denied").await?;
        person.goes_home().await?;
        person.sees_sign_out().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_else_can_sign_in_by_a_form_and_their_odd_name_survives() {
    at_the_demo!(async |_stack, person| {
        person.goes_home().await?;
        person.starts(Flow::Clean, "github").await?;
        person.fills("id", "4711").await?;
        person.fills("username", "octo<b>cat").await?;
        person.fills("name", "<script>alert(1)</script>").await?;
        person.is_another_person().await?;
        person.sees_field("providerSubject", "4711").await?;
        person
            .sees_field("name", "<script>alert(1)</script>")
            .await?;
        person.sees_field("email", "null — legitimate").await?;
        person.takes_picture("another-person").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_url_opened_in_another_browser_belongs_to_the_first() {
    at_the_demo!(async |stack, person| {
        person.goes_home().await?;
        person.starts(Flow::Clean, "google").await?;
        person.is_at_the_imitation_of("google").await?;
        let sent_on = person.address().await?;

        let other = chromium::open().await;
        let victim = Person::at(&other, &stack);
        let seen = async {
            // The provider's page itself can be shared; its answer cannot.
            victim.opens(&sent_on).await?;
            victim.chooses("grace").await?;
            victim.meets_rule("upstream_login.own_browser").await?;
            victim.takes_picture("broker-foreign-browser").await?;
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        chromium::close_after(&other, seen).await;

        person.goes_home().await?;
        person.starts(Flow::Clean, "google").await?;
        person.chooses("ada").await?;
        person.is_signed_in_as("Ada Lovelace").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_fits_a_phone() {
    at_the_demo!(async |stack, person| {
        person.holds_a_phone().await?;
        person.goes_home().await?;
        person.sees_no_sideways_scroll("phone-1-home").await?;
        person.starts(Flow::Clean, "github").await?;
        person.is_at_the_imitation_of("github").await?;
        person.sees_no_sideways_scroll("phone-2-provider").await?;
        person.chooses("musa").await?;
        person.sees_field("provider", "github").await?;
        person.sees_no_sideways_scroll("phone-3-profile").await?;
        person
            .opens(&format!("{}/callback", stack.urls().consumer))
            .await?;
        person.sees_no_sideways_scroll("phone-4-callback").await?;
        person
            .opens(&format!("{}/login/nobody-knows-this", stack.urls().broker))
            .await?;
        person.meets_rule("handle.known").await?;
        person
            .sees_no_sideways_scroll("phone-5-broker-page")
            .await?;
        person.opens(&stack.urls().control).await?;
        person.sees_no_sideways_scroll("phone-6-control").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_reads_the_contract_and_their_browser_asks_nobody_else_for_it() {
    at_the_demo!(async |stack, person| {
        let control = &stack.urls().control;
        person.opens(&format!("{control}/calls")).await?;
        person.follows("the contract").await?;
        person.reads("Register a session key").await?;
        person.reads("is marked as this kit").await?;
        person.takes_picture("contract").await?;
        let operation = format!("{control}/contract#tag/legacy-flow/POST/v1/revoke");
        person.opens(&operation).await?;
        person.reads("This kit").await?;
        person.takes_picture("contract-operation").await?;
        person.has_loaded_only_from(control).await?;
    });
}
