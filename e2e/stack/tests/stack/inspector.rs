//! The inspector's pages and their forms. The rows of a diagram are tested beside the code.

use reqwest::header::{CONTENT_TYPE, ORIGIN, REFERER};
use serde_json::{Value, json};
use testkit::fresh;
use testkit::http::{Http, Request, Response};
use testkit::login::{Flow, GITHUB, GOOGLE};

use crate::control::get;
use crate::test_stack::TestStack;

async fn page(stack: &TestStack, path: &str) -> String {
    let response = get(stack, path).await;
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    response.text().to_owned()
}

/// Asserts that the page at `path` contains all of `words`.
async fn shows(stack: &TestStack, path: &str, words: &[&str]) {
    let page = page(stack, path).await;
    for words in words {
        assert!(page.contains(words), "{words} in {page}");
    }
}

/// The first event of this operation, and the path of its login.
async fn call_of(stack: &TestStack, operation: &str) -> (Value, String) {
    let events = get(stack, "/api/events").await.json();
    let mut events = events.as_array().expect("a list").iter();
    let call = events.find(|event| event["operation"] == operation);
    let call = call.expect("such a call").clone();
    let path = format!("/logins/{}", call["login"].as_str().expect("a login"));
    (call, path)
}

#[tokio::test]
async fn the_newest_login_is_drawn_with_every_call() {
    let stack = TestStack::start().await;
    assert!(!page(&stack, "/").await.contains("/others"));
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    stack.sign_in(Flow::Legacy, GITHUB).await.is_ada(GITHUB);
    let drawn = [
        "<h1 id=\"sequence-title\">Browser authorization with GitHub</h1>",
        "Browser to Broker: GET /authorize\"",
        "Broker to GitHub: POST token",
        "Your app to Broker: POST /v1/token\"",
        "Broker to Your app: 200 profile: Ada Lovelace\"",
        "A test&#39;s app",
        // The other one is in the list.
        "Google · clean",
    ];
    shows(&stack, "/", &drawn).await;
    for absent in [": POST /v1/login/session\"", "A test's app"] {
        assert!(!page(&stack, "/").await.contains(absent), "{absent}");
    }

    // A call that belongs to no login is found too.
    stack.backend.providers().await;
    let refused = stack.backend.post("/v1/login/result", &json!({})).await;
    refused.is_refusal(400);
    let others = [
        "✕ 1<span class=\"words\"> refused</span>",
        "<h1 id=\"sequence-title\">Other requests</h1>",
        "Your app to Broker: POST /v1/login/result",
        "✕ The body lacks",
    ];
    for path in ["/", "/others"] {
        shows(&stack, path, &others).await;
    }
}

#[tokio::test]
async fn g7_the_page_of_a_login_with_very_many_calls_shows_its_beginning_and_its_end() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    let mut wrong = stack.backend.result_body(&login.session_key);
    wrong["redirect_uri"] = json!(format!("{}/", stack.backend.callback));
    for _ in 0..200 {
        stack.backend.result(&login.session_key).await;
    }
    let reads = "Your app to Broker: POST /v1/login/result";
    let first = page(&stack, "/").await;
    assert!(
        first.contains("the same call and answer × 198, over"),
        "{first}"
    );
    // In the diagram and in its text.
    assert_eq!(first.matches(reads).count(), 4);
    for _ in 0..100 {
        stack.backend.result(&login.session_key).await;
        stack.backend.post("/v1/login/result", &wrong).await;
    }
    let last = page(&stack, "/").await;
    for shown in [
        ": POST /v1/login/session",
        "calls are left out here",
        "as above",
    ] {
        assert!(last.contains(shown), "{shown} in {last}");
    }
    assert!((100..=200).contains(&last.matches(reads).count()));
    assert!(last.len() < 500_000, "{} bytes", last.len());
}

#[tokio::test]
async fn an_arrow_links_to_its_http_exchange() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let (call, login) = call_of(&stack, "POST /v1/login/session").await;
    let path = format!("{login}?call={}", call["request_id"].as_str().expect("one"));
    shows(&stack, &login, &[&format!("href=\"{path}\"")]).await;
    let exchange = [
        "id=\"exchange\"",
        "<code>POST /v1/login/session</code>",
        "<code>200 OK</code>",
        "x-request-id",
        "A login is pending.",
        "&#34;client_secret&#34;: &#34;[masked",
        "&#34;expires_in&#34;: 600",
        "aria-current=\"true\"",
    ];
    shows(&stack, &path, &exchange).await;
    for call in ["unknown", "%22%3E%3Cscript%3E", &fresh::secret()] {
        let page = page(&stack, &format!("/?call={call}")).await;
        assert!(!page.contains("id=\"exchange\"") && !page.contains("<script>"));
    }
}

