//! Refusals by nginx itself, and those that it leaves to the broker; and its logs, which have the
//! steps of a sign-in, and no secret.

use reqwest::Method;
use testkit::browser::UNSERVED;
use testkit::fresh;
use testkit::http::{Http, REFUSED, Request, Response};
use testkit::leak_check::{LeakCheck, suspicious};
use testkit::login::{FLOWS, PROVIDERS};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::nginx::{Nginx, NginxLogs, Ports, ProxiedBrokers, StubBroker, StubResponse};

const TOO_LARGE: &str = r#"{"error":"request_failed","message":"The request is too large."}"#;
const UNABLE: &str = r#"{"error":"request_failed","message":"The service cannot answer now."}"#;

/// Whether a response is nginx's own.
trait BehindNginx {
    /// Asserts that nginx refuses by itself, in the shape of every error.
    fn is_nginxs(&self, status: u16, body: &str);

    /// Asserts that no broker has a part in the response.
    fn is_of_nginx_alone(&self);

    /// Asserts that the broker refuses, and nginx passes it on as it is.
    fn is_the_brokers(&self, status: u16, body: &str);
}

impl BehindNginx for Response {
    #[track_caller]
    fn is_nginxs(&self, status: u16, body: &str) {
        self.is(status, body);
        assert!(testkit::openapi::schema("ApiError").is_valid(&self.json()));
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.is_of_nginx_alone();
    }

    #[track_caller]
    fn is_of_nginx_alone(&self) {
        assert_eq!(self.header("x-request-id"), None);
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(self.header("referrer-policy"), Some("no-referrer"));
        let policy = self.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(self.header("server"), Some("nginx"));
        assert!(!self.text().contains("nginx"), "{self:?}");
    }

    #[track_caller]
    fn is_the_brokers(&self, status: u16, body: &str) {
        self.is(status, body);
        assert!(self.header("x-request-id").is_some());
        assert_eq!(self.header("cache-control"), Some("no-store"));
    }
}

