//! The checks that need a real browser, and those parts of others that do.

mod cookies;
mod cross_site;
mod history;
mod relay;
mod storage;

pub(super) use cookies::{cookie_name_exact, cookie_survives_sites};
pub(super) use cross_site::{sign_out_same_site, start_same_site};
pub(super) use history::{back_button, code_not_kept};
pub(super) use relay::relay;
pub(super) use storage::{key_not_in_browser, pkce, token_not_in_browser};
