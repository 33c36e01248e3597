//! Whole requests, each seed for one door: the browser's addresses with their
//! queries and cookies, the page that asks with its form, bearer tokens, and heads.

use testkit::fuzz::{Request, Scene};

use super::door::{BASE, CALLBACKS, CLIENT, Door, SECRET};
use super::scene::authorize;
use super::{NO_HTTP, has_met, judge};
use testkit::fresh;

#[test]
fn a_bearer_header_opens_a_profile_and_nothing_else_does() {
    let set = |door: &Door| Scene::default().with("{token}", door.token());
    let met = judge("bearer_request", set, Request::read);
    has_met(&met, &[NO_HTTP, 200, 400, 401]);
}

#[test]
fn an_authorization_request_leads_home_or_to_the_provider_or_nowhere() {
    let set = |_: &Door| {
        Scene::default()
            .with("{authorize}", authorize())
            .with("{client}", CLIENT)
            .with("{home}", CALLBACKS[1])
            .with("{secret}", SECRET)
            .with("{state}", fresh::secret())
            .with("{challenge}", fresh::challenge(&fresh::secret()))
    };
    let met = judge("authorize_request", set, Request::read);
    has_met(&met, &[NO_HTTP, 200, 303, 400, 405, 503]);
}

#[test]
fn a_visit_claims_a_login_when_it_is_vouched_for_alone() {
    let set = |door: &Door| {
        let (_, handle) = door.pending();
        let (cookie, _) = door.upstream_login(&format!("/login/{handle}"));
        Scene::default()
            .with("{handle}", handle)
            .with("{cookie}", cookie)
    };
    let met = judge("visit_request", set, Request::read);
    has_met(&met, &[NO_HTTP, 200, 303, 404, 405, 503]);
}

#[test]
fn a_callback_spends_the_upstream_login_of_its_own_browser_alone() {
    let set = |door: &Door| {
        let (_, handle) = door.pending();
        let (cookie, state) = door.upstream_login(&format!("/login/{handle}"));
        let (legacy_cookie, legacy_state) = door.upstream_login(&authorize());
        Scene::default()
            .with("{cookie}", cookie)
            .with("{state}", state)
            .with("{legacy_cookie}", legacy_cookie)
            .with("{legacy_state}", legacy_state)
    };
    let met = judge("callback_request", set, Request::read);
    has_met(&met, &[NO_HTTP, 200, 303, 400, 404, 405]);
}

#[test]
fn a_button_counts_when_it_is_pressed_on_our_own_page() {
    let set = |door: &Door| {
        let (_, handle) = door.pending();
        let (cookie, _) = door.upstream_login(&format!("/login/{handle}"));
        Scene::default()
            .with("{handle}", handle)
            .with("{cookie}", cookie)
            .with("{ours}", BASE)
    };
    let met = judge("relay_request", set, Request::read);
    has_met(&met, &[NO_HTTP, 303, 403, 404, 405, 415]);
}

#[test]
fn a_head_of_any_kind_is_answered_as_the_contract_says() {
    let set = |door: &Door| {
        Scene::default()
            .with("{token}", door.token())
            .with("{key}", fresh::secret())
            .with("{client}", CLIENT)
            .with("{secret}", SECRET)
    };
    let met = judge("any_request", set, Request::read);
    has_met(&met, &[NO_HTTP, 200, 400, 401, 404, 405, 415, 503]);
}
