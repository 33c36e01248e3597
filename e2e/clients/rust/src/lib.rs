//! The stack that the suite stands on, at `STACK_CONTROL`: `just test-clients` starts one.

use std::env;
use std::sync::{Mutex, MutexGuard, PoisonError};

use openidconnect::reqwest::{Method, blocking::Client, redirect};
use openidconnect::url::Url;
use serde_json::{Value, json};

/// The client that is registered with the imitations.
pub const CLIENT_ID: &str = "federated-sign-in-kit";
/// Its secret.
pub const CLIENT_SECRET: &str = "mock-upstream-secret";

/// A stack whose providers sign a user in without a page, for one test at a time.
pub struct Stack {
    /// The imitated Google, which is also its issuer.
    pub google: String,
    /// The callback that is registered there: the broker's.
    pub callback: String,
    /// An HTTP client that follows no redirect.
    pub http: Client,
    control: String,
    _alone: MutexGuard<'static, ()>,
}

impl Stack {
    /// A new world.
    #[expect(
        clippy::disallowed_methods,
        reason = "the suite's one setting, as in the other languages"
    )]
    pub fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let control = env::var("STACK_CONTROL").expect("`just test-clients` names a stack");
        let http = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy();
        let mut stack = Self {
            google: String::new(),
            callback: String::new(),
            http: http.build().expect("a client without TLS"),
            control,
            _alone: alone,
        };
        stack.call(Method::POST, "/api/reset", None);
        let automatic = json!({ "mode": "automatic" });
        stack.call(Method::PUT, "/api/upstreams/google", Some(automatic));
        let urls = stack.call(Method::GET, "/api/stack", None);
        stack.google = text(&urls["upstreams"]["google"]);
        stack.callback = format!("{}/callback/google", text(&urls["broker"]));
        stack
    }

    /// Lets the next sign-in go wrong.
    pub fn goes_wrong(&self, misbehaviour: &str) {
        let next = json!({ "misbehave": misbehaviour });
        self.call(Method::POST, "/api/upstreams/google/next", Some(next));
    }

    /// The browser's part: opens the URL, and returns the callback it is sent to.
    pub fn callback_of(&self, authorization_url: Url) -> Url {
        let answer = self.http.get(authorization_url).send().expect("an answer");
        let location = answer.headers().get("location").expect("a redirect");
        let location = location.to_str().expect("an address is ASCII");
        location.parse().expect("a redirect leads to a URL")
    }

    fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let request = self.http.request(method, format!("{}{path}", self.control));
        let request = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(body.to_string()),
            None => request,
        };
        let answer = request.send().expect("the control address answers");
        let (status, body) = (answer.status(), answer.text().expect("a whole answer"));
        assert!(status.is_success(), "{path}: {status} {body}");
        serde_json::from_str(&body).unwrap_or(Value::Null)
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("an address").to_owned()
}
