//! A provider that answers slowly, hugely, cunningly, or not at all.

use std::num::NonZeroU32;
use std::time::Duration;

use contract::Provider::{self, GitHub, Google};

use super::script::{ENDLESS_BYTES, Reply, Script};
use super::stage::{DISCOVERY, EMAILS, KEYS, OUR_SECRET, Stage, TOKEN, USER, is};
use crate::test_broker::{CALLBACK, all};

/// Every call that a login makes, and to whom.
const CALLS: [(Provider, &str); 6] = [
    (Google, DISCOVERY),
    (Google, KEYS),
    (Google, TOKEN),
    (GitHub, TOKEN),
    (GitHub, USER),
    (GitHub, EMAILS),
];

/// One clean login while `path` is answered so.
async fn login_with(stage: &Stage, provider: Provider, path: &str, reply: Reply) -> String {
    stage.script(provider).replies(path, reply.clone());
    let away = stage.depart(provider, 1).await;
    if away.is_away() {
        stage.script(provider).replies(path, reply);
        away.back("code=a-code").await.redirects_to(CALLBACK);
    }
    stage.outcome(1).await.unwrap_err()
}

#[tokio::test]
async fn b11_a_code_is_exchanged_once_however_its_answer_is_lost() {
    for provider in Provider::ALL {
        for reply in [
            Reply::Close,
            Reply::Silence,
            Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Le".to_vec()),
            Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{".to_vec()),
            Reply::Raw(b"what is HTTP?".to_vec()),
        ] {
            let stage = Stage::start_with(|config| config.upstream.timeout_ms = 1_000).await;
            let error = login_with(&stage, provider, TOKEN, reply).await;
            assert_eq!(error, "provider_unavailable");
            assert_eq!(stage.script(provider).calls_to(TOKEN).len(), 1);
        }
    }
}

/// On a connection that served before, an HTTP client may think that closing
/// means «never seen» and send again.
#[tokio::test]
async fn b11_a_code_is_exchanged_once_on_a_reused_connection_too() {
    for provider in Provider::ALL {
        let stage = Stage::start().await;
        assert!(stage.sign_in(provider, 1).await.is_ok());
        let away = stage.depart(provider, 2).await;
        stage.script(provider).replies(TOKEN, Reply::Close);
        away.back("code=another-code").await.redirects_to(CALLBACK);
        assert_eq!(stage.outcome(2).await, is("provider_unavailable"));
        assert_eq!(stage.script(provider).calls_to(TOKEN).len(), 2);
    }
}

#[tokio::test]
async fn b12_no_call_follows_a_redirect() {
    let elsewhere = Script::start().await;
    for (provider, path) in CALLS {
        for status in [301, 302, 303, 307, 308] {
            let stage = Stage::start().await;
            let location = format!("{}{path}", elsewhere.url());
            let reply = Reply::of(status, "application/json", "{}").with("Location", &location);
            let error = login_with(&stage, provider, path, reply).await;
            let is_document = [DISCOVERY, KEYS].contains(&path);
            assert_eq!(error == "provider_unavailable", is_document, "{path}");
        }
    }
    assert!(elsewhere.calls().is_empty());
}

#[tokio::test]
async fn b12_a_discovery_that_leads_elsewhere_gets_neither_browsers_nor_secrets() {
    let elsewhere = Script::start().await;
    for member in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        for url in [
            format!("{}/path", elsewhere.url()),
            format!("http://user@{}/", elsewhere.address),
            "https://oauth2.googleapis.com/token".to_owned(),
            "javascript:alert(1)".to_owned(),
            "//evil.test/".to_owned(),
            String::new(),
        ] {
            let stage = Stage::start().await;
            let mut document = super::stage::discovery_of(&stage.google.url());
            document[member] = url.into();
            stage.google.replies(DISCOVERY, Reply::json(&document));
            let away = stage.depart(Google, 1).await;
            away.departure.redirects_to(CALLBACK);
            assert_eq!(stage.outcome(1).await, is("provider_unavailable"));
        }
    }
    assert!(elsewhere.calls().is_empty());
}

