//! The checks: for each id of the catalogue, the steps that try it.

mod accounts;
mod answers;
mod callback;
mod chromium;
mod cookies;
mod corpora;
mod demands;
mod failures;
mod legacy;
mod pages;
mod profiles;
mod redirects;
mod replicas;
mod requests;
mod secrets;
mod sessions;
mod sign_out;
mod simultaneous;
mod start;
mod timing;
mod tls;

use futures_util::future::BoxFuture;

use crate::trial::Trial;
use crate::verdict::Outcome;

/// The steps of one part of a check.
pub(crate) type Steps = for<'t, 'w> fn(&'t Trial<'w>) -> BoxFuture<'t, Outcome>;

/// The steps of one check.
pub(crate) struct CheckSteps {
    /// The parts, in their order: first what needs no real browser. Of several, one may be NOT
    /// TESTED: the report says so, and the rest counts.
    pub(crate) parts: Vec<Steps>,
    /// Whether the check, or a part of it, needs Chromium.
    pub(crate) needs_chromium: bool,
}

/// The functions of each module, which have the names of their checks, or say `as` which one.
macro_rules! steps {
    ($($module:ident: $($function:ident $(as $check:ident)?),+;)+) => {
        &[$($((
            [$(stringify!($check),)? stringify!($function)][0],
            |trial| Box::pin($module::$function(trial)),
        )),+),+]
    };
}

const WITHOUT_CHROMIUM: &[(&str, Steps)] = steps! {
    accounts: account_by_subject, one_account, subject_exact, unverified_email;
    answers: answer_checked, answer_shown_checked, authorization_url_checked;
    callback: binding_required, callback_head, callback_hostile, callback_parameters_ignored,
        callback_replay, login_not_cancelled;
    cookies: cookie_attributes, cookie_name_exact;
    failures: failure_page, no_retry as no_retry_result, no_retry as no_retry_token,
        restart_offered;
    legacy: pkce, state_bound, state_checked, state_once, state_present;
    pages: error_page_clean, frame, headers, no_store;
    profiles: message_escaped, profile_hostile, profile_null, provider_as_asked;
    redirects: headers_not_trusted, redirects_not_followed, return_to;
    replicas: replicas, rolling_restart;
    requests: requests_valid;
    secrets: cookie_holds_no_secret, key_not_in_browser, log_clean, secret_not_in_browser,
        token_not_in_browser;
    sessions: relogin_replaces, restart_of_app, session_rotated, sign_out_ends_logins, two_tabs;
    sign_out: session_by_cookie, sign_out_same_site, sign_out_server, token_revoked;
    simultaneous: binding_own, concurrent_callback, users_apart;
    start: key_fresh, start_needs_action;
    timing: late_return, late_departure as late_return, pending_bounded, result_after_browser,
        session_ends as cookie_attributes, time_limit;
    tls: tls_verified;
};

const IN_CHROMIUM: &[(&str, Steps)] = steps! {
    chromium: back_button, code_not_kept, cookie_name_exact, cookie_survives_sites,
        key_not_in_browser, pkce, sign_out_same_site, start_same_site, token_not_in_browser;
    start: relay;
};

/// The steps of the check with this id.
///
/// # Panics
///
/// If the catalogue has a check without steps, which a test forbids.
pub(crate) fn steps_of(id: &str) -> CheckSteps {
    let of_check = |all: &[(&str, Steps)]| -> Vec<Steps> {
        let own = all.iter().filter(|(name, _)| name.replace('_', "-") == id);
        own.map(|(_, steps)| *steps).collect()
    };
    let mut parts = of_check(WITHOUT_CHROMIUM);
    let in_chromium = of_check(IN_CHROMIUM);
    let needs_chromium = !in_chromium.is_empty();
    parts.extend(in_chromium);
    assert!(!parts.is_empty(), "{id} has no steps in checks.rs");
    CheckSteps {
        parts,
        needs_chromium,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{self, Instrument};

    #[test]
    fn every_check_has_its_steps_and_names_chromium_as_a_source_if_some_run_there() {
        for check in catalogue::checks() {
            let names_it = check.instruments.contains(&Instrument::Chromium);
            let runs_there = steps_of(&check.id).needs_chromium;
            assert_eq!(names_it, runs_there, "{}", check.id);
        }
        for (name, _) in [WITHOUT_CHROMIUM, IN_CHROMIUM].concat() {
            let check = catalogue::check(&name.replace('_', "-"));
            assert!(check.is_some(), "checks.toml has no check {name}");
        }
    }
}