#[tokio::test]
async fn an_unknown_login_is_a_page_that_says_so() {
    let stack = TestStack::start().await;
    for path in ["/logins/unknown", "/logins/%3Cscript%3E"] {
        let response = get(&stack, path).await;
        assert_eq!(response.status, 404, "{path}");
        assert!(response.text().contains("This login is unknown"));
        assert!(!response.text().contains("<script>"));
    }
    assert_eq!(get(&stack, "/logins/unknown/diagram.svg").await.status, 404);
}

#[tokio::test]
async fn a_path_without_a_page_is_a_page_for_browsers_alone() {
    let stack = TestStack::start().await;
    let control = Http::at(&stack.urls().control);
    let html = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
    for (path, accept, media_type) in [
        ("/nope/%3Cscript%3E", html, "text/html; charset=utf-8"),
        ("/nope", "*/*", "application/json"),
        ("/api/nope", html, "application/json"),
    ] {
        let response = control.get(path).header("Accept", accept).send().await;
        assert_eq!(response.status, 404, "{path}");
        assert_eq!(response.header("content-type"), Some(media_type), "{path}");
        assert!(!response.text().contains("<script>"), "{path}");
    }
}

#[tokio::test]
async fn pages_and_pictures_take_no_script_and_no_style_but_their_own() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let (_, login) = call_of(&stack, "POST /v1/login/session").await;
    let picture = format!("{login}/diagram.svg");
    let page = "default-src 'none'; script-src 'self'; style-src 'self'";
    for (path, media_type, policy) in [
        ("/", "text/html; charset=utf-8", page),
        ("/calls", "text/html; charset=utf-8", page),
        ("/others", "text/html; charset=utf-8", page),
        (
            &picture,
            "image/svg+xml",
            "default-src 'none'; style-src 'sha256-",
        ),
        ("/live.js", "text/javascript", ""),
        ("/inspector.css", "text/css; charset=utf-8", ""),
        ("/diagram.css", "text/css; charset=utf-8", ""),
        ("/icon.svg", "image/svg+xml", ""),
    ] {
        let response = get(&stack, path).await;
        assert_eq!(response.header("content-type"), Some(media_type), "{path}");
        let sent = response.header("content-security-policy");
        for part in policy.split("; ") {
            assert!(sent.is_some_and(|it| it.contains(part)), "{path}: {sent:?}");
        }
        assert!(
            sent.is_none_or(|it| !it.contains("unsafe")),
            "{path}: {sent:?}"
        );
        for word in [
            "<script>",
            " style=",
            " onclick=",
            "src=\"http",
            "//cdn",
            "@import",
        ] {
            assert!(!response.text().contains(word), "{path}: {word}");
        }
    }
}

const FORMS: &[(&str, &str)] = &[
    ("/do/advance", "seconds=600"),
    ("/do/misbehave", "provider=google&misbehaviour=deny"),
    ("/do/take-back", "provider=google&id=1"),
    ("/do/disarm", "id=1"),
    ("/do/strike", "operation=POST+%2Fv1%2Ftoken&fault=refuse"),
    ("/do/clear", ""),
    ("/do/send-again", "call=x"),
    ("/do/let-go", "id=1"),
    ("/do/reset", ""),
    ("/do/lesson", "lesson=relay"),
    ("/do/guard", "guard=off"),
    ("/do/attack", "flow=clean"),
    ("/do/attack/read", "login=any"),
];

#[tokio::test]
async fn the_clock_is_advanced_and_the_page_shows_by_how_much() {
    let stack = TestStack::start().await;
    shows(&stack, "/", &["The system’s time"]).await;
    for seconds in [60, 600, 900] {
        let form = format!("seconds={seconds}");
        own(&stack, "/do/advance", &form)
            .await
            .redirects_to("/calls");
    }
    shows(&stack, "/", &["<strong>26 minutes ahead</strong>"]).await;
    assert!((1_560_000..1_561_000).contains(&stack.clock().advanced_ms()));
}

