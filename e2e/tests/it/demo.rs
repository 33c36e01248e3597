//! The demo's pages through the whole stack.

use std::sync::Arc;

use mock_upstream::Misbehaviour;
use mock_upstream::users::seed_users;

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::browser::{Browser, NavigationEnd};
use testkit::http::Response;

#[tokio::test]
async fn the_profile_page_shows_each_user_as_in_the_brokers_profile() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for someone in seed_users() {
            let account = someone.at(provider.parse().expect("one of the two"));
            let account = account.expect("an account at both");
            stack.queue_user(provider, account);
            let page = page_of(&User::at(&stack).sign_in(Flow::Clean, provider).await);
            let subject = testkit::fresh::subject(provider, &account.id);
            assert!(
                field(&page, "subject").contains(&subject),
                "{}",
                someone.reason
            );
            match &account.name {
                Some(name) => assert_eq!(&field(&page, "name"), name),
                None => assert!(field(&page, "name").contains("null"), "{}", someone.reason),
            }
        }
    }
}

#[tokio::test]
async fn the_same_user_by_both_flows_is_one_account() {
    let stack = TestStack::start().await;
    let user = User::at(&stack);
    user.sign_in(Flow::Clean, GITHUB).await;
    let page = page_of(&user.sign_in(Flow::Legacy, GITHUB).await);
    assert_eq!(field(&page, "signIns"), "2");
}

#[tokio::test]
async fn a_user_who_cancels_at_the_provider_is_not_signed_in() {
    for flow in FLOWS {
        for provider in PROVIDERS {
            let stack = TestStack::start().await;
            stack.queue_misbehaviour(provider, Misbehaviour::Deny);
            let user = User::at(&stack);
            let page = page_of(&user.sign_in(flow, provider).await);
            assert_eq!(page.status, 200);
            shows_problem(&page, "access_denied");
            assert!(!user.is_signed_in().await);
        }
    }
}

#[tokio::test]
async fn every_error_has_its_page_and_the_next_try_works() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for (misbehaviour, error) in [
            (Misbehaviour::Deny, "access_denied"),
            (Misbehaviour::TokenRefused, "invalid_provider_response"),
            (Misbehaviour::ServerError, "provider_unavailable"),
        ] {
            let user = User::at(&stack);
            stack.queue_misbehaviour(provider, misbehaviour);
            let page = page_of(&user.sign_in(Flow::Clean, provider).await);
            shows_problem(&page, error);
            let end = user.sign_in(Flow::Clean, provider).await;
            assert_eq!(end.url, stack.demo("/profile"));
        }
    }
}

#[tokio::test]
async fn two_tabs_end_in_either_order() {
    for flow in FLOWS {
        for first_ends_first in [true, false] {
            let stack = TestStack::start().await;
            let user = User::at(&stack);
            let first = user.follow_to_provider_answer(flow, GOOGLE).await;
            let second = user.follow_to_provider_answer(flow, GITHUB).await;
            let order = if first_ends_first {
                [(first, GOOGLE), (second, GITHUB)]
            } else {
                [(second, GITHUB), (first, GOOGLE)]
            };
            for (answer, provider) in order {
                let end = user.browser.follow(&answer).await;
                assert_eq!(end.url, stack.demo("/profile"));
                assert_eq!(field(&page_of(&end), "provider"), provider);
            }
        }
    }
}

#[tokio::test]
async fn a_failure_in_one_tab_leaves_the_other_alone() {
    for flow in FLOWS {
        let stack = TestStack::start().await;
        let user = User::at(&stack);
        stack.queue_misbehaviour(GOOGLE, Misbehaviour::TokenRefused);
        let fails = user.follow_to_provider_answer(flow, GOOGLE).await;
        let works = user.follow_to_provider_answer(flow, GITHUB).await;

        let page = page_of(&user.browser.follow(&fails).await);
        shows_problem(&page, "invalid_provider_response");
        let end = user.browser.follow(&works).await;
        assert_eq!(end.url, stack.demo("/profile"));
    }
}

#[tokio::test]
async fn a_failure_in_one_tab_keeps_the_user_signed_in() {
    for flow in FLOWS {
        let stack = TestStack::start().await;
        let user = User::at(&stack);
        user.sign_in(flow, GOOGLE).await;
        stack.queue_misbehaviour(GITHUB, Misbehaviour::Deny);
        let page = page_of(&user.sign_in(flow, GITHUB).await);
        shows_problem(&page, "access_denied");
        assert!(page.text().contains("still signed in"), "{}", page.text());
        assert!(user.is_signed_in().await);
    }
}

