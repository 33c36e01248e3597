//! The page that asks: who sees it, what its two buttons do, and that nothing
//! happens without them.

use broker::relay::{RelayGuard, SelectAccount};
use reqwest::Method;

use super::world::{
    ADA_SECRET, Answer, BASE, Browser, CALLBACK, LOCAL_CALLBACK, World, authorize_path, parameter,
    project, session_body, with,
};

const EVIL: &str = "https://evil.example/";

/// A world in which Ada's project is guarded otherwise.
async fn guarded(change: impl Fn(&mut broker::projects::Project)) -> World {
    World::start_with(|config| change(&mut config.projects[0])).await
}

impl Answer {
    #[track_caller]
    pub(super) fn asks(&self) {
        assert_eq!(self.status, 200, "{}", self.body);
        assert!(
            self.body.contains("data-question=\"relay\""),
            "{}",
            self.body
        );
        assert_eq!(self.location(), None);
        assert_eq!(self.set_cookies(), Vec::<String>::new());
    }
}

/// What the last operation left in the audit: where it began, and its rule.
fn told(world: &World) -> (&'static str, Option<&'static str>) {
    let event = world.events().pop().unwrap();
    let rule = event.rule.map(contract::Rule::id);
    (event.provenance.unwrap().as_str(), rule)
}

