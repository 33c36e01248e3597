//! What nobody could confirm of the real providers, and so can be chosen.
//!
//! A broker must do without knowing any of it; a test shows that by turning it
//! the other way.

/// The facts in doubt, each with the likelier answer as its default.
#[derive(Clone, Copy, Debug)]
pub struct Unconfirmed {
    /// How long a code of Google's lives. A developer's note has "about a
    /// minute".
    pub google_code_lifetime_seconds: u32,
    /// How Google describes a code that is spent or has ended. Older texts have
    /// "Code was already redeemed.".
    pub google_spent_code: &'static str,
    /// How long Google's key set may be kept; it varies.
    pub google_keys_max_age_seconds: u32,
    /// Whether Google's discovery document says that callbacks carry `iss`, while
    /// all of them do. In February 2026 it did not.
    pub google_announces_iss: bool,
    /// Whether the header of Google's ID token has `typ`.
    pub google_id_token_typ: bool,
    /// Which of its two names Google writes into an ID token: it does not say
    /// when it uses the old one.
    pub google_id_token_issuer: IssuerForm,
    /// What `prompt=none` ends with at Google when nobody is signed in:
    /// `interaction_required` or `login_required`.
    pub google_prompt_none_error: &'static str,
    /// The status of GitHub's `invalid_grant` for a missing verifier.
    pub github_missing_verifier_status: u16,
    /// The error of GitHub's for a wrong verifier.
    pub github_wrong_verifier_error: &'static str,
    /// How GitHub hides what a token's scopes do not show: 404 or 403.
    pub github_hidden_status: u16,
    /// Whether GitHub lists scopes in the headers of its REST API.
    pub github_scope_headers: bool,
}

/// How Google's name stands in an ID token.
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
            google_spent_code: "Bad Request",
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
