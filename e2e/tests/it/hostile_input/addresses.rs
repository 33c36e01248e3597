//! Addresses: where a browser may be sent, and what may stand in a query.

use reqwest::Method;

use super::valid_body;
use crate::backend::send;
use crate::browser::Browser;
use crate::fresh;
use crate::login::GOOGLE;
use crate::reply::Reply;
use crate::world::World;

/// What is almost the registered `http://localhost:9/came/back`.
const ALMOST: &[&str] = &[
    "http://localhost:9/came/back/",
    "http://localhost:9/came/back?",
    "http://localhost:9/came/back?x=1",
    "http://localhost:9/came/back#",
    "http://localhost:9/came/back#x",
    "http://localhost:9/came/BACK",
    "http://localhost:9/came",
    "http://localhost:9/",
    "http://localhost:9",
    "http://localhost:9/came/back/more",
    "http://localhost:9/came//back",
    "http://localhost:9/./came/back",
    "http://localhost:9/x/../came/back",
    "http://localhost:9/came/%62ack",
    "http://localhost:9/came%2Fback",
    "http://localhost:9/came/back%00",
    "http://localhost:9/came/back%20",
    "http://localhost:9/came/back;x",
    "http://localhost:9\\came\\back",
    "http://localhost:09/came/back",
    "http://localhost/came/back",
    "http://localhost:80/came/back",
    "http://localhost:90/came/back",
    "http://localhost.:9/came/back",
    "http://LOCALHOST:9/came/back",
    "http://127.0.0.1:9/came/back",
    "http://[::1]:9/came/back",
    "http://127.1:9/came/back",
    "http://user@localhost:9/came/back",
    "http://user:pass@localhost:9/came/back",
    "http://localhost:9@evil.example/came/back",
    "http://localhost.evil.example:9/came/back",
    "http://evil.example/came/back",
    "https://localhost:9/came/back",
    "HTTP://localhost:9/came/back",
    "http:/localhost:9/came/back",
    "//localhost:9/came/back",
    "/came/back",
    "javascript:alert(1)",
    "data:text/html,x",
    " http://localhost:9/came/back",
    "http://localhost:9/came/back ",
    "http://localhost:9/came/back\n",
    "http://localhost:9/came/b\tack",
    "http://localhost:9/other/back",
    "",
];

#[tokio::test]
async fn a_callback_that_is_almost_the_registered_one_starts_no_login() {
    let world = World::start().await;
    let _other = world.other_project("Another app").await;
    for almost in ALMOST {
        let mut body = valid_body(&world.backend, "/v1/login/session");
        body["redirect_uri"] = (*almost).into();
        let reply = world.backend.post("/v1/login/session", &body).await;
        reply.is_refused();
        assert_eq!(reply.location(), None, "{almost}");
    }
}

