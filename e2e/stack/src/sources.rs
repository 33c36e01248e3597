//! The source of the reference consumers, in seven languages, as it was compiled, and other files
//! to copy; and the places in the demo that teaching texts point at. A place is found by its text and not by a line
//! number, so that it moves with the code.

use serde::Deserialize;

/// A file that the program carries.
#[derive(Debug)]
pub struct SourceFile {
    /// The path below the repository: `consumer-demo/src/clean.rs`.
    pub path: &'static str,
    /// The text.
    pub text: &'static str,
}

/// A language, with the reference consumer in it.
#[derive(Debug)]
pub struct Language {
    /// The name: `JavaScript`.
    pub name: &'static str,
    /// The sign that begins a comment.
    pub comment: &'static str,
    /// The files of the consumer, in reading order.
    pub files: &'static [SourceFile],
    /// The least backend, which the README shows, where there is one.
    pub minimal: &'static [SourceFile],
}

macro_rules! files {
    ($folder:literal: $($file:literal)*) => {
        &[$(SourceFile {
            path: concat!($folder, $file),
            text: include_str!(concat!("../../../", $folder, $file)),
        }),*]
    };
}

/// Every language; the first is that of an app of which nothing is known.
pub static LANGUAGES: [Language; 7] = [
    Language {
        name: "Python",
        comment: "#",
        files: files!(
            "e2e/consumers/python/": "app.py" "broker.py" "templates/page.html" "requirements.txt"
        ),
        minimal: files!("e2e/consumers/python/": "minimal.py"),
    },
    Language {
        name: "JavaScript",
        comment: "//",
        files: files!(
            "e2e/consumers/node/": "app.mjs" "broker.mjs" "page.mjs" "database.mjs" "package.json"
            "package-lock.json"
        ),
        minimal: files!("e2e/consumers/node/": "minimal.mjs"),
    },
    Language {
        name: "Rust",
        comment: "//",
        files: files!(
            "consumer-demo/": "src/clean.rs" "src/legacy.rs" "src/broker.rs" "src/session.rs"
            "src/browser.rs" "src/accounts.rs" "src/site.rs" "src/guards.rs" "src/pages/problem.rs"
            "src/pages.rs" "src/session_store.rs" "src/cookies.rs" "src/server.rs"
            "templates/profile.html"
        ),
        minimal: files!("e2e/consumers/rust/": "minimal.rs"),
    },
    Language {
        name: "Go",
        comment: "//",
        files: files!(
            "e2e/consumers/go/": "app.go" "broker.go" "sessions.go" "settings.go" "page.html" "go.mod"
        ),
        minimal: &[],
    },
    Language {
        name: "Java",
        comment: "//",
        files: files!(
            "e2e/consumers/java/": "App.java" "Broker.java" "Session.java" "Page.java" "Settings.java"
            "Json.java"
        ),
        minimal: &[],
    },
    Language {
        name: "PHP",
        comment: "//",
        files: files!("e2e/consumers/php/": "app.php" "broker.php" "sessions.php" "page.php"),
        minimal: &[],
    },
    Language {
        name: "Ruby",
        comment: "#",
        files: files!("e2e/consumers/ruby/": "app.rb" "broker.rb" "sessions.rb" "page.erb"),
        minimal: &[],
    },
];

/// The other files to copy, under the name of their group.
pub(crate) static TO_COPY: [(&str, &[SourceFile]); 3] = [
    (
        "For your tests",
        files!(
            "e2e/": "examples/sandboxes/pytest/conftest.py" "examples/sandboxes/playwright/sandbox.ts"
            "examples/sandboxes/rust/tests/sandbox/mod.rs" "examples/people.toml"
            "consumers/python/test_app.py" "consumers/node/app.test.mjs"
        ),
    ),
    (
        "For your repository",
        files!(
            "packaging/repository/": ".github/actions/grade-sign-in/action.yml"
            ".github/workflows/sign-in.yml" ".gitlab-ci.yml" "compose.yaml" "tests/conftest.py"
            ".devcontainer/devcontainer.json"
        ),
    ),
    (
        "To read",
        files!("": "e2e/examiner/checks.toml" "broker/nginx/nginx.conf"),
    ),
];

/// The folder of the demo, which has every place.
const DEMO: &str = "consumer-demo/src/";

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident: $file:literal, $marker:literal, $title:literal;)+) => {
        /// A place in the source.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum Place { $($(#[$doc])* $name),+ }

        impl Place {
            /// Every place: file by file, in reading order.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The file below [`DEMO`], the text that occurs once in it, and the title.
            fn entry(self) -> (&'static str, &'static str, &'static str) {
                match self {
                    $(Self::$name => ($file, $marker, $title)),+
                }
            }
        }
    };
}