#[tokio::test]
async fn a_login_that_took_too_long_is_refused_with_a_way_to_start_again() {
    for flow in FLOWS {
        let stack = TestStack::start().await;
        let user = User::at(&stack);
        let answer = user.follow_to_provider_answer(flow, GOOGLE).await;
        stack.advance_seconds(600);
        let page = page_of(&user.browser.follow(&answer).await);
        match flow {
            // The broker redirects to the callback, where the login has expired.
            Flow::Clean => shows_problem(&page, "expired"),
            // The broker has no callback to redirect to.
            Flow::Legacy => page.is_page(400, "This sign-in is over"),
        }
        assert!(!user.is_signed_in().await);
        let end = user.sign_in(flow, GOOGLE).await;
        assert_eq!(end.url, stack.demo("/profile"));
    }
}

#[tokio::test]
async fn a_browser_under_the_other_loopback_name_is_another_browser() {
    // Cookies know hosts: `127.0.0.1` is not `localhost`.
    let stack = TestStack::start().await;
    let user = User::at(&stack);
    user.sign_in(Flow::Clean, GOOGLE).await;
    let elsewhere = stack.demo("/profile").replace("localhost", "127.0.0.1");
    let end = user.browser.type_in(&elsewhere).await;
    assert!(!page_of(&end).text().contains("Signed in as"));
}

/// No address begins like this: the browser goes wherever it is sent.
const NOT_HERE: &str = "nowhere:";

/// A user's browser at the demo.
pub(crate) struct User<'w> {
    stack: &'w TestStack,
    browser: Arc<Browser>,
}

impl<'w> User<'w> {
    pub(crate) fn at(stack: &'w TestStack) -> Self {
        Self::with(stack, &Arc::new(Browser::new()))
    }

    pub(crate) fn with(stack: &'w TestStack, browser: &Arc<Browser>) -> Self {
        Self {
            stack,
            browser: browser.clone(),
        }
    }

    /// Presses the button for `provider` and goes wherever that leads.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> NavigationEnd {
        self.press(flow, provider, NOT_HERE).await
    }

    pub(crate) async fn sign_out(&self) -> NavigationEnd {
        let (home, action) = (self.stack.demo("/"), self.stack.demo("/sign-out"));
        self.browser.press_until(&home, &action, NOT_HERE).await
    }

    /// Presses the one button of a page about a problem.
    pub(crate) async fn start_again(&self, problem: &NavigationEnd) -> NavigationEnd {
        let page = page_of(problem);
        let (form, _) = page
            .text()
            .split_once(r#"id="start-again""#)
            .unwrap_or_else(|| panic!("a button in {}", page.text()));
        let (_, action) = form.rsplit_once(r#"action=""#).expect("the form's address");
        let (action, _) = action.split_once('"').expect("the end of an attribute");
        let action = self.stack.demo(action);
        self.browser
            .press_until(&problem.url, &action, NOT_HERE)
            .await
    }

    /// The same, up to the provider's answer, which the broker has not yet seen.
    pub(crate) async fn follow_to_provider_answer(&self, flow: Flow, provider: &str) -> String {
        let end = self.stack.broker_callback(provider);
        self.press(flow, provider, &end).await.url
    }

    pub(crate) async fn press(&self, flow: Flow, provider: &str, end: &str) -> NavigationEnd {
        let start = match flow {
            Flow::Clean => format!("/login/{provider}"),
            Flow::Legacy => format!("/legacy/login/{provider}"),
        };
        let home = self.stack.demo("/");
        self.browser
            .press_until(&home, &self.stack.demo(&start), end)
            .await
    }

    pub(crate) async fn is_signed_in(&self) -> bool {
        let end = self.browser.type_in(&self.stack.demo("/profile")).await;
        end.url == self.stack.demo("/profile")
    }
}

#[track_caller]
pub(crate) fn page_of(end: &NavigationEnd) -> Response {
    end.response.clone().expect("a page")
}

#[track_caller]
pub(crate) fn shows_problem(page: &Response, problem: &str) {
    let mark = format!("data-problem=\"{problem}\"");
    assert!(page.text().contains(&mark), "{mark} in {}", page.text());
}

/// The text of a cell of the profile page.
#[track_caller]
pub(crate) fn field(page: &Response, name: &str) -> String {
    let mark = format!("data-field=\"{name}\">");
    let (_, rest) = page
        .text()
        .split_once(&mark)
        .unwrap_or_else(|| panic!("{mark} in {}", page.text()));
    rest.split_once("</td>")
        .expect("a whole cell")
        .0
        .trim()
        .to_owned()
}
