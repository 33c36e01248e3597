//! A flaw for each requirement: how a broker that breaks it differs from this kit's.
//!
//! A flaw reacts to what its requirement is about, not to a value that only the runner
//! sends.

use agent::malformed::FIELDS;
use agent::random::{challenge, secret};
use conformance::Requirement;
use conformance::requirement::{
    CODE_LIFETIME_SECONDS, LOGIN_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS,
};
use hyper::Method;
use hyper::header::{CONTENT_TYPE, COOKIE, HeaderValue, SET_COOKIE};
use serde_json::{Value, json};

use super::proxy::{Flaw, Memory, ProxiedRequest as Request, ProxiedResponse as Response};
use super::test_broker::{CALLBACK, OTHER_CALLBACK, OTHER_CLIENT_ID, SECOND_CALLBACK, SECRET};

const PROVIDERS: &str = "/api/providers";
pub(super) const SESSION: &str = "/v1/login/session";
pub(super) const RESULT: &str = "/v1/login/result";
pub(super) const TOKEN: &str = "/v1/token";
pub(super) const PROFILE: &str = "/v1/profile";
pub(super) const REVOKE: &str = "/v1/revoke";

/// The lifetimes, and an age below that of a login and of a token, in seconds.
const LOGIN_ENDS: i64 = LOGIN_LIFETIME_SECONDS as i64;
pub(super) const TOKEN_ENDS: i64 = TOKEN_LIFETIME_SECONDS as i64;
const CODE_ENDS: i64 = CODE_LIFETIME_SECONDS as i64;
const EARLY: i64 = LOGIN_ENDS - 100;

/// Declares the table: a requirement, its flaw in words, its flaw. It is a `match`, so a
/// requirement without a flaw does not compile.
macro_rules! flaws {
    ($($requirement:ident: $words:literal => $flaw:expr;)+) => {
        /// The flaw that breaks `requirement`, in words and as a change.
        pub(crate) fn flaw_of(requirement: Requirement) -> (&'static str, Flaw) {
            match requirement { $(Requirement::$requirement => ($words, $flaw),)+ }
        }
    };
}

