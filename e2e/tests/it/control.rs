//! The control address: every call, and what it refuses. Who may call at all is
//! the guard's question.

mod book;
mod faults;
mod guard;

use std::collections::HashSet;

use mock_upstream::Misbehaviour;
use reqwest::Method;
use serde_json::{Value, json};

use crate::backend::{Backend, send};
use crate::browser::{Browser, client};
use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::reply::Reply;
use crate::world::World;

#[tokio::test]
async fn it_tells_where_everything_is() {
    let world = World::start().await;
    let urls = world.stack.urls();
    let reply = get(&world, "/api/stack").await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json(),
        json!({
            "broker": urls.broker,
            "consumer": urls.consumer,
            "upstreams": { "google": urls.google, "github": urls.github },
        })
    );
}

#[tokio::test]
async fn it_lists_every_project_with_its_secret() {
    let world = World::start().await;
    let projects = get(&world, "/api/projects").await.json();
    let projects = projects.as_array().expect("a list");
    assert_eq!(projects.len(), 2);
    assert_eq!(projects[0]["client_id"], "demo");
    assert_eq!(
        projects[1],
        json!({
            "name": "A test's app",
            "client_id": world.backend.client_id,
            "client_secret": world.backend.client_secret,
            "redirect_uris": [world.backend.callback],
        })
    );
}

#[tokio::test]
async fn a_new_project_can_sign_in_at_once() {
    let world = World::start().await;
    let new = json!({ "name": "New", "redirect_uris": ["http://localhost:9/new"] });
    let reply = post(&world, "/api/projects", new).await;
    assert_eq!(reply.status, 201);
    let backend = Backend::of(world.broker(), &reply.json());
    let login = backend.start_login(GOOGLE).await;
    let arrival = Browser::new().follow(&login.authorization_url).await;
    assert_eq!(arrival.url, "http://localhost:9/new");
}

#[tokio::test]
async fn a_new_project_may_say_whom_the_broker_asks() {
    let world = World::start().await;
    let visit = async |more: Value| {
        let mut new = json!({ "name": "New", "redirect_uris": [world.backend.callback] });
        new.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("another").clone());
        let reply = post(&world, "/api/projects", new).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        let mut names: Vec<_> = reply
            .json()
            .as_object()
            .expect("it")
            .keys()
            .cloned()
            .collect();
        names.sort();
        let shown = ["client_id", "client_secret", "name", "redirect_uris"];
        assert_eq!(names, shown, "the guard is not shown");
        let backend = Backend::of(world.broker(), &reply.json());
        let login = backend.start_login(GOOGLE).await;
        Browser::new().open(&login.authorization_url).await.status
    };
    assert_eq!(visit(json!({})).await, 303);
    assert_eq!(visit(json!({ "relay_guard": "auto" })).await, 303);
    assert_eq!(visit(json!({ "relay_guard": "always" })).await, 200);
    let elsewhere = json!(["http://localhost:10"]);
    assert_eq!(visit(json!({ "start_origins": elsewhere })).await, 200);
    let off = json!({ "relay_guard": "off", "start_origins": elsewhere });
    assert_eq!(visit(off).await, 303);
}

#[tokio::test]
async fn a_guard_that_cannot_be_is_refused() {
    let world = World::start().await;
    for (field, value, says) in [
        ("relay_guard", json!("on"), "`auto`, `always`, `off`"),
        ("start_origins", json!([]), "start_origins"),
        ("start_origins", json!("http://localhost:9"), "sequence"),
        (
            "start_origins",
            json!(["http://localhost:9/"]),
            "start_origins",
        ),
        (
            "start_origins",
            json!(["http://a.example"]),
            "start_origins",
        ),
        ("select_account", json!("always"), "select_account"),
    ] {
        let mut new = json!({ "name": "New", "redirect_uris": [world.backend.callback] });
        new[field] = value;
        refuses(&post(&world, "/api/projects", new).await, 400, says);
    }
}

