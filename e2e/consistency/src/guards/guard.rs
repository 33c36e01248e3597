//! The guards: the switches of the model.

use strum::{Display, EnumMessage, VariantArray};

/// A guard. Each is consulted at one place of the model, where it would refuse a step or
/// change its effect. The first paragraph is its line in the table, the second says where it
/// is in the code and which rule it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Display, EnumMessage, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Guard {
    /// The app starts a login only by a form of its own page.
    ///
    /// `SameOriginPost` in `consumer-demo/src/guards.rs`; THREATS C3.
    SameOriginStart,
    /// The app completes a clean login only for the cookie that its start made.
    ///
    /// `Session::take_login` in `consumer-demo/src/session.rs`; FINDINGS G2.
    LoginCookie,
    /// The app renews the id of the session at sign-in.
    ///
    /// `SessionStore::sign_in` in `consumer-demo/src/session_store.rs`; THREATS C9.
    SessionRenewal,
    /// The app keeps the key of a login whose result is pending.
    ///
    /// `clean::read` in `consumer-demo/src/clean.rs`; THREATS A26, C8.
    PendingKept,
    /// The app looks for the transaction that the state names, and for no other.
    ///
    /// `Session::consume_transaction` in `consumer-demo/src/session.rs`; THREATS C15.
    State,
    /// The app looks for the transaction in the session of the browser that is back.
    ///
    /// `Session::consume_transaction` in `consumer-demo/src/session.rs`; THREATS C15.
    StateOfSession,
    /// The app consumes the transaction before it uses the code.
    ///
    /// `legacy::callback` in `consumer-demo/src/legacy.rs`; THREATS C15, C16.
    TransactionOnce,
    /// The names of the app's cookies begin with `__Host-`.
    ///
    /// `Browser::session_cookie_name` in `consumer-demo/src/browser.rs`; THREATS V5, C2.
    AppHostPrefix,
    /// Cookies are not `SameSite=None`: no foreign form or frame gets them.
    ///
    /// `Browser::cookie` in `consumer-demo/src/browser.rs`, `UpstreamLoginCookies::cookie` in
    /// `broker/src/http/request/upstream_login_cookies.rs`; THREATS C2, section 4.
    LaxNotNone,
    /// Cookies are not `SameSite=Strict`: they come back from the provider.
    ///
    /// As `LaxNotNone`; THREATS, section 1, finding 6.
    LaxNotStrict,
    /// The broker asks a browser that does not come from the project's pages.
    ///
    /// `LoginVisit::open` in `broker/src/sign_in/clean.rs`; THREATS M2, M3.
    Confirmation,
    /// The broker takes Continue only from its own page.
    ///
    /// `SameOriginPost` in `broker/src/http/request/guards.rs`; THREATS M2, X3.
    ConfirmationOrigin,
    /// The confirmation page is shown in no frame.
    ///
    /// `frame-ancestors` in `broker/src/http/response/pages.rs`; THREATS A33.
    FrameAncestors,
    /// A login session belongs to the first browser.
    ///
    /// `LoginSession::admit` in `broker/src/model/login_session.rs`; THREATS M5, X4.
    OneBrowser,
    /// The handle in an authorization URL cannot be guessed.
    ///
    /// `Handle::from_random` in `broker/src/model/login_session.rs`; THREATS A11.
    SecretHandle,
    /// The broker completes an upstream login only in a browser with its cookie.
    ///
    /// `UpstreamLoginCookies::take` in `broker/src/http/request/upstream_login_cookies.rs`;
    /// THREATS M1, B1, X1.
    UpstreamCookie,
    /// The broker completes the upstream login that the state names, and no other.
    ///
    /// `UpstreamLoginCookies::take` in `broker/src/http/request/upstream_login_cookies.rs`;
    /// THREATS B1.
    UpstreamState,
    /// The broker takes a provider's answer only at that provider's callback.
    ///
    /// `UpstreamLoginCookies::take` in `broker/src/http/request/upstream_login_cookies.rs`;
    /// THREATS B6.
    CallbackProvider,
    /// The broker asks a browser that holds the cookie and otherwise looks different.
    ///
    /// `Returned::is_asked` in `broker/src/sign_in/callback.rs`; FINDINGS W1.
    SameTraits,
    /// The names of the broker's cookies begin with `__Host-`.
    ///
    /// `prefix` in `broker/src/http/request/upstream_login_cookies.rs`; THREATS M1.
    BrokerHostPrefix,
    /// The broker consumes an upstream login before it asks the provider.
    ///
    /// `Returned::consume` in `broker/src/sign_in/callback.rs`; THREATS B2.
    UpstreamOnce,
    /// The broker checks the issuer that the provider's callback names.
    ///
    /// `oauth::code_from` in `broker/src/upstream/oauth.rs`; THREATS B5.
    Issuer,
    /// The provider binds its code to the verifier of one upstream login.
    ///
    /// `UpstreamLogin::upstream_verifier` in `broker/src/model/upstream_login.rs`; THREATS B3.
    UpstreamPkce,
    /// The ID token has the nonce of the upstream login. (GitHub has none.)
    ///
    /// `broker/src/upstream/google/id_token.rs`; THREATS B4.
    Nonce,
    /// A login session that has an outcome gets no other.
    ///
    /// `COMPLETE` in `broker/src/store/sql.rs`; DESIGN, section 6.
    CompleteOnce,
    /// The broker redirects only to a registered callback of the project, byte for byte.
    ///
    /// `Project::check_callback` in `broker/src/projects.rs`; THREATS A1.
    RedirectExact,
    /// A code is redeemed only with the verifier of its challenge.
    ///
    /// `REDEEM` in `broker/src/store/sql.rs`; THREATS A6, A7.
    Pkce,
    /// A code is redeemed only by the project that it was issued to.
    ///
    /// `REDEEM` in `broker/src/store/sql.rs`; THREATS A7.
    CodeProject,
    /// A code is redeemed only with the callback that it was sent to.
    ///
    /// `REDEEM` in `broker/src/store/sql.rs`; THREATS A7.
    CodeCallback,
    /// A code is redeemed once.
    ///
    /// `REDEEM` in `broker/src/store/sql.rs`; THREATS A8.
    CodeOnce,
    /// No address leaks before what it carries is used up.
    ///
    /// `Referrer-Policy: no-referrer`, logs without queries and handles; THREATS A15, A30, B29.
    PrivateAddresses,
    /// Assumed: app and broker have host names that serve nothing else on any port.
    ///
    /// DESIGN, section 5, the consumer's side; FINDINGS W1.
    DedicatedHost,
    /// Assumed: Ada continues on a confirmation page only if she began the login.
    ///
    /// THREATS, section 2.3.
    OwnLoginsOnly,
}

/// A set of guards: the bits of its members.
pub(super) type Guards = u64;

impl Guard {
    pub(super) fn bit(self) -> Guards {
        1 << self as u32
    }

    pub(super) fn all_of(set: Guards) -> impl Iterator<Item = Self> {
        let all = Self::VARIANTS.iter().copied();
        all.filter(move |it| set & it.bit() != 0)
    }

    /// Whether it is an assumption about the people and hosts that use the kit.
    pub fn is_assumed(self) -> bool {
        self.says().starts_with("Assumed: ")
    }

    /// The guard in a sentence.
    pub fn says(self) -> &'static str {
        let text = self.get_documentation().unwrap_or_default();
        text.split('\n').next().unwrap_or_default()
    }
}
