//! The checks: for each id of the catalogue, the steps that try it.

mod account;
mod answers;
mod app_restart;
mod callback;
mod callback_visit;
mod chromium;
mod cookie;
mod cookie_content;
mod cookie_name;
mod error_page;
mod failure;
mod faulted_login;
mod headers;
mod key;
mod late;
mod legacy;
mod log;
mod look;
mod pending;
mod profile;
mod redirects;
mod restart;
mod return_to;
mod revocation;
mod secret;
mod session;
mod sign_out;
mod simultaneous;
mod slow;
mod start;
mod state;
mod tabs;

use std::future::Future;
use std::pin::Pin;

use crate::trial::Trial;
use crate::verdict::Outcome;

/// A check on its way.
type Running<'t> = Pin<Box<dyn Future<Output = Outcome> + Send + 't>>;

/// The steps of one check, or of that part of it which needs a real browser.
#[derive(Clone, Copy)]
pub(crate) struct CheckSteps {
    pub(crate) id: &'static str,
    pub(crate) run: for<'t, 'w> fn(&'t Trial<'w>) -> Running<'t>,
}

/// Lists checks with their functions.
macro_rules! checks {
    ($(#[$doc:meta])* $name:ident: $($id:literal => $module:ident::$function:ident,)+) => {
        $(#[$doc])*
        const $name: &[CheckSteps] = &[$(CheckSteps {
            id: $id,
            run: |trial| Box::pin(async move {
                $module::$function(trial).await?;
                trial.end()
            }),
        }),+];
    };
}

checks! {
    /// The checks without Chromium.
    PLAIN:
    "start-needs-action" => start::start_needs_action,
    "key-fresh" => key::key_fresh,
    "key-not-in-browser" => key::key_not_in_browser,
    "secret-not-in-browser" => secret::secret_not_in_browser,
    "cookie-attributes" => cookie::cookie_attributes,
    "cookie-holds-no-secret" => cookie_content::cookie_holds_no_secret,
    "binding-required" => callback::binding_required,
    "binding-own" => simultaneous::binding_own,
    "callback-parameters-ignored" => callback_visit::callback_parameters_ignored,
    "two-tabs" => tabs::two_tabs,
    "concurrent-callback" => simultaneous::concurrent_callback,
    "callback-replay" => callback::callback_replay,
    "callback-head" => callback_visit::callback_head,
    "no-retry-result" => failure::no_retry,
    "no-retry-token" => failure::no_retry,
    "restart-offered" => restart::restart_offered,
    "pending-bounded" => pending::pending_bounded,
    "result-after-browser" => pending::result_after_browser,
    "time-limit" => slow::time_limit,
    "redirects-not-followed" => redirects::redirects_not_followed,
    "answer-checked" => answers::answer_checked,
    "authorization-url-checked" => answers::authorization_url_checked,
    "late-return" => late::late_return,
    "state-present" => state::state_present,
    "state-checked" => legacy::state_checked,
    "state-bound" => state::state_bound,
    "state-once" => state::state_once,
    "pkce" => legacy::pkce,
    "token-revoked" => revocation::token_revoked,
    "token-not-in-browser" => legacy::token_not_in_browser,
    "failure-page" => failure::failure_page,
    "session-rotated" => session::session_rotated,
    "cookie-name-exact" => cookie_name::cookie_name_exact,
    "relogin-replaces" => tabs::relogin_replaces,
    "sign-out-server" => sign_out::sign_out_server,
    "sign-out-same-site" => sign_out::sign_out_same_site,
    "return-to" => return_to::return_to,
    "restart-of-app" => app_restart::restart_of_app,
    "users-apart" => simultaneous::users_apart,
    "error-page-clean" => error_page::error_page_clean,
    "no-store" => headers::no_store,
    "frame" => headers::frame,
    "headers" => headers::headers,
    "profile-hostile" => profile::profile_hostile,
    "profile-null" => profile::profile_null,
    "account-by-subject" => account::account_by_subject,
    "unverified-email" => account::unverified_email,
    "log-clean" => log::log_clean,
}

checks! {
    /// The checks in Chromium, and those parts of others that need it.
    IN_CHROMIUM:
    "start-same-site" => chromium::start_same_site,
    "key-not-in-browser" => chromium::key_not_in_browser,
    "cookie-survives-sites" => chromium::cookie_survives_sites,
    "back-button" => chromium::back_button,
    "pkce" => chromium::pkce,
    "code-not-kept" => chromium::code_not_kept,
    "token-not-in-browser" => chromium::token_not_in_browser,
    "relay" => chromium::relay,
    "cookie-name-exact" => chromium::cookie_name_exact,
    "sign-out-same-site" => chromium::sign_out_same_site,
}

/// The parts of the check with this id, in their order; none if it has no steps.
pub(crate) fn parts_of(id: &str) -> Vec<CheckSteps> {
    let all = PLAIN.iter().chain(IN_CHROMIUM).copied();
    all.filter(|it| it.id == id).collect()
}

/// Whether the check, or a part of it, needs Chromium.
pub(crate) fn has_chromium_part(id: &str) -> bool {
    IN_CHROMIUM.iter().any(|it| it.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{self, Instrument};

    #[test]
    fn a_check_names_chromium_as_a_source_if_a_part_of_it_runs_there() {
        for check in catalogue::checks() {
            let names_it = check.instruments.contains(&Instrument::Chromium);
            assert_eq!(names_it, has_chromium_part(&check.id), "{}", check.id);
        }
    }
}
