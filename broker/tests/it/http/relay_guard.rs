//! The relay guard: the table from a visit to its provenance, and the visits that need
//! confirmation, by it and by the settings of the project; the confirmation page, and its two
//! forms, without which nothing changes.

use broker::relay::{RelayGuard, SelectAccount};
use reqwest::Method;
use testkit::http::Response;

use crate::test_broker::{BASE, CALLBACK, LOCAL_CALLBACK, TestBroker, authorize_path, parameter};

pub(super) const EVIL: &str = "https://evil.example/";

#[track_caller]
pub(super) fn is_confirmation_page(response: &Response) {
    assert_eq!(response.status, 200, "{response:?}");
    let mark = "data-question=\"relay\"";
    assert!(response.text().contains(mark), "{response:?}");
    assert_eq!(response.location(), None);
    assert_eq!(response.set_cookies(), Vec::<String>::new());
}

/// A broker where `change` changes Ada's project.
async fn with_project(change: impl Fn(&mut broker::projects::Project)) -> TestBroker {
    TestBroker::start_with(|config| change(&mut config.projects[0])).await
}

/// Provenance and rule of the last audit event.
fn provenance_and_rule(broker: &TestBroker) -> (&'static str, Option<&'static str>) {
    let event = broker.events().pop().unwrap();
    let rule = event.rule.map(contract::Rule::id);
    (event.provenance.unwrap().as_str(), rule)
}

/// The start origins of a project; that of its callback is none of them.
const STARTS: [&str; 2] = ["https://www.example", "http://localhost:3000"];

/// Pages of other origins, and what is no page.
const ELSEWHERE: &str = "https://evil.example/ https://app.example/ http://www.example/ \
    https://www.example:444/ https://a.www.example/ https://www.example.evil.example/ \
    http://localhost/ http://localhost:3001/ http://127.0.0.1:3000/ null junk";

/// Visits that are not vouched for: `Sec-Fetch-Site`, `-Mode` and `-Dest`, of which `-` is not
/// sent, the `Referer`, and the provenance.
const UNVOUCHED: [(&str, &str, &str); 15] = [
    ("none navigate document", "-", "typed"),
    ("none navigate document", STARTS[0], "typed"),
    ("cross-site navigate document", "-", "no_referrer"),
    ("- - -", "-", "no_metadata"),
    ("- - -", STARTS[0], "no_metadata"),
    ("- - -", EVIL, "foreign"),
    ("- navigate document", STARTS[0], "no_metadata"),
    ("cross-site no-cors image", STARTS[0], "embedded"),
    ("cross-site navigate iframe", STARTS[0], "embedded"),
    ("cross-site navigate embed", STARTS[0], "embedded"),
    ("cross-site cors empty", STARTS[0], "embedded"),
    ("cross-site navigate -", STARTS[0], "embedded"),
    ("cross-site - document", STARTS[0], "embedded"),
    ("cross-site Navigate document", STARTS[0], "embedded"),
    ("same-origin navigate iframe", EVIL, "embedded"),
];

/// The headers of a visit.
fn visit<'v>(fetch: &'v str, referrer: &'v str) -> Vec<(&'static str, &'v str)> {
    let names = "Sec-Fetch-Site Sec-Fetch-Mode Sec-Fetch-Dest Referer".split(' ');
    let headers = names.zip(fetch.split(' ').chain([referrer]));
    headers.filter(|(_, value)| *value != "-").collect()
}

// Threats: X2, V3, X7, V1, V7, M7, GHSA-vh7g-p26c-j2cw.
#[tokio::test]
async fn any_visit_but_a_navigation_from_a_start_origin_is_confirmed_and_binds_nothing() {
    let starts = STARTS.map(|it| it.parse().unwrap());
    let broker = with_project(|ada| ada.start_origins = Some(starts.to_vec())).await;
    let path = broker.session(1).await;
    let foreign = ELSEWHERE
        .split(' ')
        .map(|page| ("cross-site navigate document", page, "foreign"));
    for (fetch, referrer, provenance) in UNVOUCHED.into_iter().chain(foreign) {
        let page = broker
            .send(Method::GET, &path, &visit(fetch, referrer))
            .await;
        is_confirmation_page(&page);
        let confirmed = (provenance, Some("relay.start_origin"));
        assert_eq!(
            provenance_and_rule(&broker),
            confirmed,
            "{fetch} from {referrer}"
        );
        assert!(!broker.events().pop().unwrap().committed());
    }
    broker.has_status(1, "pending").await;
    // No browser is bound; this one is, and may come again.
    let browser = broker.browser_on("https://www.example/start?x=1");
    let back = browser.to_provider(&path).await;
    let cookies = browser.cookie_header();
    for start in STARTS {
        for site in ["cross-site", "same-site", "same-origin"] {
            let fetch = format!("{site} navigate document");
            let headers = [&visit(&fetch, start)[..], &[("Cookie", &*cookies)]].concat();
            let again = broker.send(Method::GET, &path, &headers).await;
            assert_eq!(again.status, 303, "{fetch} from {start}");
            assert_eq!(provenance_and_rule(&broker), ("vouched", None));
        }
    }
    browser.get(&back).await.redirects_to(CALLBACK);
    broker.has_status(1, "succeeded").await;
}

