//! Every rule of the catalogue: a request that violates it, and its refusal. A rule
//! without a row does not compile. Together with the requests of `documented.rs` the rows
//! get every status that the published contract has.

mod documented;
mod faulty_broker;

use contract::{LoginSessionResponse, Rule};
use documented::Answers;
use faulty_broker::{FaultyBroker, error_of_a_configuration};
use reqwest::Method;
use serde_json::json;
use testkit::http::Response;

use super::relay_guard::is_confirmation_page;
use crate::test_broker::{
    BOB_CALLBACK, BOB_SECRET, CALLBACK, LOCAL_CALLBACK, authorize_path, key, session_body, state,
    token_body, with,
};

/// The refusal by a rule, and its form.
enum Row {
    /// This status and `request_failed`, in JSON.
    Api(u16, Response),
    /// This status, and a page that names the rule.
    Page(u16, Response),
    /// A redirect to the callback with this query, or without one.
    Redirect(String, Response),
    /// The confirmation page.
    Confirmation(Response),
    /// No refusal of a request: a message that names this place.
    Message(&'static str, String),
}

use Row::{Api, Confirmation, Message, Page, Redirect};

/// Violates `rule` and no other.
#[expect(clippy::too_many_lines, reason = "a table, with a row for each rule")]
async fn violate(rule: Rule, broker: &FaultyBroker) -> Row {
    match rule {
        // Values.
        Rule::ClientIdLength => Api(400, broker.start_with("client_id", "").await),
        Rule::ClientSecretLength => Api(400, broker.start_with("client_secret", "").await),
        Rule::SessionKeyPattern => Api(400, broker.start_with("session_key", "x").await),
        Rule::StatePattern => {
            let without_state = "error=invalid_request#".to_owned();
            Redirect(without_state, broker.authorize_with("state", "x").await)
        }
        Rule::CodeChallengePattern => invalid(broker.authorize_with("code_challenge", "x").await),
        Rule::CodeVerifierPattern => Api(400, broker.redeem_with("code_verifier", "x").await),
        Rule::CodeLength => Api(400, broker.redeem_with("code", "").await),
        Rule::RedirectUriShape => Api(400, broker.start_with("redirect_uri", "x").await),
        Rule::RedirectUriCanonical => {
            let rewritten = "https://APP.example:443/x/../cb";
            Api(400, broker.start_with("redirect_uri", rewritten).await)
        }
        Rule::AuthorizationUrlShape => Message("a response", error_of_a_response()),
        Rule::OriginShape => Message("base_url", error_of_a_configuration(NO_ORIGIN)),
        Rule::ProviderKnown => Api(400, broker.start_with("provider", "gitlab").await),
        Rule::GrantTypeConstant => Api(400, broker.redeem_with("grant_type", "password").await),
        Rule::DigestText => Message("client_secret_sha256", error_of_a_configuration(NO_DIGEST)),

        // Requests.
        Rule::RequestHttp => {
            let (media, framing) = ("application/json", "Transfer-Encoding: chunked");
            // A complete chunk, and then one whose length is no number.
            let body = format!("400\r\n{}\r\nx\r\n", " ".repeat(0x400));
            Api(400, broker.start_by_hand(media, framing, &body).await)
        }
        Rule::RequestPath => Api(404, broker.get("/nowhere").await),
        Rule::RequestMethod => Api(405, broker.get("/v1/token").await),
        Rule::RequestSecretInUrl => Api(400, broker.get("/v1/profile?client_secret=x").await),
        Rule::RequestVerifierInUrl => Api(400, broker.get("/v1/profile?code_verifier=x").await),
        Rule::RequestPrefetch => Page(503, broker.prefetch().await),
        Rule::RequestCookies => Page(400, broker.authorize_with_cookies(b"caf\xe9=1").await),
        Rule::BodyMediaType => {
            let (media, framing) = ("text/plain", "Content-Length: 2");
            Api(415, broker.start_by_hand(media, framing, "{}").await)
        }
        Rule::BodyEncoding => {
            let framing = "Content-Encoding: gzip\r\nContent-Length: 2";
            let media = "application/json";
            Api(415, broker.start_by_hand(media, framing, "{}").await)
        }
        Rule::BodySize => Api(
            413,
            broker.start_with("session_key", "x".repeat(40_000)).await,
        ),
        Rule::BodyTime => {
            let (media, framing) = ("application/json", "Content-Length: 1000");
            let half = r#"{"client_id": "prj_ada","#;
            Api(400, broker.start_by_hand(media, framing, half).await)
        }
        Rule::BodyJson => Api(400, broker.post("/v1/token", &json!([])).await),
        Rule::BodyUnknownField => Api(400, broker.start_with("nonce", "x").await),
        Rule::BodyDuplicateField => Api(400, broker.start_with_a_field_twice().await),
        Rule::BodyMissingField => Api(400, broker.post("/v1/token", &json!({})).await),
        Rule::BodyFieldType => Api(400, broker.start_with("client_id", 1).await),

        // Client credentials.
        Rule::ClientRecognised => Api(401, broker.start_with("client_secret", BOB_SECRET).await),
        Rule::ClientRateLimit => {
            for _ in 0..19 {
                broker.start_with("client_secret", BOB_SECRET).await;
            }
            Api(429, broker.start_with("client_secret", BOB_SECRET).await)
        }
        Rule::RedirectUriRegistered => {
            Api(400, broker.start_with("redirect_uri", BOB_CALLBACK).await)
        }
        Rule::ProviderOffered => Api(400, broker.start_with("provider", "google").await),

        // The clean callback flow.
        Rule::SessionQuota => {
            broker.session(1).await;
            broker.session(2).await;
            Api(429, broker.start_with_key(3).await)
        }
        Rule::SessionKeyFresh => {
            broker.session(1).await;
            Api(400, broker.start_with_key(1).await)
        }
        Rule::ResultKnown => Api(400, broker.result(1).await),
        Rule::ResultCallback => Api(400, broker.read_with("redirect_uri", LOCAL_CALLBACK).await),
        Rule::ResultExpiry => {
            broker.sign_in(1).await;
            broker.advance_ms(600_000);
            Api(400, broker.result(1).await)
        }
        Rule::ResultOnce => {
            broker.sign_in(1).await;
            broker.result(1).await;
            Api(400, broker.result(1).await)
        }

        // The browser's part.
        Rule::HandleKnown => Page(404, broker.browser().get("/login/unknown").await),
        Rule::HandleOneBrowser => {
            let path = broker.session(1).await;
            broker.browser().get(&path).await;
            Page(410, broker.browser().get(&path).await)
        }
        Rule::RelayStartOrigin => Confirmation(broker.visit_from_a_foreign_page().await.0),
        Rule::RelayOwnPage => {
            let path = format!("{}/continue", broker.session(1).await);
            let accept = [("Accept", "text/html")];
            Page(403, broker.send(Method::POST, &path, &accept).await)
        }
        Rule::RelayCancelled => {
            let (_, browser, path) = broker.visit_from_a_foreign_page().await;
            let nothing = String::new();
            Redirect(nothing, browser.press(&format!("{path}/cancel")).await)
        }
        Rule::UpstreamLoginOwnBrowser => {
            let (_, back) = broker.at_provider_in_legacy().await;
            Page(400, broker.browser().get(&back).await)
        }
        Rule::UpstreamLoginSameTraits => {
            let path = broker.session(1).await;
            let browser = broker.browser();
            let back = browser.to_provider(&path).await;
            let other = browser.with_header("User-Agent", "another");
            Confirmation(other.get(&back).await)
        }
        Rule::UpstreamLoginOnce => {
            let (browser, back) = broker.at_provider_in_legacy().await;
            browser.get(&back).await;
            Page(400, browser.get(&back).await)
        }
        Rule::UpstreamLoginRateLimit => {
            broker.back_from_one_address().await;
            Page(429, broker.back_from_one_address().await)
        }
        Rule::UpstreamLoginExpiry => {
            let (browser, back) = broker.at_provider_in_legacy().await;
            broker.advance_ms(600_000);
            Page(400, browser.get(&back).await)
        }

        // The legacy flow.
        Rule::AuthorizeClient => Page(400, broker.authorize_with("client_id", "prj_eve").await),
        Rule::AuthorizeOnce => {
            let twice = format!("{}&provider=github", authorize_path());
            invalid(broker.browser().get(&twice).await)
        }
        Rule::AuthorizeChallengeMethod => invalid(
            broker
                .authorize_with("code_challenge_method", "plain")
                .await,
        ),
        Rule::AuthorizeResponseType => {
            invalid(broker.authorize_with("response_type", "token").await)
        }
        Rule::CodeKnown => Api(400, broker.redeem_with("code", &key(1)).await),
        Rule::CodeClient => {
            let body = with(token_body(&broker.code().await), "client_id", "prj_bob");
            let body = with(body, "client_secret", BOB_SECRET);
            let body = with(body, "redirect_uri", BOB_CALLBACK);
            Api(400, broker.post("/v1/token", &body).await)
        }
        Rule::CodeCallback => Api(
            400,
            broker.redeem_with("redirect_uri", LOCAL_CALLBACK).await,
        ),
        Rule::CodeVerifier => Api(400, broker.redeem_with("code_verifier", &key(1)).await),
        Rule::CodeExpiry => {
            let code = broker.code().await;
            broker.advance_ms(60_000);
            Api(400, broker.token(&code).await)
        }
        Rule::CodeOnce => {
            let code = broker.code().await;
            broker.token(&code).await;
            Api(400, broker.token(&code).await)
        }
        Rule::BearerShape => Api(401, broker.profile("x").await),
        Rule::BearerOnce => {
            let twice = broker.request(Method::GET, "/v1/profile").bearer_auth("x");
            Api(400, twice.bearer_auth("x").send().await)
        }
        Rule::BearerKnown => Api(401, broker.profile(&format!("fsi_{}", key(1))).await),
        Rule::BearerEnded => {
            let token = broker.access_token().await;
            broker.revoke(&token).await;
            Api(401, broker.profile(&token).await)
        }
        Rule::BearerExpiry => {
            let token = broker.access_token().await;
            broker.advance_ms(900_000);
            Api(401, broker.profile(&token).await)
        }

        // The upstream provider.
        Rule::UpstreamDenied => failed(
            "access_denied",
            broker.come_back("error=access_denied").await,
        ),
        Rule::UpstreamInvalid => {
            failed("invalid_provider_response", broker.come_back("code=").await)
        }
        Rule::UpstreamUnavailable => failed(
            "provider_unavailable",
            broker.come_back("error=server_error").await,
        ),

        // The broker itself.
        Rule::StoreReachable => {
            broker.disable("logins");
            Api(503, broker.start_with_key(1).await)
        }
        Rule::BrokerOverload => Page(503, broker.overload().await),
        Rule::BrokerFault => {
            // After the first login the sweeper has read the clock.
            broker.session(2).await;
            broker.panic_at_the_next_reading_of_the_clock();
            // By hand: the contract documents a fault for no operation.
            let body = session_body(1).to_string();
            let framing = format!("Content-Length: {}", body.len());
            let media = "application/json";
            Api(500, broker.start_by_hand(media, &framing, &body).await)
        }
    }
}

/// A refused authorization request, whose empty fragment replaces the browser's.
fn invalid(response: Response) -> Row {
    let query = format!("error=invalid_request&state={}#", state());
    Redirect(query, response)
}

/// A login that failed at its provider.
fn failed(error: &str, response: Response) -> Row {
    Redirect(format!("error={error}&state={}", state()), response)
}

/// A base URL with a path.
const NO_ORIGIN: &str = "base_url = \"http://127.0.0.1:8000/path\"\n";

/// A project with its secret instead of the digest.
const NO_DIGEST: &str = "base_url = \"http://127.0.0.1:8000\"\n\n[[project]]\nname = \"Ada\"\n\
    client_id = \"prj_ada\"\nclient_secret_sha256 = \"secret\"\n\
    redirect_uris = [\"https://app.example/cb\"]\n";

/// The error of a consumer that reads the response of a non-compliant broker.
fn error_of_a_response() -> String {
    let response = json!({ "authorization_url": "https://broker.example/#x", "expires_in": 600 });
    let error = serde_json::from_value::<LoginSessionResponse>(response).unwrap_err();
    format!("a response: {error}")
}

// Threats: A37, CVE-2021-21411.
#[tokio::test]
async fn every_rule_is_reached_and_refused_as_documented() {
    let mut answers = Answers::default();
    for rule in Rule::ALL {
        let broker = FaultyBroker::start(*rule).await;
        let response = match violate(*rule, &broker).await {
            Api(status, response) => {
                response.is_refusal(status);
                answers.add_body(&response);
                response
            }
            Page(status, response) => {
                response.is_refusal_page(status, rule.id());
                response
            }
            Redirect(query, response) => {
                let url = format!("{CALLBACK}?{query}");
                response.redirects_to(url.trim_end_matches('?'));
                response
            }
            Confirmation(response) => {
                is_confirmation_page(&response);
                response
            }
            Message(place, message) => {
                assert!(message.contains(rule.sentence()), "{rule}: {message}");
                assert!(message.contains(place), "{rule}: {message}");
                assert_eq!(broker.events().len(), 0, "{rule} is not about requests");
                continue;
            }
        };
        is_in_the_audit_log(*rule, &broker, &response);
        answers.add_events(&broker);
    }
    answers.add_all_others().await;
    answers.assert_complete();
}

/// Asserts that the last event has the rule and the id of the response.
#[track_caller]
fn is_in_the_audit_log(rule: Rule, broker: &FaultyBroker, response: &Response) {
    let event = broker.events().pop().unwrap();
    assert_eq!(event.rule, Some(rule), "{event:?}");
    assert_eq!(event.status, Some(response.status), "{rule}");
    let id = Some(&*event.request_id);
    assert_eq!(response.header("x-request-id"), id, "{rule}");
}
