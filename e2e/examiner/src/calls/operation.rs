//! The operations of the broker that an app calls, by the names of the stack's log.

/// Starts a login of the clean flow.
pub(crate) const SESSION: &str = "POST /v1/login/session";
/// Reads the result of such a login, once.
pub(crate) const RESULT: &str = "POST /v1/login/result";
/// Starts a login of the legacy flow; the browser is the caller.
pub(crate) const AUTHORIZE: &str = "GET /authorize";
/// Exchanges the code of such a login, once.
pub(crate) const TOKEN: &str = "POST /v1/token";
/// Reads the profile with an access token.
pub(crate) const PROFILE: &str = "GET /v1/profile";
/// Ends an access token.
pub(crate) const REVOKE: &str = "POST /v1/revoke";
/// Lists the providers of a project.
pub(crate) const PROVIDERS: &str = "GET /api/providers";
