//! The checks: for each id of the catalogue, the steps that try it.

mod answers;
mod callback;
mod callback_visit;
mod cookie;
mod cookie_content;
mod cookie_name;
mod error_page;
mod failure;
mod headers;
mod key;
mod late;
mod legacy;
mod pending;
mod redirects;
mod app_restart;
mod restart;
mod return_to;
mod secret;
mod session;
mod sign_out;
mod simultaneous;
mod start;
mod revocation;
mod secret;
mod slow;
mod state;
mod trouble;
mod tabs;

use std::future::Future;
use std::pin::Pin;

use crate::trial::Trial;
use crate::verdict::Outcome;

/// A check on its way.
type Running<'t> = Pin<Box<dyn Future<Output = Outcome> + Send + 't>>;

/// The steps of one check.
#[derive(Clone, Copy)]
pub(crate) struct CheckSteps {
    pub(crate) id: &'static str,
    pub(crate) run: for<'t, 'w> fn(&'t Trial<'w>) -> Running<'t>,
}

/// Lists the checks with their functions.
macro_rules! checks {
    ($($id:literal => $module:ident::$function:ident,)+) => {
        /// Every check that has steps.
        pub(crate) const ALL: &[CheckSteps] = &[$(CheckSteps {
            id: $id,
            run: |trial| Box::pin($module::$function(trial)),
        }),+];
    };
}

checks! {
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
}

/// The steps of the check with this id.
pub(crate) fn steps_of(id: &str) -> Option<CheckSteps> {
    ALL.iter().copied().find(|it| it.id == id)
}