fn as_browser(request: Request) -> Request {
    request.header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

async fn body_of(client: &Http, url: &str, bytes: usize) -> Response {
    let request = client.post(url).header("Content-Type", "application/json");
    request.body(" ".repeat(bytes)).send().await
}

// Threats: A37, G4.
#[tokio::test]
async fn a_first_line_or_a_head_that_is_too_long_is_refused() {
    let front = ProxiedBrokers::start().await;
    let client = front.nginx.http();
    let long = "a".repeat(8 * 1024);
    let url = front.nginx.url(&format!("/login/{long}"));
    client.get(url).send().await.is_nginxs(414, TOO_LARGE);
    let url = front.nginx.url("/api/providers");
    let request = client.get(&url).header("X-Long", &long);
    request.send().await.is_nginxs(431, TOO_LARGE);
    let mut request = client.get(&url);
    for number in 0..40 {
        request = request.header(format!("X-Many-{number}"), "a".repeat(1024));
    }
    request.send().await.is_nginxs(431, TOO_LARGE);
    assert_eq!(client.get(&url).send().await.status, 200);
    // Where backends call, a refusal is no page, whatever is accepted.
    for (path, is_page) in [
        ("/v1/token", false),
        ("/api/providers", false),
        ("/login/x", true),
    ] {
        let request = as_browser(client.get(front.nginx.url(path)));
        let response = request.header("X-Long", &long).send().await;
        assert_eq!(response.status, 431, "{path}");
        assert_eq!(response.text().contains("<h1>"), is_page, "{path}");
    }
}

/// The broker's HTTP library makes an owned cookie of each pair, whatever it is.
// Threats: G4.
#[tokio::test]
async fn a_head_that_is_all_cookies_does_not_reach_the_broker() {
    let front = ProxiedBrokers::start().await;
    let client = front.nginx.http();
    let url = front.nginx.url("/login/x");
    let cookies = |bytes: usize| "0=;".repeat(bytes / 3);
    let mut request = client.get(&url);
    for _ in 0..3 {
        request = request.header("Cookie", cookies(7 * 1024));
    }
    request.send().await.is_nginxs(431, TOO_LARGE);
    let request = client.get(&url).header("Cookie", cookies(7 * 1024));
    assert_eq!(request.send().await.status, 404);
}

#[tokio::test]
async fn the_longest_first_line_of_a_sign_in_is_let_in() {
    let front = ProxiedBrokers::start().await;
    // A callback of 2048 characters, each of them escaped.
    let callback = "%2F".repeat(2048);
    let url = format!("/authorize?client_id=x&redirect_uri={callback}");
    let request = || front.nginx.http().get(front.nginx.url(&url));
    request().send().await.is_the_brokers(400, REFUSED);
    // In a browser that holds eight upstream logins, with a browser's headers.
    let cookies: Vec<_> = (0..8)
        .map(|n| format!("__Host-fsi_trip_{n:012}={}", "a".repeat(570)))
        .collect();
    let request = request()
        .header("Cookie", cookies.join("; "))
        .header("User-Agent", "Mozilla/5.0 ".repeat(12))
        .header("Referer", "https://app.example/")
        .header("Sec-Fetch-Site", "cross-site");
    request.send().await.is_the_brokers(400, REFUSED);
}

// Threats: A18.
#[tokio::test]
async fn a_body_that_is_too_large_is_refused_by_the_broker_if_it_gets_there() {
    let front = ProxiedBrokers::start().await;
    let client = front.nginx.http();
    let url = front.nginx.url("/v1/token");
    for bytes in [33 * 1024, 64 * 1024] {
        let response = body_of(&client, &url, bytes).await;
        response.is_the_brokers(413, TOO_LARGE);
    }
    let response = body_of(&client, &url, 64 * 1024 + 1).await;
    response.is_nginxs(413, TOO_LARGE);
}

#[tokio::test]
async fn plain_http_is_neither_served_nor_redirected() {
    let (broker, nginx) = StubBroker::behind_nginx(StubResponse::Closes).await;
    let client = nginx.http();
    let body = r#"{"error":"request_failed","message":"The service is reached by https alone."}"#;
    for path in ["/", "/login/x", "/v1/token", "/authorize?client_id=x"] {
        let response = client.get(nginx.url_in_clear(path)).send().await;
        response.is_nginxs(403, body);
        assert_eq!(response.location(), None);
    }
    let page = as_browser(client.get(nginx.url_in_clear("/"))).send().await;
    assert_eq!(page.status, 403);
    assert!(page.text().contains("https alone"), "{}", page.text());
    // HTTP where TLS is expected.
    let url = nginx.url("/").replace("https://", "http://");
    client.get(url).send().await.is_nginxs(400, REFUSED);
    assert_eq!(broker.heads(), Vec::<String>::new());
}

// Threats: A31.
#[tokio::test]
async fn a_request_for_another_host_gets_no_response() {
    let (broker, nginx) = StubBroker::behind_nginx(StubResponse::Closes).await;
    let client = nginx.http();
    for url in [nginx.url("/"), nginx.url_in_clear("/")] {
        let request = client.get(url).header("Host", "evil.example");
        let error = request.try_send().await.expect_err("it hangs up");
        assert!(!error.is_connect(), "{error}");
    }
    // It shows no certificate, either.
    let other = nginx.trusting_client();
    let other = other.resolve("evil.example", nginx.https);
    let other = other.tls_danger_accept_invalid_certs(true).build();
    let url = format!("https://evil.example:{}/", nginx.https.port());
    let request = other.expect("a client").get(url);
    let error = request.send().await.expect_err("no handshake");
    assert!(error.is_connect(), "{error}");
    assert_eq!(broker.heads(), Vec::<String>::new());
}

// Threats: A17, A37.
#[tokio::test]
async fn without_a_broker_nginx_answers_503_as_json_or_as_a_page() {
    let (_broker, nginx) = StubBroker::behind_nginx(StubResponse::Closes).await;
    let client = nginx.http();
    let response = client.post(nginx.url("/v1/token")).send().await;
    response.is_nginxs(503, UNABLE);
    assert_eq!(response.header("retry-after"), Some("1"));
    let page = as_browser(client.get(nginx.url("/login/x"))).send().await;
    assert_eq!(page.status, 503);
    page.is_of_nginx_alone();
    let media = page.header("content-type");
    assert_eq!(media, Some("text/html; charset=utf-8"));
    let says = "<h1>The service cannot answer now.</h1>\n<p>Reload this page in a moment.</p>";
    assert!(page.text().contains(says), "{}", page.text());
}

#[tokio::test]
async fn nothing_but_the_broker_is_behind_it() {
    let front = ProxiedBrokers::start().await;
    let client = front.nginx.http();
    for path in ["/metrics", "/refused/as.json", "/nginx_status", "/.env"] {
        let response = client.get(front.nginx.url(path)).send().await;
        assert_eq!(response.status, 404, "{path}: {}", response.text());
    }
}

/// The first message of a client that supports no newer TLS than `version`, 1.1 or 1.2.
fn hello(version: u8) -> Vec<u8> {
    let server_name: &[u8] = b"\0\0\0\x13\0\x11\0\0\x0esignin.example";
    let groups_and_points: &[u8] = b"\0\x0a\0\x04\0\x02\0\x17\0\x0b\0\x02\x01\0";
    let signatures: &[u8] = b"\0\x0d\0\x04\0\x02\x04\x03";
    let extensions = [server_name, groups_and_points, signatures].concat();
    let with_length = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).expect("it is short");
        [&length.to_be_bytes(), bytes].concat()
    };
    // Of each version one suite that fits the certificate.
    let suites = b"\0\x04\xc0\x09\xc0\x2b\x01\0";
    let begin: &[u8] = &[3, version];
    let body = [begin, &[7; 32], &[0], suites, &with_length(&extensions)].concat();
    let handshake = [&[1, 0][..], &with_length(&body)].concat();
    [&[22, 3, 1][..], &with_length(&handshake)].concat()
}