#[tokio::test]
async fn b12_a_proxy_gets_our_calls_only_if_it_is_configured() {
    let proxy = Script::start().await;
    let stage = Stage::start_with(|config| {
        config.upstream.proxy = proxy.url().try_into().unwrap();
    })
    .await;
    // This one hands nothing on.
    let away = stage.depart(GitHub, 1).await;
    away.back("code=a-code").await.redirects_to(CALLBACK);
    let called = &proxy.calls()[0].line;
    assert!(
        called.starts_with(&format!("POST {}{TOKEN} ", stage.github.url())),
        "{called}"
    );
    assert!(stage.github.calls().is_empty());
}

/// A drip that never ends would hold a limit between two bytes off for ever.
#[tokio::test]
async fn b13_a_slow_drip_ends_within_the_budget() {
    for (provider, path) in CALLS {
        let stage = Stage::start_with(|config| config.upstream.timeout_ms = 300).await;
        let drip = Reply::Endless(b" ", Duration::from_millis(10));
        let error = login_with(&stage, provider, path, drip).await;
        assert_eq!(error, "provider_unavailable");
        stage.script(provider).is_hung_up_on().await;
    }
}

#[tokio::test]
async fn b13_a_silence_ends_within_the_budget() {
    for (provider, path) in CALLS {
        let stage = Stage::start_with(|config| config.upstream.timeout_ms = 300).await;
        let error = login_with(&stage, provider, path, Reply::Silence).await;
        assert_eq!(error, "provider_unavailable");
        stage.script(provider).is_hung_up_on().await;
    }
}

/// The other side could go on for ever and is hung up on: what we took of it is
/// the cap and what the sockets hold.
#[tokio::test]
async fn b13_a_huge_body_is_not_read_to_its_end() {
    for (provider, path) in CALLS {
        let stage = Stage::start_with(|config| config.upstream.timeout_ms = 600_000).await;
        let flood = Reply::Endless(&[b' '; 64 * 1024], Duration::from_nanos(1));
        let error = login_with(&stage, provider, path, flood).await;
        let is_document = [DISCOVERY, KEYS].contains(&path);
        assert_eq!(error == "provider_unavailable", is_document, "{path}");
        let script = stage.script(provider);
        script.is_hung_up_on().await;
        assert!(script.poured_bytes() < ENDLESS_BYTES);
    }
}

#[tokio::test]
async fn b13_a_huge_head_is_not_read_to_its_end() {
    for (provider, path) in CALLS {
        let stage = Stage::start().await;
        let mut bytes = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        bytes.resize(5_000_000, b'x');
        let error = login_with(&stage, provider, path, Reply::Raw(bytes)).await;
        assert_eq!(error, "provider_unavailable");
    }
}

/// One clean login in which the honest answer at `path` has this header.
async fn login_with_header(provider: Provider, path: &str, name: &str, value: &str) {
    let stage = Stage::start().await;
    let script = stage.script(provider);
    let bend = || script.replies(path, script.reply(path).with(name, value));
    let is_document = [DISCOVERY, KEYS].contains(&path);
    if is_document {
        bend();
    }
    let away = stage.depart(provider, 1).await;
    if away.is_away() {
        bend();
        away.back("code=a-code").await.redirects_to(CALLBACK);
    }
    let calls = script.calls();
    assert!(!calls.is_empty());
    assert!(
        calls
            .iter()
            .all(|call| !call.head.contains("accept-encoding"))
    );
    let error = stage.outcome(1).await.unwrap_err();
    assert_eq!(
        error == "provider_unavailable",
        is_document,
        "{path} {value}"
    );
}

/// What is never inflated is no bomb.
#[tokio::test]
async fn b13_nothing_compressed_is_asked_for_or_opened() {
    for (provider, path) in CALLS {
        for coding in ["gzip", "br", "zstd", "deflate", "identity, gzip", ""] {
            login_with_header(provider, path, "Content-Encoding", coding).await;
        }
    }
}

