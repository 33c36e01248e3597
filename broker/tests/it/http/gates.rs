//! What holds for every path: no secret in a URL, no answer to a prefetch.

use reqwest::Method;

use super::world::{Answer, Browser, CALLBACK, World, authorize_path, back_path};

const ANYWHERE: [&str; 12] = [
    "/v1/login/session",
    "/v1/login/result",
    "/v1/token",
    "/v1/profile",
    "/v1/revoke",
    "/api/providers",
    "/authorize",
    "/login/handle",
    "/callback/github",
    "/style.css",
    "/",
    "/nowhere/at/all",
];

#[tokio::test]
async fn a_secret_in_the_query_of_any_path_is_refused_before_anything_else() {
    let world = World::start().await;
    for path in ANYWHERE {
        for query in [
            "client_secret=x",
            "session_key=x",
            "code_verifier=x",
            "client_secret=",
            "client_secret",
            "a=b&session_key=x&c=d",
            "client%5Fsecret=x",
            "%63lient_secret=x",
        ] {
            for verb in [Method::GET, Method::POST, Method::PUT, Method::OPTIONS] {
                let request = world.request(verb, &format!("{path}?{query}"));
                let answer = Answer::to(request).await;
                assert_eq!(answer.status, 400, "{path}?{query}");
                answer.is_refused(400);
                let rule = match query.contains("code_verifier") {
                    true => "request.verifier_in_url",
                    false => "request.secret_in_url",
                };
                assert_eq!(world.last_rule(), Some(rule));
            }
        }
    }
}

#[tokio::test]
async fn a_secret_in_the_url_of_an_authorization_never_leads_on() {
    let world = World::start().await;
    for (name, rule) in [
        ("client_secret", "request.secret_in_url"),
        ("session_key", "request.secret_in_url"),
        ("code_verifier", "request.verifier_in_url"),
    ] {
        let path = format!("{}&{name}=x", authorize_path());
        let answer = Browser::of(&world).get(&path).await;
        answer.is_refusal_page(400, rule);
        assert!(!answer.body.contains("state"), "{}", answer.body);
    }
}

#[tokio::test]
async fn any_other_parameter_is_ignored() {
    let world = World::start().await;
    for query in [
        "foo=1",
        "Client_Secret=x",
        "client_secret2=x",
        "next=https://evil.test/",
        "redirect=//evil.test",
        "a=client_secret",
    ] {
        let answer = world.get(&format!("/api/providers?{query}")).await;
        assert_eq!(answer.status, 200, "{query}");
    }
}

#[tokio::test]
async fn a_prefetch_is_answered_503_and_changes_nothing() {
    let world = World::start().await;
    let path = world.session(1).await;
    let browser = Browser::of(&world);
    let names = [
        ("Sec-Purpose", "prefetch"),
        ("Sec-Purpose", "prefetch;prerender"),
        ("Sec-Purpose", "prefetch; anonymous-client-ip"),
        ("Sec-Purpose", "PREFETCH"),
        ("Sec-Purpose", "Prefetch;Prerender"),
        ("Sec-Purpose", " prefetch ; anonymous-client-ip"),
        ("Sec-Purpose", "prefetch;prerender;x=1"),
        ("Purpose", "prefetch"),
        ("purpose", "Prefetch"),
        ("X-Moz", "prefetch"),
        ("X-Moz", "PREFETCH"),
    ];
    for (header, value) in names {
        for path in [&path, &authorize_path()] {
            let scout = Browser::of(&world).saying(header, value);
            let answer = scout.get(path).await;
            answer.is_refusal_page(503, "request.prefetch");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
    }
    let away = browser.get(&path).await;
    assert_eq!(away.status, 303, "the login is still free");
    let back = back_path(&away, "code=upstream-code");
    let cookie = browser.cookies().into_iter().next().unwrap();
    for (header, value) in names {
        let request = world
            .request(Method::GET, &back)
            .header("Cookie", format!("{}={}", cookie.0, cookie.1))
            .header(header, value);
        Answer::to(request).await.is_refused(503);
    }
    assert_eq!(world.calls_upstream().await, 0);
    browser.get(&back).await.goes_to(CALLBACK);
}

#[tokio::test]
async fn another_purpose_is_no_prefetch() {
    let world = World::start().await;
    for (header, value) in [
        ("Sec-Purpose", ""),
        ("Sec-Purpose", "preview"),
        ("Purpose", "navigation;prefetch"),
        ("X-Moz", "prefetched"),
    ] {
        let path = "/api/providers";
        let request = world.request(Method::GET, path).header(header, value);
        assert_eq!(Answer::to(request).await.status, 200, "{header}: {value}");
    }
}
