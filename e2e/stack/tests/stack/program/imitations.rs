//! `--imitations-only`: an app that knows nothing of the service signs users in.

use agent::program::{Signal, output_within};
use serde_json::Value;
use testkit::http::Http;
use url::Url;

use super::running::{LIMIT, Running, run, stack, word_after};
use crate::control::play;

const CALLBACK: &str = "http://localhost:3999/auth/callback";
const CLIENT: &str = "--client=my-app:s3cret@http://localhost:3999/auth/callback";
const PORTS: [&str; 2] = ["--google=127.0.0.1:0", "--github=127.0.0.1:0"];

fn imitations(flags: &[&str]) -> Running {
    let flags = [&["--imitations-only", "--quiet"], &PORTS[..], flags].concat();
    Running::spawn_until(stack(&[]), &flags, |banner| {
        banner.contains("Press Ctrl-C")
            && (banner.contains("callbacks") || banner.contains("any client"))
    })
}

/// The addresses of a provider in the banner.
struct Endpoints {
    authorization: String,
    token: String,
}

fn endpoints(running: &Running, provider: &str) -> Endpoints {
    let (_, own) = running.banner.split_once(provider).expect("its part");
    Endpoints {
        authorization: word_after(own, "authorization endpoint  "),
        token: word_after(own, "token endpoint  "),
    }
}

const GOOGLE: &str = "imitated Google";
const GITHUB: &str = "imitated GitHub";

fn request(client_id: &str, callback: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("client_id", client_id)
        .append_pair("redirect_uri", callback)
        .append_pair("response_type", "code")
        .append_pair("scope", "openid email")
        .append_pair("state", "abc");
    query.finish()
}

/// Signs in as an OAuth client does, and returns the answer of the token endpoint.
async fn sign_in(at: &Endpoints, client_id: &str, secret: &str, callback: &str) -> Value {
    let code = authorize(at, client_id, callback).await;
    redeem(at, (client_id, secret), callback, &code).await
}

/// Begins a sign-in, and returns the code of its callback.
async fn authorize(at: &Endpoints, client_id: &str, callback: &str) -> String {
    let url = format!("{}?{}", at.authorization, request(client_id, callback));
    let answer = Http::new().get(&url).send().await;
    let location = Url::parse(answer.header("location").expect("a redirect")).expect("a URL");
    assert!(location.as_str().starts_with(callback), "{location}");
    let param = |name| location.query_pairs().find(|(known, _)| known == name);
    assert_eq!(param("state").expect("the state").1, "abc");
    param("code").expect("a code").1.into_owned()
}

async fn redeem(at: &Endpoints, client: (&str, &str), callback: &str, code: &str) -> Value {
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client.0),
        ("client_secret", client.1),
        ("redirect_uri", callback),
        ("code", code),
    ];
    let token = Http::new()
        .post(&at.token)
        .header("accept", "application/json");
    token.form(&form).send().await.json()
}

#[tokio::test]
async fn only_the_registered_app_signs_users_in_at_both_with_its_client_and_callback() {
    let running = imitations(&[CLIENT, "--automatic"]);
    for provider in [GOOGLE, GITHUB] {
        let at = endpoints(&running, provider);
        let token = sign_in(&at, "my-app", "s3cret", CALLBACK).await;
        assert!(token["access_token"].is_string(), "{token}");
        let url = format!("{}?{}", at.authorization, request("other", CALLBACK));
        assert_eq!(Http::new().get(&url).send().await.location(), None);
    }
    let discovery = word_after(&running.banner, "discovery document  ");
    let document: Value = Http::new().get(&discovery).send().await.json();
    assert_eq!(document["issuer"], word_after(&running.banner, "issuer  "));
    for word in ["my-app", "s3cret", CALLBACK] {
        assert!(running.banner.contains(word), "{}", running.banner);
    }
    for absent in ["broker", "control"] {
        assert!(!running.banner.contains(absent), "{}", running.banner);
    }
}