/// A page of a captive portal, a sign-in form, a proxy's apology.
#[tokio::test]
async fn b13_what_does_not_say_that_it_is_json_is_not_read_as_json() {
    for (provider, path) in CALLS {
        for media_type in ["text/html", "text/plain", "application/jsonp", "", "json"] {
            login_with_header(provider, path, "Content-Type", media_type).await;
        }
    }
}

#[tokio::test]
async fn a_provider_may_write_its_media_type_as_it_likes() {
    let stage = Stage::start().await;
    let body = super::stage::ada_at_github().to_string();
    for (key, media_type) in [
        (1, "Application/JSON"),
        (2, "application/json ; charset=utf-8"),
    ] {
        stage
            .github
            .replies(USER, Reply::of(200, media_type, body.clone()));
        assert!(stage.sign_in(GitHub, key).await.is_ok());
    }
}

#[tokio::test]
async fn a_secret_of_ours_goes_to_token_endpoints_alone() {
    let stage = Stage::start().await;
    for (key, provider) in [(1, Google), (2, GitHub)] {
        assert!(stage.sign_in(provider, key).await.is_ok());
        for call in stage.script(provider).calls() {
            let text = format!("{}{}{}", call.line, call.head, call.body);
            assert_eq!(
                text.contains(OUR_SECRET),
                call.path() == TOKEN,
                "{}",
                call.line
            );
        }
    }
}

/// A hanging provider holds up nobody who signs in through the other.
#[tokio::test]
async fn while_one_provider_hangs_people_sign_in_through_the_other() {
    for (hanging, path, working) in [(GitHub, TOKEN, Google), (Google, KEYS, GitHub)] {
        let stage = Stage::start_with(|config| config.upstream.timeout_ms = 600_000).await;
        let script = stage.script(hanging);
        let away = stage.depart(hanging, 1).await;
        script.replies(path, Reply::Silence);
        let others = async {
            script.is_called_at(path).await;
            for key in 2..12 {
                assert!(stage.sign_in(working, key).await.is_ok());
            }
            assert_eq!(script.hang_ups(), 0, "the broker is still waiting");
        };
        tokio::select! {
            _ = away.back("code=a-code") => panic!("it hangs"),
            () = others => {}
        }
        assert_eq!(stage.world.result(1).await.json()["status"], "pending");
    }
}

#[tokio::test]
async fn calls_to_a_provider_take_turns_and_another_provider_has_its_own() {
    let stage = Stage::start_with(|config| {
        config.upstream.timeout_ms = 600_000;
        config.limits.upstream_calls = NonZeroU32::MIN;
    })
    .await;
    let (one, two) = (stage.depart(GitHub, 1).await, stage.depart(GitHub, 2).await);
    stage.github.replies(TOKEN, Reply::Silence);
    let others = async {
        stage.github.is_called_at(TOKEN).await;
        for key in 3..13 {
            assert!(stage.sign_in(Google, key).await.is_ok());
        }
        assert_eq!(stage.github.calls_to(TOKEN).len(), 1, "one of two waits");
    };
    tokio::select! {
        _ = one.back("code=a-code") => panic!("it hangs"),
        _ = two.back("code=a-code") => panic!("it waits"),
        () = others => {}
    }
}

#[tokio::test]
async fn all_who_wait_for_their_turn_get_it() {
    let stage = Stage::start_with(|config| config.limits.upstream_calls = NonZeroU32::MIN).await;
    let mut keys = 0..20;
    let answers = all(20, || {
        let key = keys.next().unwrap();
        let stage = &stage;
        async move { stage.depart(GitHub, key).await.back("code=a-code").await }
    })
    .await;
    assert!(answers.iter().all(|answer| answer.status == 303));
    for key in 0..20 {
        assert!(stage.outcome(key).await.is_ok());
    }
}
