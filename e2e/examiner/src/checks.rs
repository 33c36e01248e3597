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
mod relay;
mod replicas;
mod requests;
mod secrets;
mod sessions;
mod sign_out;
mod simultaneous;
mod start;
mod timing;
mod tls;

use std::future::Future;
use std::pin::Pin;

use crate::trial::Trial;
use crate::verdict::Outcome;

/// A part of a check on its way.
type Running<'t> = Pin<Box<dyn Future<Output = Outcome> + Send + 't>>;

/// The steps of one part of a check.
pub(crate) type Steps = for<'t, 'w> fn(&'t Trial<'w>) -> Running<'t>;

/// The steps of one check.
pub(crate) struct CheckSteps {
    pub(crate) id: &'static str,
    /// The parts, in their order: first what needs no real browser.
    pub(crate) parts: &'static [Steps],
    /// Whether the check, or a part of it, needs Chromium.
    pub(crate) needs_chromium: bool,
}

/// Lists the checks, each with the functions of its parts; those after `+` need Chromium. Of a
/// check with several parts one may be NOT TESTED: the report says so, and the rest counts.
macro_rules! checks {
    ($($id:literal => $($module:ident::$function:ident)&* $(+ $real:ident::$in_real:ident)?,)+) => {
        const CHECKS: &[CheckSteps] = &[$(CheckSteps {
            id: $id,
            parts: &[
                $(|trial| Box::pin(async move {
                    $module::$function(trial).await?;
                    trial.end()
                }),)*
                $(|trial| Box::pin(async move {
                    $real::$in_real(trial).await?;
                    trial.end()
                }),)?
            ],
            needs_chromium: !<[&str]>::is_empty(&[$(stringify!($in_real),)?]),
        }),+];
    };
}

checks! {
    "start-needs-action" => start::start_needs_action,
    "start-same-site" => + chromium::start_same_site,
    "key-fresh" => start::key_fresh,
    "key-not-in-browser" => secrets::key_not_in_browser + chromium::key_not_in_browser,
    "secret-not-in-browser" => secrets::secret_not_in_browser,
    "cookie-attributes" => cookies::cookie_attributes & cookies::session_ends,
    "cookie-survives-sites" => + chromium::cookie_survives_sites,
    "cookie-holds-no-secret" => secrets::cookie_holds_no_secret,
    "binding-required" => callback::binding_required,
    "binding-own" => simultaneous::binding_own,
    "callback-parameters-ignored" => callback::callback_parameters_ignored,
    "two-tabs" => sessions::two_tabs,
    "concurrent-callback" => simultaneous::concurrent_callback,
    "callback-replay" => callback::callback_replay,
    "callback-head" => callback::callback_head,
    "login-not-cancelled" => callback::login_not_cancelled,
    "callback-hostile" => callback::callback_hostile,
    "back-button" => + chromium::back_button,
    "no-retry-result" => failures::no_retry,
    "no-retry-token" => failures::no_retry,
    "restart-offered" => failures::restart_offered,
    "pending-bounded" => timing::pending_bounded,
    "result-after-browser" => timing::result_after_browser,
    "time-limit" => timing::time_limit,
    "redirects-not-followed" => redirects::redirects_not_followed,
    "tls-verified" => tls::tls_verified,
    "requests-valid" => requests::requests_valid,
    "answer-checked" => answers::answer_checked,
    "answer-shown-checked" => answers::answer_shown_checked,
    "provider-as-asked" => profiles::provider_as_asked,
    "authorization-url-checked" => answers::authorization_url_checked,
    "late-return" => timing::late_return & timing::late_departure,
    "state-present" => legacy::state_present,
    "state-checked" => legacy::state_checked,
    "state-bound" => legacy::state_bound,
    "state-once" => legacy::state_once,
    "pkce" => legacy::pkce + chromium::pkce,
    "code-not-kept" => + chromium::code_not_kept,
    "token-not-in-browser" => secrets::token_not_in_browser + chromium::token_not_in_browser,
    "token-revoked" => sign_out::token_revoked,
    "relay" => + relay::relay,
    "failure-page" => failures::failure_page,
    "profile-hostile" => profiles::profile_hostile,
    "message-escaped" => profiles::message_escaped,
    "profile-null" => profiles::profile_null,
    "account-by-subject" => accounts::account_by_subject,
    "subject-exact" => accounts::subject_exact,
    "one-account" => accounts::one_account,
    "unverified-email" => accounts::unverified_email,
    "session-rotated" => sessions::session_rotated,
    "cookie-name-exact" => cookies::cookie_name_exact + chromium::cookie_name_exact,
    "session-by-cookie" => sign_out::session_by_cookie,
    "relogin-replaces" => sessions::relogin_replaces,
    "sign-out-server" => sign_out::sign_out_server,
    "sign-out-same-site" => sign_out::sign_out_same_site + chromium::sign_out_same_site,
    "sign-out-ends-logins" => sessions::sign_out_ends_logins,
    "return-to" => redirects::return_to,
    "headers-not-trusted" => redirects::headers_not_trusted,
    "restart-of-app" => sessions::restart_of_app,
    "replicas" => replicas::replicas,
    "rolling-restart" => replicas::rolling_restart,
    "users-apart" => simultaneous::users_apart,
    "log-clean" => secrets::log_clean,
    "error-page-clean" => pages::error_page_clean,
    "no-store" => pages::no_store,
    "frame" => pages::frame,
    "headers" => pages::headers,
}

/// The steps of the check with this id.
///
/// # Panics
///
/// If the catalogue has a check without steps, which a test forbids.
pub(crate) fn steps_of(id: &str) -> &'static CheckSteps {
    let steps = CHECKS.iter().find(|it| it.id == id);
    steps.unwrap_or_else(|| panic!("{id} has no steps in checks.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{self, Instrument};

    #[test]
    fn the_catalogue_and_the_steps_have_the_same_checks_in_the_same_order() {
        let described = catalogue::checks().iter().map(|check| check.id.as_str());
        let tried = CHECKS.iter().map(|steps| steps.id);
        assert!(described.eq(tried), "checks.toml and checks.rs differ");
    }

    #[test]
    fn a_check_names_chromium_as_a_source_if_a_part_of_it_runs_there() {
        for check in catalogue::checks() {
            let names_it = check.instruments.contains(&Instrument::Chromium);
            let runs_there = steps_of(&check.id).needs_chromium;
            assert_eq!(names_it, runs_there, "{}", check.id);
        }
    }
}
