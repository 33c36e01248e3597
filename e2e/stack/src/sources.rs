//! The source of the reference consumer that teaching texts point at. A place is found by
//! its text and not by a line number, so that it moves with the code.

use serde::Deserialize;

/// A file of the reference consumer, as it was compiled.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The path below the repository: `consumer-demo/src/clean.rs`.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! files {
    ($($name:ident: $path:literal;)+) => {
        $(static $name: SourceFile = SourceFile {
            path: concat!("consumer-demo/src/", $path),
            text: include_str!(concat!("../../../consumer-demo/src/", $path)),
        };)+

        /// Every file, in reading order.
        static FILES: &[&SourceFile] = &[$(&$name),+];
    };
}

files! {
    CLEAN: "clean.rs";
    LEGACY: "legacy.rs";
    BROKER: "broker.rs";
    SESSION: "session.rs";
    BROWSER: "browser.rs";
    ACCOUNTS: "accounts.rs";
    SITE: "site.rs";
    GUARDS: "guards.rs";
    PROBLEM: "pages/problem.rs";
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident: $file:ident, $marker:literal, $title:literal;)+) => {
        /// A place in the source.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum Place { $($(#[$doc])* $name),+ }

        impl Place {
            /// Every place: file by file, in reading order.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The file, the text that occurs once in it, and the title.
            fn entry(self) -> (&'static SourceFile, &'static str, &'static str) {
                match self {
                    $(Self::$name => (&$file, $marker, $title)),+
                }
            }
        }
    };
}

places! {
    StartLogin: CLEAN, "async fn start(", "A login starts by a form of our own page";
    DrawKey: CLEAN, "let key = SessionKey::from_random(", "A fresh session key for each login";
    RegisterKey: CLEAN, ".start_session(key.clone()", "The key is registered with the broker";
    KeepKey: CLEAN, "browser.keep_login(&key, provider);", "The key stays in our session, tied to this browser";
    Redirect: CLEAN, "Ok(SeeOther::to(authorization_url", "The browser is redirected to the broker";
    Callback: CLEAN, "#[get(\"/callback\")]", "The callback of the clean flow";
    CallbackSession: CLEAN, "let Some(session) = browser.session() else", "First the cookies: a browser without a session started nothing here";
    ResultOutcome: CLEAN, "match wait_for_outcome(app, &browser, session)", "What each outcome means for the user";
    CallbackAgain: CLEAN, "fn nothing_under_way(", "A reload, or a visit that comes too late";
    TryEachLogin: CLEAN, "async fn read_newest_first(", "With several tabs, each login of this browser is tried";
    ReadResultOnce: CLEAN, "app.broker.read_result(&key", "The result is read once";
    PutBackKey: CLEAN, "session.put_back(number, &key)", "A pending result is not used up: the key is kept";
    ForgetKey: CLEAN, "session.forget_login(number)", "The key is forgotten, also when the answer was lost";
    LegacyState: LEGACY, "LoginState::from_random(", "A fresh state for each login";
    LegacyVerifier: LEGACY, "CodeVerifier::from_random(", "A fresh code verifier; only its hash leaves this server";
    LegacyKeep: LEGACY, "browser.keep_transaction(&LegacyLogin {", "Both stay in the browser’s session";
    LegacyAuthorize: LEGACY, "fn authorize_url(", "The address of GET /authorize";
    LegacyCallback: LEGACY, "#[get(\"/legacy/callback\")]", "The callback of the legacy flow";
    LegacyConsumeState: LEGACY, "browser.consume_transaction(session, &state)", "The state is consumed before anything else is looked at";
    LegacyError: LEGACY, "CodeOrError::Error(error) => return", "The broker sent an error instead of a code";
    LegacyExchange: LEGACY, ".redeem(code, login.transaction.code_verifier", "The code is exchanged once";
    LegacyProfile: LEGACY, "app.broker.profile(&token)", "The token’s one use: the profile";
    RevokeToken: LEGACY, "app.broker.revoke(&token).await", "Without a profile the token is revoked";
    CallRefused: BROKER, "    Refused(u16),", "The broker refused, and will refuse again";
    CallLost: BROKER, "    Ambiguous(&'static str),", "The answer is lost: a one-time call is not repeated";
    NoRetry: BROKER, ".retry(retry::never())", "The HTTP client must not retry by itself";
    CheckAddress: BROKER, "fn check_origin(", "Only an address of the broker is redirected to";
    TieBrowser: BROWSER, "pub(crate) fn keep_login(", "A cookie of its own ties each login to its browser";
    RenewSession: BROWSER, "pub(crate) fn sign_in(", "The session’s id is renewed at the sign-in";
    AccountKey: ACCOUNTS, "pub(crate) struct Accounts(", "An account is keyed by subject, never by the e-mail address";
    SignIn: SITE, "pub(crate) async fn sign_in(", "The user is signed in, by a session of our own";
    SignOut: SITE, "async fn sign_out(", "The user is signed out";
    OwnForm: GUARDS, "pub(crate) struct SameOriginPost(", "A form of another site starts no login";
    NoPrefetch: GUARDS, "pub(crate) struct Visit(", "A prefetch of the callback consumes nothing";
    ProblemStatus: PROBLEM, "fn status(self) -> Status", "The status of each problem page";
    ProblemTexts: PROBLEM, "fn explanation(self) -> &'static str", "What users read when a login did not work";
}

impl SourceFile {
    /// Every file, in reading order.
    pub(crate) fn all() -> &'static [&'static Self] {
        FILES
    }

    /// The file at `path`.
    pub(crate) fn at(path: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.path == path).copied()
    }

    /// The path of the page that shows the file.
    pub(crate) fn href(&self) -> String {
        format!("/source/{}", self.path)
    }

    /// The places in the file.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        let places = Place::ALL.iter().copied();
        places.filter(|place| place.file().path == self.path)
    }
}

impl Place {
    pub(crate) fn file(self) -> &'static SourceFile {
        self.entry().0
    }

    /// The effect of the code there, in a sentence.
    pub(crate) fn title(self) -> &'static str {
        self.entry().2
    }

    /// The line, from 1.
    pub(crate) fn line(self) -> usize {
        let (file, marker, _) = self.entry();
        let before = file.text.split(marker).next().unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// The file and the line: `clean.rs:57`.
    pub(crate) fn label(self) -> String {
        let path = self.file().path;
        let short = path.strip_prefix("consumer-demo/src/").unwrap_or(path);
        format!("{short}:{}", self.line())
    }

    /// The address of the line at the control address.
    pub(crate) fn href(self) -> String {
        format!("{}#L{}", self.file().href(), self.line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_each_place_occurs_once_in_its_file() {
        for place in Place::ALL {
            let (file, marker, _) = place.entry();
            let count = file.text.matches(marker).count();
            assert_eq!(count, 1, "{place:?} in {}", file.path);
        }
    }

    #[test]
    fn a_place_is_the_line_of_its_text() {
        let line = Place::DrawKey.line();
        let text = CLEAN.text.lines().nth(line - 1).expect("a line");
        assert!(
            text.contains("let key = SessionKey::from_random("),
            "{text}"
        );
        assert_eq!(Place::DrawKey.label(), format!("clean.rs:{line}"));
        let href = format!("/source/consumer-demo/src/clean.rs#L{line}");
        assert_eq!(Place::DrawKey.href(), href);
    }
}