#[tokio::test]
async fn a_callback_that_is_almost_the_registered_one_is_never_redirected_to() {
    let world = World::start().await;
    let _other = world.other_project("Another app").await;
    for almost in ALMOST {
        let reply = authorize(&world, &[("redirect_uri", almost)], &[]).await;
        reply.is_page(400, "This sign-in cannot go on");
        assert_eq!(reply.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn an_unknown_doubled_or_absent_client_or_callback_is_a_page() {
    let world = World::start().await;
    let own = &world.backend.callback;
    for (changes, more) in [
        (vec![("client_id", "nobody")], vec![]),
        (vec![("client_id", "")], vec![]),
        (vec![("client_id", "demo")], vec![]),
        (vec![], vec![("client_id", "nobody")]),
        (
            vec![],
            vec![("client_id", world.backend.client_id.as_str())],
        ),
        (vec![], vec![("redirect_uri", own.as_str())]),
        (vec![], vec![("redirect_uri", "https://evil.example/")]),
    ] {
        let reply = authorize(&world, &changes, &more).await;
        reply.is_page(400, "This sign-in cannot go on");
    }
    for query in [
        "",
        "?",
        "?client_id",
        "?%",
        "?redirect_uri=https://evil.example/",
    ] {
        let url = format!("{}/authorize{query}", world.broker());
        let reply = Browser::new().open(&url).await;
        reply.is_page(400, "This sign-in cannot go on");
    }
}

#[tokio::test]
async fn any_other_parameter_that_is_wrong_or_doubled_goes_home_with_an_error() {
    let world = World::start().await;
    for (name, wrong) in [
        ("provider", "gitlab"),
        ("code_challenge", "short"),
        ("code_challenge", ""),
        ("code_challenge_method", "plain"),
        ("response_type", "token"),
    ] {
        let reply = authorize(&world, &[(name, wrong)], &[]).await;
        goes_home_with_invalid_request(&world, &reply, true);
    }
    for name in [
        "provider",
        "code_challenge",
        "code_challenge_method",
        "response_type",
    ] {
        let reply = authorize(&world, &[], &[(name, "code"), (name, "code")]).await;
        goes_home_with_invalid_request(&world, &reply, true);
    }
}

#[tokio::test]
async fn a_state_is_echoed_only_if_it_came_once_and_is_well_formed() {
    let world = World::start().await;
    for state in ["", "short", &"x".repeat(44), "<script>alert(1)</script>"] {
        let reply = authorize(&world, &[("state", state)], &[]).await;
        goes_home_with_invalid_request(&world, &reply, false);
    }
    let reply = authorize(&world, &[], &[("state", STATE)]).await;
    goes_home_with_invalid_request(&world, &reply, false);
}

#[tokio::test]
async fn a_secret_in_an_address_is_refused_wherever_it_is() {
    let world = World::start().await;
    for name in [
        "client_secret",
        "session_key",
        "code_verifier",
        "client%5Fsecret",
    ] {
        let own = authorize(&world, &[], &[]).await;
        assert_eq!(own.status, 303);
        let url = format!("{}&{name}=x", authorize_url(&world, &[], &[]));
        let reply = Browser::new().open(&url).await;
        assert_eq!((reply.status, reply.location()), (400, None), "{name}");
        for path in ["/v1/token", "/v1/login/session", "/v1/revoke"] {
            let request = world
                .backend
                .request(Method::POST, &format!("{path}?{name}=x"));
            send(request.json(&valid_body(&world.backend, "/v1/token")))
                .await
                .is_refused();
        }
    }
}

#[tokio::test]
async fn the_brokers_own_address_comes_from_its_configuration_alone() {
    let world = World::start().await;
    for (name, value) in [
        ("Host", "evil.example"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "host=evil.example;proto=https"),
        ("X-Original-URL", "/v1/profile"),
    ] {
        let body = valid_body(&world.backend, "/v1/login/session");
        let request = world
            .backend
            .request(Method::POST, "/v1/login/session")
            .json(&body);
        let reply = send(request.header(name, value)).await;
        let url = reply.json()["authorization_url"]
            .as_str()
            .expect("a URL")
            .to_owned();
        assert!(
            url.starts_with(&format!("{}/login/", world.broker())),
            "{name}: {url}"
        );

        let departure = Browser::new().open_with(&url, &[(name, value)]).await;
        let to_provider = departure.location().expect("the provider");
        assert!(!to_provider.contains("evil"), "{name}: {to_provider}");
    }
}

/// A well-formed state.
const STATE: &str = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNO-";

/// Visits a good `/authorize` with other values for some parameters, and more.
async fn authorize(world: &World, changes: &[(&str, &str)], more: &[(&str, &str)]) -> Reply {
    Browser::new()
        .open(&authorize_url(world, changes, more))
        .await
}

fn authorize_url(world: &World, changes: &[(&str, &str)], more: &[(&str, &str)]) -> String {
    let challenge = fresh::challenge(&fresh::secret());
    let mut parameters = vec![
        ("client_id", world.backend.client_id.as_str()),
        ("redirect_uri", &world.backend.callback),
        ("provider", GOOGLE),
        ("state", STATE),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in changes {
        parameters.retain(|(known, _)| known != name);
        parameters.push((name, value));
    }
    parameters.extend(more);
    world.backend.authorize_url(&parameters)
}

#[track_caller]
fn goes_home_with_invalid_request(world: &World, reply: &Reply, with_state: bool) {
    let state = if with_state {
        format!("&state={STATE}")
    } else {
        String::new()
    };
    reply.sends_to(&format!(
        "{}?error=invalid_request{state}#",
        world.backend.callback
    ));
}
