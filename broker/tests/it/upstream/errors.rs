//! The error map, row by row: what goes wrong, which error the consumer reads,
//! what the audit log says, and that the browser comes home in both flows.

use std::collections::HashSet;
use std::num::NonZeroU32;

use broker::audit::Party;
use broker::cookie_cipher::CookieKey;
use broker::upstream::Failure;
use contract::Provider::{self, GitHub, Google};
use rocket::config::TlsConfig;
use serde_json::{Value, json};
use tracing::Dispatch;

use super::script::Reply;
use super::stage::{
    Away, DISCOVERY, EMAILS, KEYS, Stage, TOKEN, USER, ada_of, discovery_of, github_at, is,
    legacy_home, token,
};
use crate::test_broker::CALLBACK;

/// A row of the map, the error it must be, the name of its test, and how it comes
/// about.
macro_rules! rows {
    ($($failure:ident is $error:ident: $name:ident => $how:ident($($what:expr),*);)+) => {
        $(#[tokio::test]
        async fn $name() {
            assert_eq!(Failure::$failure.error().as_str(), stringify!($error));
            $how(Failure::$failure, $($what),*).await;
        })+

        #[test]
        fn every_row_of_the_error_map_has_a_test() {
            let tested = HashSet::from([$(Failure::$failure),+]);
            let rows: HashSet<_> = Failure::ALL.iter().copied().collect();
            assert_eq!(tested, rows);
        }
    };
}

