//! Flaws of the browser's part: the provider's answer in another browser, twice, late
//! or by HEAD; the cookies.

use hyper::Method;
use hyper::header::{COOKIE, HeaderValue, SET_COOKIE};

use super::super::proxy::{Memory, ProxiedRequest, ProxiedResponse};
use super::super::test_broker::CALLBACK;
use super::NonCompliantBroker;
use testkit::fresh;

/// The lifetime of an upstream login.
const LIFETIME_MS: i64 = 600_000;

pub(crate) fn all() -> Vec<NonCompliantBroker> {
    [deliveries(), cookies()].into_iter().flatten().collect()
}

fn is_upstream_callback(request: &ProxiedRequest) -> bool {
    request.path.starts_with("/callback/")
}

fn deliveries() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::changes(
            "accepts a provider's answer in any browser",
            &[],
            |memory, request| {
                let has_cookie = request.headers.contains_key(COOKIE);
                if is_upstream_callback(request)
                    && !has_cookie
                    && let Some(state) = request.parameter("state")
                    && let Some(cookie) = memory.texts.get(&state)
                {
                    let cookie = HeaderValue::from_str(cookie).expect("a cookie");
                    request.headers.insert(COOKIE, cookie);
                }
                None
            },
            |memory, _, response| {
                if let (Some(state), Some(cookie)) = (state_in(response), cookie_in(response)) {
                    memory.texts.insert(state, cookie);
                }
            },
        )
        .and_chooses(&[(
            "upstream_login.own_browser",
            "this kit's login is not finished by that",
            r#"then the result 200 application/json {"status":"succeeded""#,
        )]),
        NonCompliantBroker::accepts("runs the GET handler for HEAD", &[], |_, request| {
            if request.method == Method::HEAD && is_upstream_callback(request) {
                request.method = Method::GET;
            }
            None
        })
        .and_chooses(&[(
            "browser.head",
            "this kit's login is not finished by that",
            r#"then the result 200 application/json {"status":"succeeded""#,
        )]),
        NonCompliantBroker::accepts(
            "binds a login to the browser by HEAD",
            &[],
            |memory, request| {
                let is_handle = request.path.starts_with("/login/");
                if is_handle && request.method == Method::HEAD {
                    memory.known.insert(request.path.clone());
                }
                let is_bound =
                    request.method == Method::GET && memory.known.contains(&request.path);
                is_bound.then(|| ProxiedResponse::refused(410))
            },
        )
        .and_chooses(&[(
            "browser.head",
            "this kit's login is opened by a browser after HEAD",
            ", then a browser -> 200",
        )]),
        NonCompliantBroker::responds(
            "brings a code for each delivery of a provider's answer",
            &[],
            |memory, request, response| {
                if !is_upstream_callback(request) {
                    return;
                }
                match memory.answers.get(&request.path) {
                    Some(first) if first.location().contains("?code=") => {
                        *response = first.clone();
                    }
                    _ => drop(
                        memory
                            .answers
                            .insert(request.path.clone(), response.clone()),
                    ),
                }
            },
        )
        .and_chooses(&[(
            "upstream_login.once",
            "this kit brings no second code",
            "the browser came to http://localhost:9/conformance?code=<",
        )]),
        NonCompliantBroker::responds(
            "fails a login whose answer is delivered twice",
            &[],
            |memory, request, response| {
                if is_upstream_callback(request) && response.status == 303 {
                    let is_first = memory.known.insert(request.path.clone());
                    let outcome = if is_first { "first" } else { "again" };
                    memory
                        .texts
                        .insert("delivery".to_owned(), outcome.to_owned());
                } else if response.json()["status"] == "succeeded"
                    && memory.texts["delivery"] == "again"
                {
                    *response = ProxiedResponse::of(
                        200,
                        r#"{"status":"failed","error":"invalid_provider_response"}"#,
                    );
                }
            },
        )
        .and_chooses(&[(
            "upstream_login.once",
            "this kit's result is that of the one delivery in its own browser",
            r#" -> 200 application/json {"status":"failed""#,
        )]),
        NonCompliantBroker::responds(
            "accepts a provider's answer at any time",
            &[],
            |memory, request, response| {
                remember_legacy_login(memory, request, response);
                let now = memory.clock.now().0;
                if let Some(state) = request.parameter("state")
                    && is_upstream_callback(request)
                    && let Some(start) = memory.times.get(&state)
                    && now - start >= LIFETIME_MS
                {
                    let consumers = memory.texts[&state].clone();
                    let code = fresh::secret();
                    response.status = 303;
                    response.locate(&format!("{CALLBACK}?code={code}&state={consumers}"));
                }
            },
        )
        .and_chooses(&[(
            "upstream_login.expiry",
            "this kit brings no code after 600 seconds",
            "the browser came to http://localhost:9/conformance?code=<",
        )]),
    ]
}

/// The upstream state in a redirect to a provider.
fn state_in(response: &ProxiedResponse) -> Option<String> {
    let url = url::Url::parse(&response.location()).ok()?;
    let (_, state) = url.query_pairs().find(|(name, _)| name == "state")?;
    Some(state.into_owned())
}

/// The first cookie that a response sets.
fn cookie_in(response: &ProxiedResponse) -> Option<String> {
    let cookie = response.headers.get(SET_COOKIE)?.to_str().ok()?;
    Some(cookie.split(';').next()?.to_owned())
}

/// Remembers the start of a legacy login, and the consumer's state, by its upstream
/// state.
fn remember_legacy_login(
    memory: &mut Memory,
    request: &ProxiedRequest,
    response: &ProxiedResponse,
) {
    if request.path.starts_with("/authorize?")
        && let (Some(consumers), Some(upstream)) = (request.parameter("state"), state_in(response))
    {
        let now = memory.clock.now().0;
        memory.times.insert(upstream.clone(), now);
        memory.texts.insert(upstream, consumers);
    }
}

fn cookies() -> Vec<NonCompliantBroker> {
    vec![
        NonCompliantBroker::responds("lets scripts read its cookies", &[], |_, _, response| {
            change_cookies(response, |cookie| cookie.replace("; HttpOnly", ""));
        })
        .and_chooses(&[(
            "cookie.attributes",
            "this kit's cookies are HttpOnly",
            "a cookie with",
        )]),
        NonCompliantBroker::responds("sends its cookies to other sites", &[], |_, _, response| {
            change_cookies(response, |cookie| {
                cookie.replace("SameSite=Lax", "SameSite=None; Secure")
            });
        })
        .and_chooses(&[(
            "cookie.attributes",
            "this kit's cookies are SameSite=Lax",
            "SameSite=None",
        )]),
        NonCompliantBroker::responds("leaves SameSite out", &[], |_, _, response| {
            change_cookies(response, |cookie| cookie.replace("; SameSite=Lax", ""));
        })
        .and_chooses(&[(
            "cookie.attributes",
            "this kit's cookies are SameSite=Lax",
            "a cookie with",
        )]),
    ]
}

fn change_cookies(response: &mut ProxiedResponse, change: impl Fn(&str) -> String) {
    let cookies = response.headers.get_all(SET_COOKIE).into_iter();
    let cookies: Vec<_> = cookies
        .map(|cookie| change(cookie.to_str().expect("an ASCII cookie")))
        .collect();
    response.headers.remove(SET_COOKIE);
    for cookie in cookies {
        let cookie = HeaderValue::from_str(&cookie).expect("an ASCII cookie");
        response.headers.append(SET_COOKIE, cookie);
    }
}