// Threats: X5, M3.
#[tokio::test]
async fn the_guard_always_confirms_before_any_client_is_bound() {
    let broker = with_project(|ada| ada.relay_guard = RelayGuard::Always).await;
    let path = broker.local_session().await;
    let look = broker.request(Method::HEAD, &path).send().await;
    assert_eq!((look.status, look.location()), (200, None));
    let bot = broker.plain_client();
    let bot = bot.with_header("User-Agent", "Slackbot-LinkExpanding 1.0");
    is_confirmation_page(&bot.get(&path).await);
    is_confirmation_page(&broker.plain_client().get(&path).await);
    let browser = broker.local_browser();
    let page = browser.get(&path).await;
    is_confirmation_page(&page);
    assert_eq!(provenance_and_rule(&broker), ("vouched", None));
    assert!(page.text().contains("at every sign-in"), "{page:?}");
    let redirect = browser.press(&format!("{path}/continue")).await;
    let returned = browser.come_back(&redirect, "code=upstream-code").await;
    returned.redirects_to(LOCAL_CALLBACK);
}

#[tokio::test]
async fn while_the_guard_is_off_an_unvouched_visit_is_logged_and_may_have_the_account_picker_alone()
{
    let broker = with_project(|ada| {
        ada.relay_guard = RelayGuard::Off;
        ada.select_account = SelectAccount::Unvouched;
    })
    .await;
    let foreign = broker.browser_on(EVIL);
    for (key, browser, provenance, prompt) in [
        (1, broker.browser(), "vouched", None),
        (2, foreign, "foreign", Some("select_account")),
    ] {
        let path = broker.session(key).await;
        let redirect = browser.get(&path).await;
        let sent = parameter(redirect.location().unwrap(), "prompt");
        assert_eq!(sent.as_deref(), prompt, "{provenance}");
        assert_eq!(provenance_and_rule(&broker), (provenance, None));
        assert_eq!(broker.browser().get(&path).await.status, 410, "it is bound");
    }
}

#[tokio::test]
async fn a_legacy_login_needs_no_confirmation_and_logs_its_provenance() {
    let broker = with_project(|ada| ada.relay_guard = RelayGuard::Always).await;
    let redirect = broker.browser_on(EVIL).get(&authorize_path()).await;
    assert_eq!(redirect.status, 303);
    assert_eq!(parameter(redirect.location().unwrap(), "prompt"), None);
    assert_eq!(provenance_and_rule(&broker), ("foreign", None));
    broker.browser().get(&authorize_path()).await;
    assert_eq!(provenance_and_rule(&broker), ("vouched", None));
}

// Threats: M2, A34.
#[tokio::test]
async fn the_page_names_project_and_host_and_has_its_own_headers() {
    let broker = TestBroker::start_with(|config| {
        config.projects[0].name = "<b>Ada</b>".parse().unwrap();
    })
    .await;
    let path = broker.local_session().await;
    let page = broker.browser_on(EVIL).get(&path).await;
    is_confirmation_page(&page);
    for text in [
        "&#60;b&#62;Ada&#60;/b&#62;",
        "<span>at localhost:3000</span>",
        "GitHub",
        &format!("<form method=\"post\" action=\"{path}/continue\""),
        &format!("<form method=\"post\" action=\"{path}/cancel\""),
    ] {
        assert!(page.text().contains(text), "{text} in {page:?}");
    }
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; \
                  base-uri 'none'; frame-ancestors 'none'";
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("referrer-policy", "same-origin"),
        ("content-security-policy", policy),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    let script = broker.get("/question.js").await;
    assert_eq!(script.status, 200);
    assert_eq!(script.header("content-type"), Some("text/javascript"));
}

// Threats: X9.
#[tokio::test]
async fn continue_asks_for_an_account_and_redirects_without_a_fragment() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser_on(EVIL);
    is_confirmation_page(&browser.get(&path).await);
    let redirect = browser.press(&format!("{path}/continue")).await;
    assert_eq!(redirect.status, 303);
    let to_provider = redirect.location().unwrap();
    assert!(
        to_provider.starts_with(&broker.github.url()),
        "{to_provider}"
    );
    assert!(to_provider.ends_with('#'), "{to_provider}");
    assert_eq!(parameter(to_provider, "prompt").unwrap(), "select_account");
}

// Threats: X3.
#[tokio::test]
async fn a_form_is_accepted_only_from_the_brokers_own_page() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let foreign: [&[(&str, &str)]; 8] = [
        &[],
        &[("Origin", "null")],
        &[("Origin", "https://evil.example")],
        &[("Origin", "https://app.example")],
        &[("Origin", "http://127.0.0.1:8001")],
        &[("Origin", BASE), ("Origin", BASE)],
        &[("Origin", BASE), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", BASE), ("Sec-Fetch-Site", "none")],
    ];
    let (post, accept) = (Method::POST, ("Accept", "text/html"));
    for headers in foreign {
        for action in ["continue", "cancel"] {
            let path = format!("{path}/{action}");
            let page = broker
                .send(post.clone(), &path, &[headers, &[accept]].concat())
                .await;
            page.is_refusal_page(403, "relay.own_page");
        }
    }
    broker.has_status(1, "pending").await;
    // No browser is bound. One that sends no header but the origin is accepted, too.
    let path = format!("{path}/continue");
    let redirect = broker.send(post, &path, &[("Origin", BASE)]).await;
    assert_eq!(redirect.status, 303);
}
