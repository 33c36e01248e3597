//! The values behind the numbers: keys, handles, browsers, codes and tokens.

use broker::model::grant::{NewGrant, Redemption};
use broker::model::login_session::{BrowserBinding, NewLogin, ResultQuery, open};
use broker::model::upstream_login::{Purpose, Seed, UpstreamLogin};
use broker::model::{LoginId, UnixMs};
use contract::{
    AccessToken, ClientId, CodeVerifier, Digest, GrantType, HandoffCode, LoginSessionRequest,
    Provider, RedirectUri, SessionKey, State, TokenRequest,
};

use crate::test_broker::ada;

pub(crate) const CALLBACK: &str = "https://app.example/cb";

fn key_of(n: u8) -> SessionKey {
    SessionKey::from_random(&[n; 32])
}

pub(crate) fn handle_of(n: u8) -> Digest {
    Digest::derive("handle", &[n])
}

pub(crate) fn binding(n: u8) -> BrowserBinding {
    BrowserBinding(Digest::derive("browser", &[n]))
}

pub(crate) fn project(name: &str) -> ClientId {
    format!("prj_{name}").parse().unwrap()
}

pub(crate) fn callback(text: &str) -> RedirectUri {
    text.parse().unwrap()
}

pub(crate) fn login(key: u8, handle: Digest, name: &str, now: UnixMs) -> NewLogin {
    let request = LoginSessionRequest {
        client_id: project(name),
        client_secret: "unused".parse().unwrap(),
        session_key: key_of(key),
        provider: Provider::GitHub,
        redirect_uri: callback(CALLBACK),
    };
    open(&request, handle, now)
}

pub(crate) fn query(key: u8) -> ResultQuery {
    ResultQuery {
        key: key_of(key).digest(),
        project: project("ada"),
        redirect_uri: callback(CALLBACK),
    }
}

pub(crate) fn upstream_login(seed: u8, ends: UnixMs) -> UpstreamLogin {
    UpstreamLogin {
        seed: Seed::from_random([seed; 32]),
        login: LoginId::of_key(&key_of(seed)),
        provider: Provider::GitHub,
        project: project("ada"),
        callback: callback(CALLBACK).digest(),
        ends,
        purpose: Purpose::Legacy {
            state: State::from_random(&[seed; 32]),
            challenge: verifier(seed).challenge(),
        },
    }
}

pub(crate) fn verifier(n: u8) -> CodeVerifier {
    CodeVerifier::from_random(&[n; 32])
}

pub(crate) fn token_of(n: u8) -> Digest {
    AccessToken::from_random(&[n; 32]).digest()
}

pub(crate) fn grant(code: u8, now: UnixMs) -> NewGrant {
    let challenge = verifier(code).challenge();
    let digest = HandoffCode::from_random(&[code; 32]).digest();
    NewGrant::of(&upstream_login(code, now), &challenge, ada(), digest, now)
}

pub(crate) fn redemption(code: u8, token: u8, now: UnixMs) -> Redemption {
    let request = TokenRequest {
        grant_type: GrantType::AuthorizationCode,
        client_id: "prj_ada".parse().unwrap(),
        client_secret: "unused".parse().unwrap(),
        code: HandoffCode::from_random(&[code; 32]),
        redirect_uri: callback(CALLBACK),
        code_verifier: verifier(code),
    };
    Redemption::of(&request, &project("ada"), token_of(token), now)
}
