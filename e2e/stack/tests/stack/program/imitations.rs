//! `--imitations-only`: an app that knows nothing of the service signs users in.

use agent::program::{Signal, output_within};
use serde_json::Value;
use testkit::http::Http;
use url::Url;

use super::running::{LIMIT, Running, stack, word_after};

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
    let url = format!("{}?{}", at.authorization, request(client_id, callback));
    let answer = Http::new().get(&url).send().await;
    let location = Url::parse(answer.header("location").expect("a redirect")).expect("a URL");
    assert!(location.as_str().starts_with(callback), "{location}");
    let param = |name| location.query_pairs().find(|(known, _)| known == name);
    assert_eq!(param("state").expect("the state").1, "abc");
    let code = param("code").expect("a code").1.into_owned();
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client_id),
        ("client_secret", secret),
        ("redirect_uri", callback),
        ("code", &code),
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
async fn without_automatic_the_page_asks_and_it_names_the_client() {
    let mut running = imitations(&[CLIENT]);
    let at = endpoints(&running, GITHUB);
    let url = format!("{}?{}", at.authorization, request("my-app", CALLBACK));
    let page = Http::new().get(&url).send().await;
    assert!(page.text().contains("<bdi>my-app</bdi>"), "{}", page.text());
    assert_eq!(running.ended_by(Signal::TERM), Some(0));
}