flaws! {
    // GET /api/providers.
    ProvidersShape: "leaves out enabled"
        => edit(PROVIDERS, |all| remove(&mut all[1], "enabled"));
    ProvidersKnown: "lists a provider twice"
        => edit(PROVIDERS, |all| *all = json!([all[0], all[1], all[1]]));

    // Every request.
    RequestPath: "accepts an unversioned path"
        => serves(|_, it| it.is_at("/login/session"));
    RequestMethod: "answers GET on a POST path"
        => serves(|_, it| it.is_at(SESSION) && it.method == Method::GET);
    RequestSecretInUrl: "accepts the secret in a URL"
        => serves(|_, it| has_secret_in_url(it) && it.text("client_secret").is_empty());
    BodyMediaType: "accepts any media type"
        => serves(|_, it| !it.body.is_empty() && it.header("content-type") != "application/json");
    BodyJson: "accepts an array of one object"
        => serves(|_, it| it.json().is_array());
    BodyUnknownField: "accepts unknown fields"
        => serves(|_, it| {
            let is_unknown = |name: &String| FIELDS.split(' ').all(|it| it != name);
            !it.text("client_id").is_empty() && it.names().iter().any(is_unknown)
        });
    BodyMissingField: "has a default for a missing callback"
        => serves(|_, it| {
            it.is_at(SESSION) && it.json().is_object() && it.json().get("redirect_uri").is_none()
        });
    BodyFieldType: "has a default for a callback that is no string"
        => serves(|_, it| it.json().get("redirect_uri").is_some_and(|it| !it.is_string()));
    BodyFieldNames: "compares field names without case"
        => serves(|_, it| {
            let is_in_other_case = |name: &String| {
                let lower = name.to_lowercase();
                lower != *name && FIELDS.split(' ').any(|it| it == lower)
            };
            it.names().iter().any(is_in_other_case)
        });
    ClientIdLength: "accepts a client_id of any length"
        => serves(|_, it| it.text("client_id").len() > 100);
    ClientSecretLength: "accepts a client_secret of any length"
        => serves(|_, it| it.text("client_secret").len() > 200);
    ClientRecognised: "compares only the beginning of a secret"
        => serves(|_, it| {
            it.text("client_secret").strip_prefix(SECRET).is_some_and(|more| !more.is_empty())
        });
    ClientInBody: "accepts HTTP Basic authentication"
        => serves(|_, it| !it.body.is_empty() && it.header("authorization").starts_with("Basic "));
    RedirectUriShape: "accepts a callback with a query"
        => serves(|_, it| it.text("redirect_uri").split('?').next() == Some(CALLBACK)
            && it.text("redirect_uri").contains('?'));
    RedirectUriRegistered: "accepts a callback with a further slash"
        => serves(|_, it| it.text("redirect_uri").strip_suffix('/') == Some(CALLBACK));
    RedirectUriOwnProject: "accepts the callbacks of every project"
        => serves(|_, it| it.text("redirect_uri") == OTHER_CALLBACK);

    // Every response.
    AnswerMediaType: "sends JSON as text/html"
        => responds(|request, response| {
            if request.is_at(RESULT) {
                let html = HeaderValue::from_static("text/html; charset=utf-8");
                response.headers.insert(CONTENT_TYPE, html);
            }
        });
    AnswerNoUpstreamToken: "returns a refresh token"
        => edit(TOKEN, |body| body["refresh_token"] = "1//0e".into());
    ErrorShape: "refuses without a code"
        => errors(|body| remove(body, "error"));
    UrlNoSecret: "puts the session key into authorization_url"
        => Flaw {
            before: Some(Box::new(|_, request| {
                if let Some((_, path)) = request.path.clone().split_once("/~/") {
                    request.path = format!("/{path}");
                }
                None
            })),
            ..responds(|request, response| {
                let with_key = format!("/{}/~/login/", request.text("session_key"));
                change_url(response, |url| url.replace("/login/", &with_key));
            })
        };

    // POST /v1/login/session.
    SessionStatus: "answers a started login with 201"
        => status(SESSION, 200, 201);
    SessionFields: "leaves out expires_in"
        => edit(SESSION, |body| remove(body, "expires_in"));
    SessionExpiresIn: "announces 601 seconds for a login"
        => edit(SESSION, |body| body["expires_in"] = 601.into());
    AuthorizationUrlShape: "puts a query into authorization_url"
        => responds(|_, response| change_url(response, |url| format!("{url}?from=us")));
    SessionKeyPattern: "accepts a padded session key"
        => serves(|_, it| it.text("session_key").ends_with('='));
    SessionKeyFresh: "accepts a session key twice"
        => serves(|memory, it| it.is_at(SESSION) && memory.knows(&it.text("session_key")));
    ProviderKnown: "compares providers without case"
        => serves(|_, it| it.text("provider") == "Google");

    // The browser returns to the consumer.
    CallbackClean: "returns with a query"
        => locates(|request, it| it == CALLBACK && !is_denial(request), "?login=ok");
    CallbackCleanAfterFailure: "reports a denial in the callback"
        => locates(|request, it| it == CALLBACK && is_denial(request), "?error=access_denied");

    // POST /v1/login/result.
    ResultPending: "calls a pending login waiting"
        => results("pending", |body| body["status"] = "waiting".into());
    ResultPendingKeeps: "consumes a pending session"
        => refuses(400, |memory, it| it.is_at(RESULT) && memory.is_pending(it));
    ResultSucceeded: "leaves out the profile"
        => results("succeeded", |body| remove(body, "profile"));
    ResultFailed: "makes a failed login an HTTP error"
        => changes(|_, response| response.json()["status"] == "failed", |it| *it = refusal(403));
    ResultFields: "sends an error with a pending result"
        => results("pending", |body| body["error"] = "access_denied".into());
    UpstreamDenied: "reports a denial as provider_unavailable"
        => results("failed", |body| body["error"] = "provider_unavailable".into());
    ResultOnce: "returns a result twice"
        => repeats(|memory, it| it.is_at(RESULT) && !memory.is_pending(it));
    ResultKnown: "returns results to any project"
        => serves(|_, it| it.is_at(RESULT) && it.text("client_id") == OTHER_CLIENT_ID);
    ResultCallback: "returns results for any callback"
        => serves(|_, it| it.is_at(RESULT) && it.text("redirect_uri") == SECOND_CALLBACK);
    ResultRefusedStatus: "answers a refused read with 410"
        => status(RESULT, 400, 410);
    ResultRefusedKeeps: "consumes a result on a read with a wrong secret"
        => accepts(|memory, request| {
            let key = request.text("session_key");
            let is_gone = request.is_at(RESULT) && memory.notes.contains(&key);
            if request.is_at(RESULT) && is_other_secret(&request.text("client_secret")) {
                memory.notes.insert(key);
            }
            is_gone.then(|| refusal(400))
        });
    SessionLifetime: "expires a login early"
        => refuses(400, |memory, it| {
            it.is_at(RESULT) && memory.age(&it.text("session_key")) >= EARLY
        });
    ResultExpiry: "never expires a login"
        => serves(|memory, it| it.is_at(RESULT) && memory.age(&it.text("session_key")) >= LOGIN_ENDS);

    // The profile, from either flow.
    ProfileFields: "leaves out what is null"
        => profiles(|profile| {
            if let Some(members) = profile.as_object_mut() {
                members.retain(|_, value| !value.is_null());
            }
        });
    ProfileTypes: "sends false as the name"
        => profiles(|profile| profile["name"] = false.into());
    ProfileProvider: "capitalises the provider"
        => profiles(|profile| profile["provider"] = "Google".into());
    ProfileSubjectStable: "has another subject for an account that was renamed"
        => profiles(|profile| {
            profile["subject"] = subject_of(&format!("{}{}", profile["subject"], profile["name"]));
        });
    ProfileSubjectDistinct: "has one subject for all accounts"
        => profiles(|profile| profile["subject"] = subject_of("all"));
    ProfileSubjectNotEmail: "makes the subject of the address"
        => profiles(|profile| {
            if profile["email"].is_string() {
                profile["subject"] = format!("{}:{}", profile["provider"], profile["email"]).into();
            }
        });

    // POST /v1/token.
    TokenIssued: "refuses good codes"
        => refuses_good(TOKEN, 400);
    CodeLength: "accepts a code that is too long"
        => serves(|_, it| it.text("code").len() > 200);
    GrantTypeConstant: "accepts any grant"
        => serves(|_, it| !["", "authorization_code"].contains(&it.text("grant_type").as_str()));
    CodeVerifierPattern: "accepts a short verifier"
        => serves(|_, it| (1..43).contains(&it.text("code_verifier").len()));
    CodeKnown: "accepts a code that it never issued"
        => serves(|memory, it| {
            let code = it.text("code");
            code.len() == 43 && !memory.knows(&code)
        });
    CodeClient: "redeems for any project"
        => serves(|_, it| it.is_at(TOKEN) && it.text("client_id") == OTHER_CLIENT_ID);
    CodeCallback: "redeems for any callback"
        => serves(|_, it| it.is_at(TOKEN) && it.text("redirect_uri") == SECOND_CALLBACK);
    CodeVerifier: "does not check the verifier"
        => serves(is_other_verifier);
    CodeOnce: "redeems a code twice"
        => repeats(|_, it| it.is_at(TOKEN));
    TokenFields: "leaves out the scope"
        => edit(TOKEN, |body| remove(body, "scope"));
    TokenAccessToken: "issues tokens without a prefix"
        => prefixes("");
    TokenType: "sends bearer in lower case"
        => edit(TOKEN, |body| body["token_type"] = "bearer".into());
    TokenExpiresIn: "sends the seconds of a token as text"
        => edit(TOKEN, |body| body["expires_in"] = "900".into());
    TokenScope: "sends a further scope"
        => edit(TOKEN, |body| body["scope"] = "profile email".into());

    // GET /v1/profile and POST /v1/revoke.
    ProfileBearer: "returns no profile for a token"
        => refuses_good(PROFILE, 403);
    BearerShape: "revokes without a token"
        => serves(|_, it| it.is_at(REVOKE) && it.token().is_empty());
    BearerKnown: "accepts tokens that it never issued"
        => serves(|memory, it| it.is_at(PROFILE) && is_unknown_token(memory, it));
    RevokeAccepted: "revokes nothing"
        => refuses_good(REVOKE, 403);
    RevokeIdempotent: "revokes only what it issued"
        => refuses(401, |memory, it| it.is_at(REVOKE) && is_unknown_token(memory, it));
    BearerEnded: "ignores a revocation"
        => serves(|_, it| it.is_at(REVOKE) && is_whole(it.token()));
    TokenLifetime: "expires a token early"
        => refuses(401, |memory, it| it.is_at(PROFILE) && memory.age(it.token()) >= EARLY);
    BearerExpiry: "never expires a token"
        => serves(|memory, it| it.is_at(PROFILE) && memory.age(it.token()) >= TOKEN_ENDS);

    // Where the specification is silent.
    SuccessStatus: "answers an exchange with 201"
        => status(TOKEN, 200, 201);
    RefusalStatus: "answers unknown credentials with 403"
        => changes(|_, response| response.status == 401, |it| it.status = 403);
    ErrorCode: "has another code"
        => errors(|body| body["error"] = "invalid_request".into());
    // With the request, which is full of secrets that no report may show.
    AnswerMembers: "sends the request back in every object"
        => responds(|request, response| response.edit(|body| {
            let add = |object: &mut Value| object["request"] = request.json();
            body.get_mut("profile").map(add);
            match body {
                Value::Array(items) => items.iter_mut().for_each(add),
                _ if request.is_at(REVOKE) => {}
                object => add(object),
            }
        }));
    BodyDuplicateField: "accepts a field twice"
        => serves(|_, it| String::from_utf8_lossy(&it.body).matches("\"client_id\":").count() == 2);
    RequestSecretBesideBody: "overlooks a secret in a URL"
        => serves(|_, it| has_secret_in_url(it) && !it.text("client_secret").is_empty());
    AuthorizeCallback: "says in the legacy callback who issued the code"
        => locates(|_, it| it.contains("?code="), "&iss=us");
    AuthorizeClient: "sends codes to the callbacks of every project"
        => redirects(|_, it| it.parameter("redirect_uri").is_some_and(|it| it == OTHER_CALLBACK));
    AuthorizeOnce: "takes the first of two parameters"
        => redirects(|_, it| it.path.matches("&provider=").count() == 2);
    AuthorizeChallengeMethod: "accepts a plain challenge"
        => redirects(|_, it| it.parameter("code_challenge_method").is_some_and(|it| it == "plain"));
    AuthorizeResponseType: "ignores the response_type"
        => redirects(|_, it| it.parameter("response_type").is_some());
    CodeKept: "consumes a code on a wrong verifier"
        => accepts(|memory, request| {
            let code = request.text("code");
            let is_gone = memory.notes.contains(&code);
            if is_other_verifier(memory, request) {
                memory.notes.insert(code);
            }
            is_gone.then(|| refusal(400))
        });
    CodeReplayEndsToken: "keeps the token of a code that was redeemed twice"
        => repeats(|memory, it| it.is_at(PROFILE) && memory.age(it.token()) < TOKEN_ENDS);
    CodeExpiry: "never expires a code"
        => serves(|memory, it| memory.age(&it.text("code")) >= CODE_ENDS);
    TokenPrefix: "issues tokens with another prefix"
        => prefixes("tok_");
    ProfileSubjectForm: "has subjects of another form"
        => profiles(|profile| {
            let subject = profile["subject"].as_str().unwrap_or_default();
            profile["subject"] = subject.replace("sub_", "user_").into();
        });
    ProfileProviderSubject: "sends the username as providerSubject"
        => profiles(|profile| {
            if profile["username"].is_string() {
                profile["providerSubject"] = profile["username"].clone();
            }
        });
    ProfileNames: "drops the name"
        => profiles(|profile| profile["name"] = Value::Null);
    ProfileEmail: "sends an address of its own"
        => profiles(|profile| {
            if profile["email"].is_string() {
                profile["email"] = "user@users.broker.example".into();
            }
        });
    ProfileEmailVerified: "calls every address verified"
        => profiles(|profile| profile["emailVerified"] = profile["email"].is_string().into());
    BearerHeader: "accepts a token in the query"
        => serves(|_, it| it.parameter("access_token").is_some());
    RevokeBody: "answers a revocation with more than an empty object"
        => edit(REVOKE, |body| body["revoked"] = true.into());

    // The browser's part.
    UpstreamLoginOwnBrowser: "accepts a provider's answer in any browser"
        => accepts(|memory, request| {
            let state = request.parameter("state").unwrap_or_default();
            if let Some(cookie) = memory.cookies.get(&state)
                && request.is_upstream_callback()
                && !request.headers.contains_key(COOKIE)
            {
                request.headers.insert(COOKIE, cookie.clone());
            }
            None
        });
    UpstreamLoginOnce: "brings a code for each delivery of a provider's answer"
        => repeats(|_, it| it.is_upstream_callback());
    UpstreamLoginExpiry: "accepts a provider's answer at any time"
        => accepts(|memory, request| {
            let state = request.parameter("state").unwrap_or_default();
            let is_late = request.is_upstream_callback() && memory.age(&state) >= LOGIN_ENDS;
            is_late.then(|| Response::to(&format!("{CALLBACK}?code={}", secret())))
        });
    BrowserHead: "runs the GET handler for HEAD"
        => accepts(|_, request| {
            if request.method == Method::HEAD && request.is_upstream_callback() {
                request.method = Method::GET;
            }
            None
        });
    CookieAttributes: "lets scripts read its cookies"
        => responds(|_, response| {
            if let Some(cookie) = response.headers.get_mut(SET_COOKIE) {
                let scripted = cookie.to_str().expect("an ASCII cookie").replace("; HttpOnly", "");
                *cookie = HeaderValue::from_str(&scripted).expect("an ASCII cookie");
            }
        });
}

