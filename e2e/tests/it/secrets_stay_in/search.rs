//! Searches everything that users, browsers and operators can see for the secrets of a run.

use reqwest::Method;
use reqwest::header::SET_COOKIE;
use testkit::browser::NavigationStep;
use testkit::leak_check::{LeakCheck, drawn};
use testkit::login::PROVIDERS;
use testkit::logs;

use super::Run;
use crate::test_stack::TestStack;

impl Run {
    pub(super) fn check(&self, stack: &TestStack) {
        // A search for nothing, or in nothing, would find nothing.
        assert!(self.secrets.len() > 100, "{}", self.secrets.len());
        assert!(self.steps.len() > 100, "{}", self.steps.len());
        let leaks = self.leaks(stack);
        assert!(leaks.is_empty(), "{leaks:#?}");
        let log = logs::text();
        for path in ["POST /v1/token", "/legacy/callback"] {
            assert!(log.contains(path), "{path} was not logged");
        }
        assert_eq!(self.leak_check().search(&log), [], "in the log");
        let demo = stack.demo("/");
        for step in self.steps.iter().filter(|it| it.url.starts_with(&demo)) {
            let found = drawn(step.response.text()).find(|word| !word.starts_with("sub_"));
            assert_eq!(found, None, "{}", step.url);
        }
    }

    /// The control address shows projects their secrets, at `/calls` and `/api/projects`,
    /// and nothing else.
    pub(super) async fn check_control(&self, stack: &TestStack) {
        let served = everything_served(stack).await;
        assert!(served.len() > 100_000, "{} bytes", served.len());
        for part in ["id=\"exchange\"", "<svg", "[masked"] {
            assert!(served.contains(part), "{part} was not served");
        }
        let found = self.leak_check().search(&served);
        assert_eq!(found, [], "at the control address");
    }

    fn leak_check(&self) -> LeakCheck {
        let secrets = self.secrets.iter();
        LeakCheck::over(secrets.map(|secret| (secret.what, &*secret.value)))
    }

    /// The secrets that browsers saw where they do not belong.
    fn leaks(&self, stack: &TestStack) -> Vec<String> {
        let leak_check = self.leak_check();
        let mut leaks = Vec::new();
        let steps = self.steps.iter();
        for step in steps.filter(|step| !is_the_providers_own(stack, step)) {
            for (part, text) in seen(step) {
                for leak in leak_check.search(&text) {
                    let secret = &self.secrets[leak.secret];
                    let may_be_there = (part == "address" || part == "Location")
                        && secret.places.iter().any(|places| text.starts_with(places));
                    if !may_be_there {
                        leaks.push(format!("{leak} in {part} of {} {}", step.method, step.url));
                    }
                }
            }
        }
        leaks
    }
}

/// Everything that the control API serves about past events.
async fn everything_served(stack: &TestStack) -> String {
    let journals = PROVIDERS.map(|provider| format!("/api/upstreams/{provider}/requests"));
    let lists = "/ /others /api/events /api/logins /api/faults /api/stack";
    let mut addresses: Vec<_> = lists.split(' ').map(ToOwned::to_owned).collect();
    addresses.extend(journals);
    for event in stack.event_log().events(0, None) {
        let id = &event.request_id;
        addresses.push(format!("/api/exchanges/{id}"));
        if let (Some(login), "broker") = (&event.login, event.to) {
            addresses.push(format!("/logins/{login}?call={id}"));
        }
    }
    for login in stack.event_log().logins(usize::MAX) {
        addresses.push(format!("/api/logins/{login}"));
        addresses.push(format!("/logins/{login}/diagram.svg"));
    }
    let mut served = String::new();
    for address in addresses {
        let response = stack.control(Method::GET, &address, None).await;
        served.push_str(response.text());
        served.push_str(&format!("{:?}", response.headers));
    }
    served
}

/// The pages of an imitated provider are not checked.
fn is_the_providers_own(stack: &TestStack, step: &NavigationStep) -> bool {
    PROVIDERS.iter().any(|provider| {
        step.url.starts_with(stack.provider(provider).url()) && step.response.location().is_none()
    })
}

/// Everything of a step that a browser, its history or its neighbours see.
fn seen(step: &NavigationStep) -> Vec<(&'static str, String)> {
    let mut seen = vec![
        ("address", step.url.clone()),
        ("page", step.response.text().to_owned()),
    ];
    seen.extend(step.referer.clone().map(|referer| ("Referer", referer)));
    let location = step.response.location().map(ToOwned::to_owned);
    seen.extend(location.map(|location| ("Location", location)));
    let cookies = step.response.headers.get_all(SET_COOKIE).iter();
    seen.extend(cookies.map(|cookie| ("Set-Cookie", format!("{cookie:?}"))));
    seen
}