rows! {
    Declined is access_denied: a_person_who_declines => callback("error=access_denied");
    CallbackServerError is provider_unavailable: trouble_in_the_callback => callback("error=server_error");
    CallbackSuspended is provider_unavailable: a_callback_that_says_we_are_suspended => callback("error=application_suspended");
    CallbackError is invalid_provider_response: any_other_error_in_the_callback => callback("error=invalid_scope");
    CallbackIssuer is invalid_provider_response: another_issuers_callback => callback("code=a&iss=https://evil.test");
    CallbackCode is invalid_provider_response: a_callback_without_a_code => callback("x=y");

    NotConfigured is provider_unavailable: a_provider_that_is_gone => without_it();
    Disabled is provider_unavailable: a_provider_that_is_switched_off => switched_off();
    OwnCredentials is provider_unavailable: our_own_wrong_credentials => both(
        TOKEN,
        Reply::of(401, JSON, r#"{"error":"invalid_client"}"#),
        Reply::of(200, JSON, r#"{"error":"incorrect_client_credentials"}"#)
    );

    TooManyCalls is provider_unavailable: a_provider_with_which_too_many_are_busy => crowded();
    Timeout is provider_unavailable: a_provider_that_is_silent => github_in_200_ms(TOKEN, Reply::Silence);
    Unreachable is provider_unavailable: a_provider_that_is_not_there => github_elsewhere("http://127.0.0.1:1".to_owned());
    Untrusted is provider_unavailable: a_provider_whose_certificate_nobody_signed => github_elsewhere(tls_server().await);
    ConnectionBroken is provider_unavailable: a_provider_that_hangs_up => either(TOKEN, Reply::Close);
    RateLimited is provider_unavailable: a_provider_that_limits_our_rate => either(TOKEN, Reply::of(429, HTML, "slow down"));
    ServerError is provider_unavailable: a_provider_in_trouble => either(TOKEN, Reply::of(502, HTML, "<h1>Bad gateway</h1>"));

    Redirected is invalid_provider_response: a_redirect => either(TOKEN, Reply::of(302, HTML, "").with("Location", "/"));
    Refused is invalid_provider_response: a_refusal_without_reason => either(TOKEN, Reply::of(404, HTML, "not found"));
    TooLarge is invalid_provider_response: an_answer_of_300_kb => either(TOKEN, Reply::of(200, JSON, " ".repeat(300 * 1024)));
    Encoded is invalid_provider_response: a_compressed_answer => either(TOKEN, Reply::of(200, JSON, GZIP).with("Content-Encoding", "gzip"));
    NotJson is invalid_provider_response: an_answer_in_html => either(TOKEN, Reply::of(200, HTML, "{}"));
    Malformed is invalid_provider_response: an_answer_that_is_cut_off => either(TOKEN, Reply::of(200, JSON, r#"{"access_tok"#));

    CodeRefused is invalid_provider_response: a_code_that_is_refused => both(
        TOKEN,
        Reply::of(400, JSON, r#"{"error":"invalid_grant","error_description":"Bad Request"}"#),
        Reply::of(200, JSON, r#"{"error":"bad_verification_code"}"#)
    );
    TokenType is invalid_provider_response: a_token_of_another_type => github(
        TOKEN,
        Reply::of(200, JSON, r#"{"access_token":"a","token_type":"mac"}"#)
    );

    Document is provider_unavailable: discovery_in_html => google(DISCOVERY, Reply::of(200, HTML, "<p>Sign in to the network"));
    DocumentIssuer is provider_unavailable: discovery_of_another_issuer => discovery("issuer", "https://accounts.google.com");
    DocumentHost is provider_unavailable: discovery_that_leads_elsewhere => discovery("token_endpoint", "http://127.0.0.1:1/token");

    IdTokenShape is invalid_provider_response: an_id_token_that_is_none => id_token(|_, _| "a.b.c".to_owned());
    IdTokenAlgorithm is invalid_provider_response: an_id_token_of_another_algorithm => header(json!({ "alg": "RS512", "kid": "one" }));
    IdTokenExtension is invalid_provider_response: an_id_token_with_an_extension => header(
        json!({ "alg": "RS256", "kid": "one", "crit": ["exp"] })
    );
    IdTokenNoKey is invalid_provider_response: an_id_token_without_a_key => header(json!({ "alg": "RS256" }));
    IdTokenUnknownKey is invalid_provider_response: an_id_token_of_an_unknown_key => header(json!({ "alg": "RS256", "kid": "two" }));
    IdTokenSignature is invalid_provider_response: an_id_token_that_was_changed => id_token(|header, claims| {
        let (good, other) = (token(header, claims), token(header, &json!({})));
        let signature = other.rsplit('.').next().unwrap();
        format!("{}.{signature}", good.rsplit_once('.').unwrap().0)
    });
    IdTokenNonce is invalid_provider_response: another_logins_nonce => claim("nonce", json!("another"));
    IdTokenIssuer is invalid_provider_response: an_id_token_of_another_issuer => claim("iss", json!("https://evil.test"));
    IdTokenAudience is invalid_provider_response: an_id_token_for_another_client => claim("aud", json!("them"));
    IdTokenParty is invalid_provider_response: an_id_token_handed_to_another_client => claim("azp", json!("them"));
    IdTokenExpired is invalid_provider_response: an_id_token_that_has_expired => claim("exp", json!(1_000_000));
    IdTokenEarly is invalid_provider_response: an_id_token_from_the_future => claim("iat", json!(99_999_999_999_i64));
    IdTokenAccess is invalid_provider_response: an_id_token_of_another_access_token => claim("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA"));
    IdTokenSubject is invalid_provider_response: an_id_token_without_a_subject => claim("sub", json!(""));
}

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
/// `{}`, by gzip.
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0";

/// Runs both flows and checks what everybody hears.
async fn check(
    failure: Failure,
    stage: &Stage,
    provider: Provider,
    arrange: impl Fn(&Away<'_>),
    query: &str,
) {
    let error = failure.error().as_str();
    for legacy in [false, true] {
        let away = if legacy {
            stage.depart_legacy(provider).await
        } else {
            stage.depart(provider, 1).await
        };
        // A browser that did not get to the provider may still have a fragment.
        let (home, end) = if away.is_away() {
            arrange(&away);
            (away.back(query).await, "")
        } else {
            (away.departure, "#")
        };
        if legacy {
            home.redirects_to(&(legacy_home(error) + end));
        } else {
            home.redirects_to(CALLBACK);
            assert_eq!(stage.outcome(1).await, is(error));
        }
        assert_eq!(stage.last_why(), Some(failure.why()), "{provider}");
    }
}

async fn callback(failure: Failure, query: &str) {
    for provider in Provider::ALL {
        let stage = Stage::start().await;
        check(failure, &stage, provider, |_| (), query).await;
        assert!(stage.script(provider).calls_to(TOKEN).is_empty());
    }
}

async fn github(failure: Failure, path: &str, reply: Reply) {
    let stage = Stage::start().await;
    stage.github.replies(path, reply);
    check(failure, &stage, GitHub, |_| (), "code=a").await;
}

async fn google(failure: Failure, path: &'static str, reply: Reply) {
    let stage = Stage::start().await;
    stage.google.replies(path, reply.clone());
    let again = |_: &Away<'_>| stage.google.replies(path, reply.clone());
    check(failure, &stage, Google, again, "code=a").await;
}

async fn both(failure: Failure, path: &'static str, googles: Reply, githubs: Reply) {
    google(failure, path, googles).await;
    github(failure, path, githubs).await;
}

async fn either(failure: Failure, path: &'static str, reply: Reply) {
    both(failure, path, reply.clone(), reply).await;
}

async fn github_in_200_ms(failure: Failure, path: &str, reply: Reply) {
    let stage = Stage::start_with(|config| config.upstream.timeout_ms = 200).await;
    stage.github.replies(path, reply);
    check(failure, &stage, GitHub, |_| (), "code=a").await;
}

/// With one call at a time, and a provider that is silent, the third who waits
/// gives up before the second does.
async fn crowded(failure: Failure) {
    let stage = Stage::start_with(|config| {
        config.upstream.timeout_ms = 2_000;
        config.limits.upstream_calls = NonZeroU32::MIN;
    })
    .await;
    stage.github.replies(TOKEN, Reply::Silence);
    let keys = [1, 2, 3];
    let [one, two, three] = keys.map(|key| stage.depart(GitHub, key));
    let (one, two, three) = (one.await, two.await, three.await);
    let homes = tokio::join!(one.back("code=a"), two.back("code=a"), three.back("code=a"));
    for home in [homes.0, homes.1, homes.2] {
        home.redirects_to(CALLBACK);
    }
    for key in keys {
        assert_eq!(stage.outcome(key).await, is(failure.error().as_str()));
    }
    let calls = stage.github.calls_to(TOKEN).len();
    assert_eq!(calls, 2, "one was never made");
    let events = stage.world.events();
    let made = events.iter().filter(|it| it.to == Party::Provider(GitHub));
    let why = made.filter(|it| it.why == Some(failure.why()));
    assert_eq!(why.count(), 1);
}

async fn github_elsewhere(failure: Failure, url: String) {
    let stage = Stage::start_with(|config| config.upstream.github = Some(github_at(&url))).await;
    check(failure, &stage, GitHub, |_| (), "code=a").await;
    assert!(stage.github.calls().is_empty());
}

/// A server that anybody could have made the certificate of.
async fn tls_server() -> String {
    let tls = TlsConfig::from_bytes(
        include_bytes!("keys/tls-cert.pem"),
        include_bytes!("keys/tls-key.pem"),
    );
    let config = rocket::Config {
        tls: Some(tls),
        ..broker::http::config("127.0.0.1:0".parse().unwrap())
    };
    let (sender, port) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let liftoff = rocket::fairing::AdHoc::on_liftoff("port", move |rocket| {
        let sender = sender.lock().unwrap().take().unwrap();
        sender.send(rocket.config().port).unwrap();
        Box::pin(async {})
    });
    tokio::spawn(rocket::custom(config).attach(liftoff).launch());
    format!("https://127.0.0.1:{}", port.await.unwrap())
}

async fn discovery(failure: Failure, member: &str, value: &str) {
    let stage = Stage::start().await;
    let mut document = discovery_of(&stage.google.url());
    document[member] = value.into();
    stage.google.replies(DISCOVERY, Reply::json(&document));
    check(failure, &stage, Google, |_| (), "code=a").await;
    let calls = stage.google.calls();
    assert!(
        calls.iter().all(|call| call.path() == DISCOVERY),
        "{calls:?}"
    );
}

async fn id_token(failure: Failure, make: impl Fn(&Value, &Value) -> String) {
    let stage = Stage::start().await;
    let header = json!({ "alg": "RS256", "kid": "one" });
    let arrange = |away: &Away<'_>| away.brings_token(&make(&header, &ada_of(away)));
    check(failure, &stage, Google, arrange, "code=a").await;
}

async fn header(failure: Failure, header: Value) {
    id_token(failure, |_, claims| token(&header, claims)).await;
}

async fn claim(failure: Failure, name: &str, value: Value) {
    id_token(failure, |header, claims| {
        let mut claims = claims.clone();
        claims[name] = value.clone();
        token(header, &claims)
    })
    .await;
}

/// An upstream login that began while the provider was on ends at a broker without it.
async fn gone(failure: Failure, change: impl Fn(&mut broker::config::Config)) {
    let key = || vec![CookieKey::from_random(&[9; 32])];
    let before = Stage::start_with(|config| config.cookie_keys = key()).await;
    let away = before.depart_legacy(GitHub).await;
    let after = Stage::start_with(|config| {
        config.cookie_keys = key();
        change(config);
    })
    .await;
    let browser = after.world.browser();
    for (name, value) in away.cookies() {
        browser.add_cookie(&name, &value);
    }
    let home = browser.get(&away.back_path("code=a")).await;
    home.redirects_to(&legacy_home(failure.error().as_str()));
    assert_eq!(after.last_why(), Some(failure.why()));
    assert!(after.github.calls().is_empty());
}

async fn without_it(failure: Failure) {
    gone(failure, |config| config.upstream.github = None).await;
}

/// A login that was opened while the provider was on departs at a broker where
/// it is off; one that comes back to it is finished.
async fn switched_off(failure: Failure) {
    let scratch = crate::scratch::Scratch::new();
    let store = || broker::store::StoreUrl::SqliteFile(scratch.file("broker.db"));
    let before = Stage::start_with(|config| config.store.url = store()).await;
    let path = before.world.session(1).await;
    let after = Stage::start_with(|config| {
        config.store.url = store();
        config.upstream.github.as_mut().unwrap().enabled = false;
    })
    .await;
    after
        .world
        .browser()
        .get(&path)
        .await
        .redirects_to(CALLBACK);
    assert_eq!(after.outcome(1).await, is(failure.error().as_str()));
    assert_eq!(after.last_why(), Some(failure.why()));
}

/// Which row it is does not depend on which of the calls went wrong.
#[tokio::test]
async fn b09_every_call_of_a_login_is_judged_by_the_same_table() {
    for path in [TOKEN, USER, EMAILS] {
        for (failure, reply) in [
            (Failure::RateLimited, Reply::of(429, HTML, "")),
            (Failure::ServerError, Reply::of(500, HTML, "")),
            (Failure::ConnectionBroken, Reply::Close),
            (Failure::NotJson, Reply::of(200, HTML, "")),
            (Failure::Malformed, Reply::of(200, JSON, "")),
            (
                Failure::Refused,
                Reply::of(401, JSON, r#"{"message":"Bad credentials"}"#),
            ),
        ] {
            github(failure, path, reply).await;
        }
    }
    for path in [TOKEN, USER, EMAILS] {
        let limit = |body: &str| Reply::of(403, JSON, body);
        let left = limit("{}").with("x-ratelimit-remaining", "0");
        github(Failure::RateLimited, path, left).await;
        github(
            Failure::RateLimited,
            path,
            limit("{}").with("retry-after", "60"),
        )
        .await;
        let says = r#"{"message":"You have exceeded a secondary rate limit. Please wait."}"#;
        github(Failure::RateLimited, path, limit(says)).await;
    }
    for path in [TOKEN, USER] {
        github(Failure::Refused, path, Reply::of(403, JSON, "{}")).await;
    }
    for path in [DISCOVERY, KEYS] {
        for (failure, reply) in [
            (Failure::RateLimited, Reply::of(429, HTML, "")),
            (Failure::ServerError, Reply::of(503, HTML, "")),
            (Failure::ConnectionBroken, Reply::Close),
            (Failure::Document, Reply::of(200, HTML, "")),
            (Failure::Document, Reply::of(404, JSON, "{}")),
            (
                Failure::Document,
                Reply::of(302, HTML, "").with("Location", "/"),
            ),
            (
                Failure::Document,
                Reply::of(200, JSON, " ".repeat(300 * 1024)),
            ),
            (Failure::Document, Reply::of(200, JSON, "{}")),
        ] {
            google(failure, path, reply).await;
        }
    }
}

#[tokio::test]
async fn b14_an_error_inside_http_200_is_a_failure_in_whatever_form() {
    for error in [
        "bad_verification_code",
        "redirect_uri_mismatch",
        "unverified_user_email",
        "invalid_grant",
        "an_error_of_tomorrow",
        "",
    ] {
        // A token beside it changes nothing.
        let body = json!({ "error": error, "access_token": "a", "token_type": "bearer" });
        github(Failure::CodeRefused, TOKEN, Reply::json(&body)).await;
        let form = format!("error={error}&access_token=a&token_type=bearer");
        let form = Reply::of(
            200,
            "application/x-www-form-urlencoded; charset=utf-8",
            form,
        );
        github(Failure::NotJson, TOKEN, form).await;
    }
    let odd = json!({ "error": 1, "access_token": "a", "token_type": "bearer" });
    github(Failure::CodeRefused, TOKEN, Reply::json(&odd)).await;
}

#[tokio::test]
async fn a_token_that_no_header_can_carry_is_no_token() {
    for access_token in ["", "a b", "a\r\nHost: evil.test", "ä", &"a".repeat(2049)] {
        let body = json!({ "access_token": access_token, "token_type": "bearer" });
        github(Failure::Malformed, TOKEN, Reply::json(&body)).await;
    }
}

#[tokio::test]
async fn our_own_wrong_credentials_raise_an_alarm_whatever_the_status_and_tell_no_secret() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(lines.clone())
        .finish();
    // With one subscriber alone, a line of code that another test reaches first is
    // switched off for everybody, because that test's thread has none.
    let _second = Dispatch::new(
        tracing_subscriber::fmt()
            .with_writer(std::io::sink)
            .finish(),
    );
    let _listening = tracing::subscriber::set_default(log);
    our_own_credentials_are_refused().await;
    let log = lines.text();
    for provider in ["google", "github"] {
        let alarms = log.lines().filter(|line| {
            line.contains("ERROR")
                && line.contains(&format!("provider={provider}"))
                && line.contains(&format!("upstream.{provider}.client_id and .client_secret"))
        });
        assert_eq!(alarms.count(), REFUSING.len(), "{log}");
    }
    assert!(
        !log.contains("OurSecret") && !log.contains("a-code"),
        "{log}"
    );
}

/// The statuses with which a provider may refuse our credentials.
const REFUSING: [u16; 8] = [200, 400, 401, 403, 404, 422, 429, 503];

async fn our_own_credentials_are_refused() {
    let stage = Stage::start().await;
    for (key, status) in (1..).zip(REFUSING) {
        let refused = |error: &str| Reply::of(status, JSON, json!({ "error": error }).to_string());
        stage
            .github
            .replies(TOKEN, refused("incorrect_client_credentials"));
        let outcome = stage.sign_in(GitHub, key).await;
        assert_eq!(outcome, is("provider_unavailable"), "{status}");
        let away = stage.depart(Google, key + 100).await;
        stage.google.replies(TOKEN, refused("invalid_client"));
        away.back("code=a-code").await.redirects_to(CALLBACK);
        let outcome = stage.outcome(key + 100).await;
        assert_eq!(outcome, is("provider_unavailable"), "{status}");
    }
}

/// What was logged on this thread.
#[derive(Clone, Default)]
struct Lines(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