/// Changes or answers a request.
pub(super) fn accepts(
    before: impl Fn(&mut Memory, &mut Request) -> Option<Response> + Send + Sync + 'static,
) -> Flaw {
    Flaw {
        before: Some(Box::new(before)),
        ..Flaw::default()
    }
}

/// Changes a response.
fn responds(after: impl Fn(&Request, &mut Response) + Send + Sync + 'static) -> Flaw {
    Flaw {
        after: Some(Box::new(after)),
        ..Flaw::default()
    }
}

/// Answers such a request in the broker's place.
fn answers(
    when: fn(&Memory, &Request) -> bool,
    answer: impl Fn() -> Response + Send + Sync + 'static,
) -> Flaw {
    accepts(move |memory, request| when(memory, request).then(&answer))
}

/// Answers such a request with a success.
fn serves(when: fn(&Memory, &Request) -> bool) -> Flaw {
    answers(when, || Response::of(200, "{}"))
}

/// Refuses such a request.
fn refuses(status: u16, when: fn(&Memory, &Request) -> bool) -> Flaw {
    answers(when, move || refusal(status))
}

/// Redirects such a request to a provider.
fn redirects(when: fn(&Memory, &Request) -> bool) -> Flaw {
    answers(when, || Response::to("https://provider.example/"))
}

