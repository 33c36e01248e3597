//! Makes logins, upstream logins, codes and tokens that the broker accepts.

use std::str::FromStr;

use broker::model::grant::{NewGrant, Redemption};
use broker::model::login_session::{LoginOutcome, open};
use broker::model::upstream_login::{Seed, UpstreamLogin};
use broker::store::Store as _;
use contract::{
    AccessToken, CodeVerifier, Digest, HandoffCode, LoginSessionRequest, Profile, Provider,
    TokenRequest,
};
use serde_json::json;
use testkit::fuzz::FuzzRequest;

use super::broker::{CALLBACKS, CLIENT, FuzzedBroker, SECRET, USER};
use testkit::fresh;
use testkit::server::runtime;

impl FuzzedBroker {
    /// A login that no browser has visited: its session key and its handle.
    pub(super) fn pending(&self) -> (String, String) {
        let (key, handle) = (self.issued(fresh::secret()), fresh::secret());
        let request: LoginSessionRequest = parsed(json!({
            "client_id": CLIENT,
            "client_secret": SECRET,
            "session_key": key,
            "provider": "github",
            "redirect_uri": CALLBACKS[0],
        }));
        let now = self.clock.now();
        let login = open(&request, Digest::of(handle.as_bytes()), now);
        done(self.store.open(login, now));
        (key, handle)
    }

    /// The session key of a login whose result is not read.
    pub(super) fn completed(&self) -> String {
        let (key, handle) = self.pending();
        let handle = Digest::of(handle.as_bytes());
        let outcome = LoginOutcome::Succeeded(ada());
        done(self.store.complete(handle, outcome, self.clock.now()));
        key
    }

    /// A code that is not redeemed, and the verifier of its challenge.
    pub(super) fn code(&self) -> (String, String) {
        let (code, verifier) = (self.issued(fresh::secret()), self.issued(fresh::secret()));
        let challenge = text::<CodeVerifier>(&verifier).challenge();
        let transaction = (text(&fresh::secret()), challenge.clone());
        let (seed, now) = (Seed::from_random([7; 32]), self.clock.now());
        let callback = text(CALLBACKS[0]);
        let upstream_login = UpstreamLogin::for_authorization(
            seed,
            &text(CLIENT),
            &callback,
            Provider::GitHub,
            transaction,
            now,
        );
        let digest = text::<HandoffCode>(&code).digest();
        done(self.store.issue(NewGrant::of(
            &upstream_login,
            &challenge,
            ada(),
            digest,
            now,
        )));
        (code, verifier)
    }

    /// A valid access token.
    pub(super) fn token(&self) -> String {
        let (code, verifier) = self.code();
        let request: TokenRequest = parsed(json!({
            "grant_type": "authorization_code",
            "client_id": CLIENT,
            "client_secret": SECRET,
            "code": code,
            "redirect_uri": CALLBACKS[0],
            "code_verifier": verifier,
        }));
        let token = self.issued(format!("fsi_{}", fresh::secret()));
        let (digest, now) = (text::<AccessToken>(&token).digest(), self.clock.now());
        let redemption = Redemption::of(&request, &text(CLIENT), digest, now);
        done(self.store.redeem(redemption, now));
        token
    }

    /// The cookie of a browser that the broker sent from `target` to the provider, and the
    /// state with which it comes back.
    pub(super) fn upstream_login(&self, target: &str) -> (String, String) {
        let visit = FuzzRequest::read(format!("GET {target}").as_bytes());
        let redirect = self.send(&visit.expect("an address"));
        let cookie = redirect
            .header("set-cookie")
            .expect("the cookie of an upstream login");
        let cookie = cookie.split(';').next().expect("its name and value");
        let url = redirect.location().expect("a redirect to the provider");
        let url = url::Url::parse(url).expect("an address");
        let state = url.query_pairs().find(|(name, _)| name == "state");
        (
            self.issued(cookie.to_owned()),
            state.expect("its state").1.into_owned(),
        )
    }
}

/// The address at which a browser of the legacy flow begins.
pub(super) fn authorize() -> String {
    let challenge = fresh::challenge(&fresh::secret());
    format!(
        "/authorize?client_id={CLIENT}&redirect_uri={}&provider=github&state={}\
         &code_challenge={challenge}&code_challenge_method=S256",
        CALLBACKS[0],
        fresh::secret()
    )
}

fn ada() -> Profile {
    parsed(json!({
        "subject": fresh::subject("github", USER),
        "provider": "github",
        "providerSubject": USER,
        "name": "Ada",
        "username": "ada",
        "email": null,
        "emailVerified": false,
        "avatarUrl": null,
    }))
}

fn parsed<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).expect("it is well-formed")
}

fn text<T: FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("it is well-formed")
}

fn done<T>(step: impl Future<Output = Result<T, broker::store::StoreError>>) {
    runtime()
        .block_on(step)
        .map(drop)
        .expect("the store is there");
}