#[tokio::test]
async fn a_project_without_a_permissible_callback_is_refused() {
    let world = World::start().await;
    for redirect_uris in [
        json!([]),
        json!(["http://app.example/back"]),
        json!(["https://app.example/back?x=1"]),
        json!(["https://app.example/back", "ftp://app.example"]),
        json!("https://app.example/back"),
    ] {
        let new = json!({ "name": "New", "redirect_uris": redirect_uris });
        refuses(&post(&world, "/api/projects", new).await, 400, "");
    }
    let unknown = json!({ "name": "New", "redirect_uris": ["https://a.example/"], "admin": true });
    refuses(&post(&world, "/api/projects", unknown).await, 400, "admin");
    let projects = get(&world, "/api/projects").await.json();
    assert_eq!(projects.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn the_clock_flows_and_is_moved_ahead() {
    let world = World::start().await;
    let before = get(&world, "/api/clock").await.json();
    assert_eq!(before["advanced_seconds"], 0.0);
    let moved = post(&world, "/api/clock/advance", json!({ "seconds": 599.5 })).await;
    assert_eq!(moved.status, 200);
    assert_eq!(moved.json()["advanced_seconds"], 599.5);
    let now = |time: &Value| time["now"].as_i64().expect("seconds");
    assert!(now(&moved.json()) - now(&before) >= 599);

    let login = world.settled(GOOGLE).await;
    post(&world, "/api/clock/advance", json!({ "seconds": 600 })).await;
    world.backend.result(&login.session_key).await.is_refused();
}

#[tokio::test]
async fn the_clock_never_goes_back() {
    let world = World::start().await;
    for seconds in [
        json!(-1),
        json!(-0.001),
        json!(1e300),
        json!("600"),
        json!(null),
    ] {
        let reply = post(&world, "/api/clock/advance", json!({ "seconds": seconds })).await;
        refuses(&reply, 400, "");
    }
    refuses(
        &post(&world, "/api/clock/advance", json!({})).await,
        400,
        "seconds",
    );
    let time = get(&world, "/api/clock").await.json();
    assert_eq!(time["advanced_seconds"], 0.0);
}

#[tokio::test]
async fn a_provider_can_be_made_to_ask_and_to_answer_by_itself() {
    let world = World::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}");
        put(&world, &path, json!({ "mode": "interactive" }))
            .await
            .is(204, "");
        let login = world.backend.start_login(provider).await;
        let end = Browser::new().follow(&login.authorization_url).await;
        assert!(
            end.url.starts_with(world.upstream(provider).url()),
            "{}",
            end.url
        );
        assert_eq!(end.reply.expect("a page").status, 200);

        put(&world, &path, json!({ "mode": "automatic" }))
            .await
            .is(204, "");
        world.sign_in(Flow::Clean, provider).await.is_ada(provider);
    }
}

#[tokio::test]
async fn the_issuer_in_the_callback_can_be_switched() {
    let world = World::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}");
        for (switch, success, error) in [
            ("off", false, false),
            ("on", true, false),
            ("errors", true, true),
        ] {
            put(&world, &path, json!({ "iss": switch }))
                .await
                .is(204, "");
            let begun = world.halfway(Flow::Clean, provider).await;
            assert_eq!(begun.answer.contains("iss="), success, "{switch}");
            begun.finish(&world.backend).await.is_ada(provider);

            world.next_goes_wrong(provider, Misbehaviour::Deny);
            let begun = world.halfway(Flow::Clean, provider).await;
            assert_eq!(begun.answer.contains("iss="), error, "{switch}");
            begun.finish(&world.backend).await.is_error("access_denied");
        }
    }
}

#[tokio::test]
async fn logins_go_on_while_googles_keys_are_rotated() {
    let world = World::start().await;
    world.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    for _ in 0..3 {
        let rotated = world
            .control(Method::POST, "/api/upstreams/google/keys/rotate", None)
            .await;
        rotated.is(204, "");
        // The broker asks for keys it does not know at most once a while.
        world.advance_seconds(3_600);
        world.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    }
}

#[tokio::test]
async fn a_queued_person_signs_in_once_and_then_the_default_again() {
    let world = World::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}/next");
        let person = json!({
            "id": "42",
            "name": "Somebody",
            "username": "somebody",
            "email": "somebody@people.example",
            "email_verified": true,
            "picture": "https://pictures.example/42",
        });
        let bare = json!({ "id": "43" });
        for person in [person, bare] {
            let queued = post(&world, &path, json!({ "person": person })).await;
            assert_eq!(queued.status, 201, "{}", queued.body);
        }
        let first = world.sign_in(Flow::Clean, provider).await.profile();
        assert_eq!(first["name"], "Somebody");
        assert_eq!(first["emailVerified"], true);
        let second = world.sign_in(Flow::Legacy, provider).await.profile();
        assert_eq!(second["providerSubject"], "43");
        assert_eq!(second["email"], Value::Null);
        world.sign_in(Flow::Clean, provider).await.is_ada(provider);
    }
}