#[tokio::test]
async fn clients_are_registered_by_a_variable_that_no_list_of_processes_shows() {
    let mut program = stack(&[]);
    program.env(
        "STACK_CLIENTS",
        format!("my-app:hush@{CALLBACK}\nother:x@{CALLBACK}"),
    );
    let flags = [&["--imitations-only", "--quiet", "--automatic"], &PORTS[..]].concat();
    let ready = |banner: &str| banner.matches("callbacks").count() == 2;
    let running = Running::spawn_until(program, &flags, ready);
    for (client_id, secret) in [("my-app", "hush"), ("other", "x")] {
        let at = endpoints(&running, GITHUB);
        let token = sign_in(&at, client_id, secret, CALLBACK).await;
        assert!(token["access_token"].is_string(), "{token}");
    }
    let mut help = stack(&["--help"]);
    help.env("STACK_CLIENTS", "my-app:hush@x");
    let help = output_within(help, LIMIT).expect("it runs").stdout;
    assert!(
        help.contains("STACK_CLIENTS") && !help.contains("hush"),
        "{help}"
    );
}

#[tokio::test]
async fn any_client_is_accepted_when_asked_for() {
    let running = imitations(&["--any-client", "--automatic"]);
    for provider in [GOOGLE, GITHUB] {
        let at = endpoints(&running, provider);
        let token = sign_in(&at, "whatever", "x", "https://app.test/cb").await;
        assert!(token["access_token"].is_string(), "{token}");
    }
}

#[tokio::test]
async fn a_test_drives_them_at_the_control_address_that_it_gives() {
    let other = format!("--client=other:x@{CALLBACK}");
    let running = imitations(&[CLIENT, &other, "--automatic", "--control=127.0.0.1:0"]);
    let url = word_after(&running.banner, "control  ");
    let at = endpoints(&running, GOOGLE);
    let issuer = word_after(&running.banner, "issuer  ");
    let subject = async |client_id, secret| {
        let token = sign_in(&at, client_id, secret, CALLBACK).await;
        let token = token["access_token"].as_str().expect("a token");
        let account = Http::new().get(format!("{issuer}/v1/userinfo?access_token={token}"));
        account.send().await.json()["sub"].clone()
    };
    let next = r#"POST /api/upstreams/google/next {"person":{"id":"7"},"client_id":"my-app"}"#;
    play(&format!("{next} => 201 \"ahead\":0"), &url).await;
    assert_ne!(subject("other", "x").await, "7");
    assert_eq!(subject("my-app", "s3cret").await, "7");
    assert_ne!(subject("my-app", "s3cret").await, "7");

    let code = authorize(&at, "my-app", CALLBACK).await;
    play(r#"POST /api/clock/advance {"seconds":61} => 200"#, &url).await;
    let late = redeem(&at, ("my-app", "s3cret"), CALLBACK, &code).await;
    assert_eq!(late["error"], "invalid_grant");

    play(include_str!("imitations.txt"), &url).await;
    let foreign = Http::at(&url).get("/api/stack").header("Origin", "null");
    assert_eq!(foreign.send().await.status, 403);
}

#[test]
fn their_control_address_is_served_over_tls_too() {
    let running = imitations(&["--any-client", "--https", "--control=127.0.0.1:0"]);
    let url = word_after(&running.banner, "control  ");
    let address = url.strip_prefix("https://").expect("TLS");
    let health = run(&[format!("--control={address}"), "--health".to_owned()]);
    assert_eq!((health.code, &*health.stdout), (Some(0), "up\n"));
}

#[tokio::test]
async fn without_automatic_the_page_asks_and_it_names_the_client() {
    let mut running = imitations(&[CLIENT]);
    let at = endpoints(&running, GITHUB);
    let url = format!("{}?{}", at.authorization, request("my-app", CALLBACK));
    let page = Http::new().get(&url).send().await;
    assert!(page.text().contains("<bdi>my-app</bdi>"), "{}", page.text());
    assert_eq!(running.ended_by(Signal::TERM), Some(0));
}