/// Answers such a request as it was answered the last time.
fn repeats(when: fn(&Memory, &Request) -> bool) -> Flaw {
    accepts(move |memory, request| {
        let known = memory.answer_to(request).cloned();
        known.filter(|_| when(memory, request))
    })
}

/// Changes such a response.
fn changes(
    when: impl Fn(&Request, &Response) -> bool + Send + Sync + 'static,
    change: impl Fn(&mut Response) + Send + Sync + 'static,
) -> Flaw {
    responds(move |request, response| {
        if when(request, response) {
            change(response);
        }
    })
}

/// Refuses what succeeded at `path`.
fn refuses_good(path: &'static str, status: u16) -> Flaw {
    changes(
        move |request, response| request.is_at(path) && response.status == 200,
        move |response| *response = refusal(status),
    )
}

/// Answers at `path` with another status.
fn status(path: &'static str, is: u16, becomes: u16) -> Flaw {
    changes(
        move |request, response| request.is_at(path) && response.status == is,
        move |response| response.status = becomes,
    )
}

/// Adds to such an address of a redirect.
fn locates(when: fn(&Request, &str) -> bool, more: &'static str) -> Flaw {
    changes(
        move |request, response| when(request, &response.location()),
        move |response| response.locate(&format!("{}{more}", response.location())),
    )
}