#[tokio::test]
async fn a_queued_misbehaviour_happens_once_and_is_documented() {
    let world = World::start().await;
    for provider in PROVIDERS {
        let path = format!("/api/upstreams/{provider}/misbehaviours");
        let documented = get(&world, &path).await.json();
        let documented = documented.as_array().expect("a list");
        for misbehaviour in documented {
            let members = misbehaviour.as_object().expect("an object").keys();
            let members: HashSet<_> = members.map(String::as_str).collect();
            assert_eq!(members, HashSet::from(["name", "says", "error"]));
            let says = misbehaviour["says"].as_str();
            assert!(says.is_some_and(|says| says.ends_with('.')));
        }
        let name = documented[0]["name"].clone();
        let next = format!("/api/upstreams/{provider}/next");
        let queued = post(&world, &next, json!({ "misbehave": name })).await;
        assert_eq!(queued.status, 201, "{}", queued.body);
        let error = documented[0]["error"].as_str().expect("a word");
        world.sign_in(Flow::Clean, provider).await.is_error(error);
        world.sign_in(Flow::Clean, provider).await.is_ada(provider);
    }
}

#[tokio::test]
async fn the_journal_shows_what_was_asked_without_its_secrets() {
    let world = World::start().await;
    for provider in PROVIDERS {
        let begun = world.halfway(Flow::Clean, provider).await;
        begun.finish(&world.backend).await.is_ada(provider);
        let journal = get(&world, &format!("/api/upstreams/{provider}/requests")).await;
        assert_eq!(journal.status, 200);
        let code = url::Url::parse(&begun.answer).expect("a URL");
        let (_, code) = code
            .query_pairs()
            .find(|(name, _)| name == "code")
            .expect("a code");
        assert!(!journal.body.contains(&*code));
        assert!(journal.body.contains("[masked]"));
        let entries = journal.json();
        let entries = entries.as_array().expect("a list");
        let tokens: Vec<_> = entries
            .iter()
            .filter(|entry| entry["method"] == "POST")
            .collect();
        assert_eq!(tokens.len(), 1);
        assert_eq!(tokens[0]["status"], 200);
        assert_eq!(tokens[0]["query"], "");
        assert!(tokens[0]["at"].is_i64());
    }
}

#[tokio::test]
async fn what_does_not_exist_is_refused_with_a_list_of_what_does() {
    let world = World::start().await;
    let valid = |words: &'static [&'static str]| words;
    let check = async |method: Method, path: &str, body: Value, words: &[&str]| {
        let reply = world.control(method, path, Some(body)).await;
        for word in words {
            refuses(&reply, 400, word);
        }
    };
    let providers = valid(&["google", "github"]);
    check(Method::PUT, "/api/upstreams/gitlab", json!({}), providers).await;
    check(
        Method::POST,
        "/api/upstreams/gitlab/next",
        json!({}),
        providers,
    )
    .await;
    for path in ["misbehaviours", "requests"] {
        let reply = get(&world, &format!("/api/upstreams/gitlab/{path}")).await;
        refuses(&reply, 400, "google");
    }
    for provider in PROVIDERS {
        let upstream = format!("/api/upstreams/{provider}");
        let next = format!("{upstream}/next");
        let modes = valid(&["interactive", "automatic"]);
        check(Method::PUT, &upstream, json!({ "mode": "x" }), modes).await;
        let switches = valid(&["on", "off", "errors"]);
        check(Method::PUT, &upstream, json!({ "iss": "x" }), switches).await;
        check(
            Method::PUT,
            &upstream,
            json!({ "x": "on" }),
            &["mode", "iss"],
        )
        .await;
        let names: Vec<_> = world
            .upstream(provider)
            .misbehaviours()
            .iter()
            .map(|it| it.name())
            .collect();
        check(Method::POST, &next, json!({ "misbehave": "x" }), &names).await;
        check(Method::POST, &next, json!({}), &["person", "misbehave"]).await;
        let both = json!({ "person": { "id": "1" }, "misbehave": "deny" });
        check(Method::POST, &next, both, &["person", "misbehave"]).await;
        check(Method::POST, &next, json!({ "person": {} }), &["id"]).await;
        check(
            Method::POST,
            &next,
            json!({ "person": { "id": 1 } }),
            &["id"],
        )
        .await;
    }
    check(
        Method::POST,
        "/api/upstreams/github/next",
        json!({ "misbehave": "wrong_nonce" }),
        &["deny"],
    )
    .await;
    // Nothing of all that was queued.
    world.sign_in(Flow::Clean, GITHUB).await.is_ada(GITHUB);
}