// Threats: CVE-2024-23656.
#[tokio::test]
async fn a_client_that_speaks_only_an_old_tls_is_refused() {
    let (_broker, nginx) = StubBroker::behind_nginx(StubResponse::Closes).await;
    let answer = async |version| {
        let mut stream = TcpStream::connect(nginx.https).await.expect("it listens");
        stream.write_all(&hello(version)).await.expect("it reads");
        let mut said = [0; 7];
        stream.read_exact(&mut said).await.expect("an answer");
        said
    };
    // An alert: fatal, protocol_version.
    assert_eq!(answer(2).await, [21, 3, 2, 0, 2, 2, 70]);
    // A handshake goes on: ServerHello.
    let [kind, .., message, _] = answer(3).await;
    assert_eq!((kind, message), (22, 2));
}

impl NginxLogs {
    /// Asserts that none of `secrets` is in a line, nor anything that looks like a drawn
    /// value: a handle, a code, a state, a key or a token.
    #[track_caller]
    fn has_none_of(&self, secrets: &[String]) {
        let leak_check = LeakCheck::over(secrets.iter().map(|secret| ("secret", secret)));
        for (name, log) in [("access.log", &self.access), ("error.log", &self.errors)] {
            assert_eq!(leak_check.search(log), [], "in {name}");
            assert_eq!(suspicious(log), None, "in {name}");
        }
    }

    #[track_caller]
    fn has_line(&self, method: &str, route: &str, status: u16) {
        let expected = format!(r#""method":"{method}","route":"{route}","status":{status},"#);
        let access = &self.access;
        assert!(access.contains(&expected), "{expected}\n{access}");
    }
}

// Threats: A15.
#[tokio::test]
async fn a_whole_run_leaves_no_secret_in_either_log() {
    let front = ProxiedBrokers::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            front.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    press_button(&front).await;
    front.backend.revoke("no token").await;
    let secrets = visit_invalid_addresses(&front).await;

    let written = front.nginx.stop();
    written.has_none_of(&secrets);
    for (method, route, status) in [
        ("POST", "/v1/login/session", 200),
        ("GET", "/login/…", 303),
        ("POST", "/login/…/continue", 303),
        ("GET", "/authorize", 303),
        ("GET", "/callback/google", 303),
        ("GET", "/callback/github", 303),
        ("POST", "/v1/login/result", 200),
        ("POST", "/v1/token", 200),
        ("GET", "/v1/profile", 200),
        ("POST", "/v1/revoke", 401),
        ("GET", "other", 404),
    ] {
        written.has_line(method, route, status);
    }
}

/// A user who follows a foreign link, gets the confirmation page, and continues.
async fn press_button(front: &ProxiedBrokers) {
    let login = front.backend.start_login("google").await;
    let (browser, page) = (front.browser(), &login.authorization_url);
    let seen = browser.type_in(page).await.response.expect("a question");
    assert_eq!(seen.status, 200, "{}", seen.text());
    let action = format!("{page}/continue");
    browser.press_until(page, &action, UNSERVED).await;
}

/// Requests that go wrong with a secret where none belongs.
async fn visit_invalid_addresses(front: &ProxiedBrokers) -> Vec<String> {
    let secrets: Vec<_> = (0..6).map(|_| fresh::secret()).collect();
    let [a, b, c, d, e, f] = &secrets[..] else {
        unreachable!("there are six");
    };
    let client = front.nginx.http();
    let referer = front.nginx.url(&format!("/login/{f}"));
    for path in [
        format!("/login/{a}"),
        format!("//login/{b}/"),
        format!("/%6cogin/{c}?{d}"),
        format!("/api/providers?session_key={e}"),
        format!("/{f}"),
        format!("/callback/google/{a}"),
        format!("/login/{b}/continue/{c}"),
        format!("/login/{}{d}", "a".repeat(9000)),
    ] {
        let request = client.get(front.nginx.url(&path));
        let response = request.header("Referer", &referer).send().await;
        assert!(response.status >= 400, "{path}: {}", response.status);
        // Refused, or hung up on.
        let _ = client.get(front.nginx.url_in_clear(&path)).try_send().await;
    }
    let request = client.request(Method::POST, front.nginx.url("/v1/token"));
    let request = request.header("User-Agent", a).header("X-Request-Id", b);
    let request = request.header("Content-Length", "1000000");
    request.bearer_auth(c).send().await;
    secrets
}

// Threats: A15.
#[tokio::test]
async fn a_failing_broker_leaves_no_secret_in_either_log() {
    let broker = StubBroker::answering(StubResponse::Closes).await;
    let unreachable = std::net::SocketAddr::from(([127, 0, 0, 82], 9));
    for broker in [broker.address, unreachable] {
        let nginx = Nginx::start(Ports::draw(), &[broker], &[]);
        let (handle, code) = (fresh::secret(), fresh::secret());
        let callback = format!("/callback/google?code={code}");
        for path in [format!("/login/{handle}"), callback] {
            let response = nginx.http().get(nginx.url(&path)).send().await;
            assert_eq!(response.status, 503);
        }
        let written = nginx.stop();
        written.has_none_of(&[handle, code]);
        let failures = written.access.matches(r#""upstream":"502""#);
        assert_eq!(failures.count(), 2, "{}", written.access);
        let has_others = written.errors.contains("start worker process");
        assert!(has_others, "the other lines are there");
    }
}
