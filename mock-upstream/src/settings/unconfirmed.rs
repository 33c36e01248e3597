//! Facts about the real providers that no source confirms, and that a test can choose.
//!
//! A broker must work with either answer; a test shows that by choosing the other one.

/// The unconfirmed facts, each with the likelier answer as its default.
#[derive(Clone, Copy, Debug)]
pub struct Unconfirmed {
    /// The lifetime of Google's codes. A developer's note has "about a minute".
    pub google_code_lifetime_seconds: u32,
    /// Google's description of a code that was used or has expired. Older texts have
    /// "Code was already redeemed.".
    pub google_used_code: &'static str,
    /// The `max-age` of Google's key set; it varies.
    pub google_keys_max_age_seconds: u32,
    /// Whether Google's discovery document announces `iss` while all callbacks carry
    /// it. In February 2026 it did not.
    pub google_announces_iss: bool,
    /// Whether the header of Google's ID token has `typ`.
    pub google_id_token_typ: bool,
    /// The spelling of `iss` in Google's ID token. Google does not document when it
    /// uses the older one.
    pub google_id_token_issuer: IssuerForm,
    /// Google's error for `prompt=none` without a signed-in user:
    /// `interaction_required` or `login_required`.
    pub google_prompt_none_error: &'static str,
    /// The status of GitHub's `invalid_grant` for a missing verifier.
    pub github_missing_verifier_status: u16,
    /// GitHub's error for a wrong verifier.
    pub github_wrong_verifier_error: &'static str,
    /// The status with which GitHub hides what a token's scopes do not show: 404 or 403.
    pub github_hidden_status: u16,
    /// Whether GitHub lists scopes in the headers of its REST API.
    pub github_scope_headers: bool,
}

/// The spelling of Google's issuer in an ID token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerForm {
    /// The issuer's URL.
    Url,
    /// The URL without its scheme: the "legacy implementations" of Google's
    /// reference.
    WithoutScheme,
}

impl Default for Unconfirmed {
    fn default() -> Self {
        Self {
            google_code_lifetime_seconds: 60,
            google_used_code: "Bad Request",
            google_keys_max_age_seconds: 24_442,
            google_announces_iss: false,
            google_id_token_typ: true,
            google_id_token_issuer: IssuerForm::Url,
            google_prompt_none_error: "interaction_required",
            github_missing_verifier_status: 200,
            github_wrong_verifier_error: "bad_verification_code",
            github_hidden_status: 404,
            github_scope_headers: true,
        }
    }
}