places! {
    StartLogin: "clean.rs", "async fn start(", "A login starts by a form of our own page";
    DrawKey: "clean.rs", "let key = SessionKey::from_random(", "A fresh session key for each login";
    RegisterKey: "clean.rs", ".start_session(key.clone()", "The key is registered with the broker";
    KeepKey: "clean.rs", "browser.keep_login(&key, provider);", "The key stays in our session, tied to this browser";
    Redirect: "clean.rs", "Ok(SeeOther::to(authorization_url", "The browser is redirected to the broker";
    Callback: "clean.rs", "#[get(\"/callback\")]", "The callback of the clean flow";
    CallbackSession: "clean.rs", "let Some(session) = browser.session() else", "First the cookies: a browser without a session started nothing here";
    ResultOutcome: "clean.rs", "match wait_for_outcome(app, &browser, session)", "What each outcome means for the user";
    CallbackAgain: "clean.rs", "fn nothing_under_way(", "A reload, or a visit that comes too late";
    TryEachLogin: "clean.rs", "async fn read_newest_first(", "With several tabs, each login of this browser is tried";
    ReadResultOnce: "clean.rs", "app.broker.read_result(&key", "The result is read once";
    PutBackKey: "clean.rs", "session.put_back(number, &key)", "A pending result is not used up: the key is kept";
    ForgetKey: "clean.rs", "session.forget_login(number)", "The key is forgotten, also when the answer was lost";
    LegacyState: "legacy.rs", "LoginState::from_random(", "A fresh state for each login";
    LegacyVerifier: "legacy.rs", "CodeVerifier::from_random(", "A fresh code verifier; only its hash leaves this server";
    LegacyKeep: "legacy.rs", "browser.keep_transaction(&LegacyLogin {", "Both stay in the browser’s session";
    LegacyAuthorize: "legacy.rs", "fn authorize_url(", "The address of GET /authorize";
    LegacyCallback: "legacy.rs", "#[get(\"/legacy/callback\")]", "The callback of the legacy flow";
    LegacyConsumeState: "legacy.rs", "browser.consume_transaction(session, &state)", "The state is consumed before anything else is looked at";
    LegacyError: "legacy.rs", "CodeOrError::Error(error) => return", "The broker sent an error instead of a code";
    LegacyExchange: "legacy.rs", ".redeem(code, login.transaction.code_verifier", "The code is exchanged once";
    LegacyProfile: "legacy.rs", "app.broker.profile(&token)", "The token’s one use: the profile";
    RevokeToken: "legacy.rs", "app.broker.revoke(&token).await", "Without a profile the token is revoked";
    CallRefused: "broker.rs", "    Refused(u16),", "The broker refused, and will refuse again";
    CallLost: "broker.rs", "    Ambiguous(&'static str),", "The answer is lost: a one-time call is not repeated";
    NoRetry: "broker.rs", ".retry(retry::never())", "The HTTP client must not retry by itself";
    CheckAddress: "broker.rs", "fn check_origin(", "Only an address of the broker is redirected to";
    TieBrowser: "browser.rs", "pub(crate) fn keep_login(", "A cookie of its own ties each login to its browser";
    RenewSession: "browser.rs", "pub(crate) fn sign_in(", "The session’s id is renewed at the sign-in";
    AccountKey: "accounts.rs", "pub(crate) struct Accounts(", "An account is keyed by subject, never by the e-mail address";
    SignIn: "site.rs", "pub(crate) async fn sign_in(", "The user is signed in, by a session of our own";
    SignOut: "site.rs", "async fn sign_out(", "The user is signed out";
    OwnForm: "guards.rs", "pub(crate) struct SameOriginPost(", "A form of another site starts no login";
    NoPrefetch: "guards.rs", "pub(crate) struct Visit(", "A prefetch of the callback consumes nothing";
    ProblemStatus: "pages/problem.rs", "fn status(self) -> Status", "The status of each problem page";
    ProblemTexts: "pages/problem.rs", "fn explanation(self) -> &'static str", "What users read when a login did not work";
}

impl SourceFile {
    /// Every file, in the order of the page `/source`.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        let apps = LANGUAGES.iter();
        let apps = apps.flat_map(|it| it.minimal.iter().chain(it.files));
        apps.chain(TO_COPY.iter().flat_map(|(_, files)| *files))
    }

    /// The file at `path`.
    pub(crate) fn at(path: &str) -> Option<&'static Self> {
        Self::all().find(|file| file.path == path)
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
        let path = [DEMO, self.entry().0].concat();
        SourceFile::at(&path).expect("each place is in a file of the demo")
    }

    /// The effect of the code there, in a sentence.
    pub(crate) fn title(self) -> &'static str {
        self.entry().2
    }

    /// The line, from 1.
    pub(crate) fn line(self) -> usize {
        let (_, marker, _) = self.entry();
        let before = self.file().text.split(marker).next().unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// The file and the line: `clean.rs:57`.
    pub(crate) fn label(self) -> String {
        format!("{}:{}", self.entry().0, self.line())
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
            let count = place.file().text.matches(place.entry().1).count();
            assert_eq!(count, 1, "{place:?} in {}", place.file().path);
        }
    }

    #[test]
    fn a_place_is_the_line_of_its_text() {
        let line = Place::DrawKey.line();
        let text = Place::DrawKey
            .file()
            .text
            .lines()
            .nth(line - 1)
            .expect("a line");
        assert!(
            text.contains("let key = SessionKey::from_random("),
            "{text}"
        );
        assert_eq!(Place::DrawKey.label(), format!("clean.rs:{line}"));
        let href = format!("/source/consumer-demo/src/clean.rs#L{line}");
        assert_eq!(Place::DrawKey.href(), href);
    }
}