#[tokio::test]
async fn what_is_planned_is_shown_and_taken_back_one_by_one() {
    let stack = TestStack::start().await;
    for name in ["deny", "timeout"] {
        let form = format!("provider=github&misbehaviour={name}");
        own(&stack, "/do/misbehave", &form).await;
        let form = "operation=POST+%2Fv1%2Ftoken&fault=refuse";
        own(&stack, "/do/strike", form).await;
    }
    let both = ["GitHub: <code>deny</code>", "GitHub: <code>timeout</code>"];
    shows(&stack, "/", &both).await;
    for (path, form) in [
        ("/do/take-back", "provider=github&id=1"),
        ("/do/disarm", "id=1"),
    ] {
        own(&stack, path, form).await.redirects_to("/calls");
    }
    shows(&stack, "/", &both[1..]).await;
    assert!(!page(&stack, "/").await.contains(both[0]));
    let armed: Vec<_> = stack.faults().armed().into_iter().map(|it| it.id).collect();
    assert_eq!(armed, [2]);
    own(&stack, "/do/clear", "").await.redirects_to("/calls");
    assert!(stack.faults().armed().is_empty());
    own(&stack, "/do/take-back", "provider=github&id=2").await;
    shows(&stack, "/", &["Nothing is planned."]).await;
    own(&stack, "/do/reset", "").await.redirects_to("/");
    shows(&stack, "/", &["No login yet"]).await;
}

#[tokio::test]
async fn a_call_is_sent_again_and_the_broker_refuses_the_second() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let events = get(&stack, "/api/events").await.json();
    let read = events.as_array().expect("a list").last().expect("a read");
    let call = read["request_id"].as_str().expect("an id").to_owned();
    let login = read["login"].as_str().expect("a login");
    let page = format!("{}/logins/{login}", stack.urls().control);
    let again = form(&stack, "/do/send-again", &format!("call={call}"));
    let opened = again.header(REFERER, format!("{page}?call={call}"));
    let opened = opened.send().await;
    assert_eq!(opened.status, 303);
    let target = opened.header("location").expect("a target");
    let is_of_login = target.starts_with(&format!("/logins/{login}?call="));
    assert!(is_of_login && !target.ends_with(&call), "{target}");
    // The rule, its source and its advice are on the page, too.
    let refused = [
        "is sent again",
        "class=\"step refused\"",
        "The result was read before",
        "Source: the specification, “",
    ];
    shows(&stack, target, &refused).await;
}

#[tokio::test]
async fn no_other_page_can_send_a_form_and_none_leads_away() {
    let stack = TestStack::start().await;
    let control = stack.urls().control.clone();
    for &(path, body) in FORMS {
        for origin in ["", "null", "https://evil.example", "http://127.0.0.1:1"] {
            let form = Http::at(&control).post(path).body(body);
            let form = form.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            let form = match origin {
                "" => form,
                _ => form.header(ORIGIN, origin),
            };
            assert_eq!(form.send().await.status, 403, "{path} {origin:?}");
        }
    }
    let json = Http::at(&control)
        .post("/do/advance")
        .header(ORIGIN, &control);
    let json = json.json(&json!({ "seconds": 600 })).send().await;
    assert_eq!(json.status, 415, "a form is sent as a form");
    assert_eq!(stack.clock().advanced_ms(), 0);
    assert!(stack.upstream().google().queued().is_empty());
    assert!(stack.faults().armed().is_empty());

    for referer in [
        "https://evil.example/",
        "",
        &format!("{control}//evil.example"),
        // No address: it was once answered 500, with the form obeyed.
        &format!("{control}/logins/{{x}} y"),
    ] {
        let form = form(&stack, "/do/clear", "").header(REFERER, referer);
        form.send().await.redirects_to("/");
    }
}

/// Sends the form as the page at `/calls` would.
async fn own(stack: &TestStack, path: &str, body: &str) -> Response {
    let page = format!("{}/calls", stack.urls().control);
    form(stack, path, body).header(REFERER, page).send().await
}

fn form(stack: &TestStack, path: &str, body: &str) -> Request {
    let control = &stack.urls().control;
    let form = Http::at(control).post(path).header(ORIGIN, control);
    form.header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(body.to_owned())
}