#[tokio::test]
async fn its_page_lists_the_calls_and_loads_nothing_foreign() {
    let world = World::start().await;
    let page = get(&world, "/calls").await;
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    for call in [
        "GET /api/stack",
        "POST /api/reset",
        "POST /api/clock/advance",
    ] {
        assert!(page.body.contains(call), "{call}");
    }
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

// A new world.

#[tokio::test]
async fn a_reset_begins_a_new_world_in_which_logins_work() {
    let world = World::start().await;
    world.advance_seconds(10_000);
    let settled = world.settled(GOOGLE).await;
    let (transaction, code) = world.with_code(GOOGLE).await;
    let (used, used_code) = world.with_code(GOOGLE).await;
    let token = world.backend.token(&used, &used_code).await;
    let demo = Browser::new();
    let home = world.demo("/");
    let end = demo
        .press_until(&home, &world.demo("/login/google"), "nowhere:")
        .await;
    assert_eq!(end.url, world.demo("/profile"));
    put(
        &world,
        "/api/upstreams/google",
        json!({ "mode": "interactive" }),
    )
    .await;
    world.next_goes_wrong(GOOGLE, Misbehaviour::Deny);
    let projects = get(&world, "/api/projects").await.body;

    world
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");

    assert_eq!(
        get(&world, "/api/clock").await.json()["advanced_seconds"],
        0.0
    );
    world
        .backend
        .result(&settled.session_key)
        .await
        .is_refused();
    world.backend.redeem(&transaction, &code).await.is_refused();
    assert_eq!(world.backend.profile(&token).await.status, 401);
    assert_eq!(demo.type_in(&world.demo("/profile")).await.url, home);
    assert_eq!(
        get(&world, "/api/upstreams/google/requests").await.body,
        "[]"
    );
    assert_eq!(get(&world, "/api/projects").await.body, projects);
    for flow in FLOWS {
        for provider in PROVIDERS {
            world.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    let end = demo
        .press_until(&home, &world.demo("/login/google"), "nowhere:")
        .await;
    assert_eq!(end.url, world.demo("/profile"));
}

#[tokio::test]
async fn a_trip_of_the_old_world_is_a_strangers_in_the_new_one() {
    let world = World::start().await;
    let begun = world.halfway(Flow::Clean, GOOGLE).await;
    world
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");
    let page = begun.browser.open(&begun.answer).await;
    page.is_page(400, "This sign-in did not begin in this browser");
}

#[tokio::test]
async fn a_key_of_the_old_world_is_fresh_in_the_new_one() {
    let world = World::start().await;
    let login = world.backend.start_login(GOOGLE).await;
    world
        .control(Method::POST, "/api/reset", None)
        .await
        .is(204, "");
    let again = world.backend.start_with(&login.session_key, GOOGLE).await;
    assert_eq!(again.status, 200, "{}", again.body);
}

#[tokio::test]
async fn a_body_that_is_broken_or_huge_is_refused() {
    let world = World::start().await;
    let url = format!("{}/api/clock/advance", world.stack.urls().control);
    for body in ["", "{", "[]", "{\"seconds\":1}x", "{\"seconds\":1,\"x\":2}"] {
        let request = client()
            .post(&url)
            .header("Content-Type", "application/json");
        refuses(&send(request.body(body)).await, 400, "");
    }
    let huge = format!("{{\"seconds\":1}}{}", " ".repeat(100_000));
    let request = client()
        .post(&url)
        .header("Content-Type", "application/json");
    refuses(&send(request.body(huge)).await, 400, "64 KiB");
}

#[tokio::test]
async fn a_call_that_does_not_exist_says_where_the_calls_are_listed() {
    let world = World::start().await;
    refuses(&get(&world, "/api/nothing").await, 404, "listed at /calls");
}

#[track_caller]
fn refuses(reply: &Reply, status: u16, word: &str) {
    assert_eq!(reply.status, status, "{}", reply.body);
    let body = reply.json();
    assert_eq!(body["error"], "control_refused");
    let message = body["message"].as_str().expect("a sentence");
    assert!(message.contains(word), "{word} in {message}");
}

async fn get(world: &World, path: &str) -> Reply {
    world.control(Method::GET, path, None).await
}

async fn post(world: &World, path: &str, body: Value) -> Reply {
    world.control(Method::POST, path, Some(body)).await
}

async fn put(world: &World, path: &str, body: Value) -> Reply {
    world.control(Method::PUT, path, Some(body)).await
}