/// Changes the body of such a response.
fn edits(
    when: impl Fn(&Request, &Response) -> bool + Send + Sync + 'static,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Flaw {
    changes(when, move |response| response.edit(&change))
}

/// Changes the body of a success at `path`.
fn edit(path: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Flaw {
    edits(
        move |request, response| request.is_at(path) && response.status == 200,
        change,
    )
}

/// Changes the body of a refusal.
fn errors(change: fn(&mut Value)) -> Flaw {
    edits(|_, response| response.status >= 400, change)
}

/// Changes a result of this status.
fn results(status: &'static str, change: fn(&mut Value)) -> Flaw {
    edits(
        move |_, response| response.json()["status"] == status,
        change,
    )
}

/// Changes a profile in the response of either flow.
fn profiles(change: fn(&mut Value)) -> Flaw {
    edits(
        |_, _| true,
        move |body| {
            if body.get("subject").is_some() {
                change(body);
            } else if let Some(profile) = body.get_mut("profile") {
                change(profile);
            }
        },
    )
}

/// Issues tokens with this prefix, and accepts them back.
fn prefixes(prefix: &'static str) -> Flaw {
    let before = move |_: &mut Memory, request: &mut Request| {
        let random = request.token().strip_prefix(prefix).unwrap_or_default();
        if random.len() == 43 {
            let value = HeaderValue::from_str(&format!("Bearer fsi_{random}"));
            let value = value.expect("visible characters");
            request.headers.insert("authorization", value);
        }
        None
    };
    Flaw {
        before: Some(Box::new(before)),
        ..edit(TOKEN, move |body| {
            if let Some(token) = body["access_token"].as_str() {
                body["access_token"] = token.replace("fsi_", prefix).into();
            }
        })
    }
}

fn refusal(status: u16) -> Response {
    Response::of(status, r#"{"error":"request_failed"}"#)
}

/// A subject of the form of this kit's.
fn subject_of(account: &str) -> Value {
    format!("sub_{}", challenge(account)).into()
}

fn remove(object: &mut Value, member: &str) {
    if let Some(members) = object.as_object_mut() {
        members.remove(member);
    }
}

fn change_url(response: &mut Response, change: impl FnOnce(&str) -> String) {
    response.edit(|body| {
        if let Some(url) = body["authorization_url"].as_str() {
            body["authorization_url"] = change(url).into();
        }
    });
}

fn has_secret_in_url(request: &Request) -> bool {
    request.method == Method::POST && request.parameter("client_secret").is_some()
}

/// Whether this is a secret within the limit, and not the project's.
fn is_other_secret(secret: &str) -> bool {
    (1..=200).contains(&secret.len()) && secret != SECRET
}

/// Whether the provider reports that the user declined.
fn is_denial(request: &Request) -> bool {
    request
        .parameter("error")
        .is_some_and(|it| it == "access_denied")
}

/// Whether this is an exchange with a well-formed verifier of no login.
fn is_other_verifier(memory: &Memory, request: &Request) -> bool {
    let verifier = request.text("code_verifier");
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    (43..=128).contains(&verifier.len())
        && verifier.bytes().all(is_allowed)
        && !memory.knows(&challenge(&verifier))
}

/// Whether this has the form of a token.
fn is_whole(token: &str) -> bool {
    token.len() == "fsi_".len() + 43
}

fn is_unknown_token(memory: &Memory, request: &Request) -> bool {
    is_whole(request.token()) && !memory.knows(request.token())
}