#[tokio::test]
async fn a_visit_that_is_not_vouched_for_is_asked_and_leaves_the_login_alone() {
    let world = World::start().await;
    let path = world.session(1).await;
    let navigation = [
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let whole = |site, more: &[(&'static str, &'static str)]| {
        let headers = [&navigation[..], &[("Sec-Fetch-Site", site)], more].concat();
        Browser::dressed(&world, &headers)
    };
    let home = [("Referer", "https://app.example/")];
    for (visitor, provenance) in [
        (whole("cross-site", &[("Referer", EVIL)]), "foreign"),
        (whole("cross-site", &[("Referer", "junk")]), "foreign"),
        (whole("cross-site", &[]), "no_referrer"),
        (whole("none", &[]), "typed"),
        (whole("none", &home), "typed"),
        (Browser::dressed(&world, &[]), "no_metadata"),
        (Browser::dressed(&world, &home), "no_metadata"),
        (
            Browser::dressed(&world, &[("User-Agent", "Slackbot 1.0")]),
            "no_metadata",
        ),
        (
            Browser::of(&world).saying("Sec-Fetch-Dest", "iframe"),
            "embedded",
        ),
        (Browser::of(&world).saying("Referer", EVIL), "foreign"),
    ] {
        visitor.get(&path).await.asks();
        assert_eq!(told(&world), (provenance, Some("relay.start_origin")));
        assert!(!world.events().pop().unwrap().committed());
    }
    assert_eq!(world.result(1).await.json()["status"], "pending");
    let browser = Browser::of(&world);
    let away = browser.get(&path).await;
    assert_eq!(away.status, 303, "nobody has claimed it");
    assert_eq!(told(&world), ("vouched", None));
    browser.come_back(&away, "code=upstream-code").await;
    assert_eq!(world.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn the_page_names_project_and_host_and_carries_its_own_headers() {
    let world = guarded(|ada| ada.name = "<b>Ada</b>".parse().unwrap()).await;
    let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    let path = world.session_with(&body).await;
    let page = Browser::at(&world, EVIL).get(&path).await;
    page.asks();
    assert!(
        page.body.contains("&#60;b&#62;Ada&#60;/b&#62;"),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("<span>at localhost:3000</span>"),
        "{}",
        page.body
    );
    assert!(page.body.contains("GitHub"));
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    let policy = page.header("content-security-policy").unwrap();
    assert_eq!(
        policy,
        "default-src 'none'; style-src 'self'; script-src 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    );
    let script = world.get("/question.js").await;
    assert_eq!(script.status, 200);
    assert_eq!(script.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(script.header("content-type"), Some("text/javascript"));
    for action in ["continue", "cancel"] {
        let form = format!("<form method=\"post\" action=\"{path}/{action}\"");
        assert!(page.body.contains(&form), "{}", page.body);
    }
}

#[tokio::test]
async fn continue_claims_the_login_and_goes_on_without_a_fragment() {
    let world = World::start().await;
    let path = world.session(1).await;
    let browser = Browser::at(&world, EVIL);
    browser.get(&path).await.asks();
    let away = browser.press(&format!("{path}/continue")).await;
    assert_eq!(away.status, 303);
    let to_provider = away.location().unwrap();
    assert!(
        to_provider.starts_with(&world.github.uri()),
        "{to_provider}"
    );
    assert!(to_provider.ends_with('#'), "{to_provider}");
    assert_eq!(parameter(to_provider, "prompt").unwrap(), "select_account");

    // It is this browser's now: it is not asked again, and nobody else is.
    assert_eq!(browser.get(&path).await.status, 303);
    let other = Browser::of(&world);
    let refused = other.press(&format!("{path}/continue")).await;
    assert_eq!(
        (refused.status, world.last_rule()),
        (410, Some("handle.one_browser"))
    );
    let late = other.press(&format!("{path}/cancel")).await;
    assert_eq!(
        (late.status, world.last_rule()),
        (410, Some("handle.one_browser"))
    );
    assert_eq!(world.calls_upstream().await, 0);

    browser
        .come_back(&away, "code=upstream-code")
        .await
        .goes_to(CALLBACK);
    assert_eq!(world.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn of_eight_who_continue_at_once_one_gets_the_login() {
    let world = World::start().await;
    let path = format!("{}/continue", world.session(1).await);
    let browsers: Vec<_> = (0..8).map(|_| Browser::of(&world)).collect();
    let mut everybody = browsers.iter();
    let answers = super::world::all(8, || everybody.next().unwrap().press(&path)).await;
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 410, 410, 410, 410, 410, 410, 410]);
}

#[tokio::test]
async fn cancel_ends_the_login_at_once_and_once() {
    let world = World::start().await;
    let path = world.session(1).await;
    let browser = Browser::at(&world, EVIL);
    browser.get(&path).await.asks();
    let home = browser.press(&format!("{path}/cancel")).await;
    home.goes_to(CALLBACK);
    assert_eq!(world.last_rule(), Some("relay.cancelled"));
    assert!(world.events().pop().unwrap().committed());
    let result = world.result(1).await;
    assert_eq!(
        result.body,
        r#"{"status":"failed","error":"access_denied"}"#
    );
    world.result(1).await.is_refused(400);
    assert_eq!(world.calls_upstream().await, 0);

    // Whoever comes now goes home.
    browser
        .press(&format!("{path}/continue"))
        .await
        .goes_to(CALLBACK);
    Browser::of(&world).get(&path).await.goes_to(CALLBACK);
}

#[tokio::test]
async fn a_button_counts_on_our_own_page_alone() {
    let world = World::start().await;
    let path = world.session(1).await;
    let elsewhere: [&[(&str, &str)]; 8] = [
        &[],
        &[("Origin", "null")],
        &[("Origin", "https://evil.example")],
        &[("Origin", "https://app.example")],
        &[("Origin", "http://127.0.0.1:8001")],
        &[("Origin", BASE), ("Origin", BASE)],
        &[("Origin", BASE), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", BASE), ("Sec-Fetch-Site", "none")],
    ];
    for headers in elsewhere {
        for action in ["continue", "cancel"] {
            let path = format!("{path}/{action}");
            let answer = Browser::of(&world).press_at(&path, headers).await;
            answer.is_refused(403);
            assert_eq!(world.last_rule(), Some("relay.own_page"), "{headers:?}");
        }
    }
    let page = [("Accept", "text/html")];
    let answer = Browser::of(&world)
        .press_at(&format!("{path}/continue"), &page)
        .await;
    answer.is_refusal_page(403, "relay.own_page");
    assert_eq!(world.result(1).await.json()["status"], "pending");
    assert_eq!(Browser::of(&world).get(&path).await.status, 303);
    // A browser that tells nothing but the origin can press them too.
    let path = world.session(2).await;
    let away = Browser::plain(&world)
        .press_at(&format!("{path}/continue"), &[("Origin", BASE)])
        .await;
    assert_eq!(away.status, 303);
}

#[tokio::test]
async fn the_buttons_of_a_login_that_is_over_or_unknown_do_nothing() {
    let world = World::start().await;
    let path = world.session(1).await;
    world.pass_ms(600_000);
    for action in ["continue", "cancel"] {
        let late = Browser::of(&world).press(&format!("{path}/{action}")).await;
        late.goes_to(CALLBACK);
        let unknown = Browser::of(&world)
            .press(&format!("/login/x/{action}"))
            .await;
        assert_eq!(
            (unknown.status, world.last_rule()),
            (404, Some("handle.known"))
        );
    }
    world.result(1).await.is_refused(400);
}

#[tokio::test]
async fn where_everybody_is_asked_no_scanner_and_no_curl_claims() {
    let world = guarded(|ada| ada.relay_guard = RelayGuard::Always).await;
    let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    let path = world.session_with(&body).await;
    let look = Answer::to(world.request(Method::HEAD, &path)).await;
    assert_eq!((look.status, look.location()), (200, None));
    let ahead = Browser::at_local(&world).saying("Sec-Purpose", "prefetch");
    assert_eq!(ahead.get(&path).await.status, 503);
    let bot = Browser::dressed(&world, &[("User-Agent", "Slackbot-LinkExpanding 1.0")]);
    bot.get(&path).await.asks();
    Browser::plain(&world).get(&path).await.asks();
    let browser = Browser::at_local(&world);
    let page = browser.get(&path).await;
    page.asks();
    assert_eq!(told(&world), ("vouched", None));
    assert!(page.body.contains("at every sign-in"), "{}", page.body);
    let away = browser.press(&format!("{path}/continue")).await;
    let home = browser.come_back(&away, "code=upstream-code").await;
    home.goes_to(LOCAL_CALLBACK);
}

#[tokio::test]
async fn where_nobody_is_asked_the_audit_log_still_knows_where_a_visit_began() {
    let world = guarded(|ada| ada.relay_guard = RelayGuard::Off).await;
    let path = world.session(1).await;
    assert_eq!(Browser::at(&world, EVIL).get(&path).await.status, 303);
    assert_eq!(told(&world), ("foreign", None));
    assert_eq!(Browser::of(&world).get(&path).await.status, 410);
}

#[tokio::test]
async fn start_origins_stand_in_the_place_of_the_callbacks() {
    let world = guarded(|ada| {
        ada.start_origins = Some(vec!["https://www.example".parse().unwrap()]);
    })
    .await;
    let path = world.session(1).await;
    Browser::of(&world).get(&path).await.asks();
    let browser = Browser::at(&world, "https://www.example/start?x=1");
    assert_eq!(browser.get(&path).await.status, 303);
}

#[tokio::test]
async fn the_account_picker_may_be_kept_for_those_who_are_not_vouched_for() {
    let world = guarded(|ada| {
        ada.relay_guard = RelayGuard::Off;
        ada.select_account = SelectAccount::Unvouched;
    })
    .await;
    let prompt = async |key: u8, browser: Browser<'_>| {
        let away = browser.get(&world.session(key).await).await;
        parameter(away.location().unwrap(), "prompt")
    };
    assert_eq!(prompt(1, Browser::of(&world)).await, None);
    let foreign = prompt(2, Browser::at(&world, EVIL)).await;
    assert_eq!(foreign.as_deref(), Some("select_account"));
}

#[tokio::test]
async fn a_legacy_login_is_never_asked_about_and_tells_where_it_began() {
    let world = guarded(|ada| ada.relay_guard = RelayGuard::Always).await;
    let away = Browser::at(&world, EVIL).get(&authorize_path()).await;
    assert_eq!(away.status, 303);
    assert_eq!(parameter(away.location().unwrap(), "prompt"), None);
    assert_eq!(told(&world), ("foreign", None));
    Browser::of(&world).get(&authorize_path()).await;
    assert_eq!(told(&world), ("vouched", None));
}

#[tokio::test]
async fn a_login_whose_callback_is_withdrawn_does_not_set_out() {
    let world = World::start().await;
    let path = world.session(1).await;
    let moved = project("ada", ADA_SECRET, &["https://elsewhere.example/cb"]);
    world.projects.register(moved);
    let answer = Browser::of(&world).get(&path).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(world.last_rule(), Some("redirect_uri.registered"));
}
