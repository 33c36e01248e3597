//! Google: OpenID Connect with ID tokens. Here: its addresses, its state, and the discovery
//! document.
//!
//! The paths are the real ones, all on one host. Sources: Google's OpenID Connect reference
//! and "OAuth 2.0 for Web Server Applications".

mod keys;
mod request;

mod id_token;
mod token;
mod userinfo;

use serde_json::json;

use crate::User;
use crate::expiring_store::{ExpiringStore, HeapSize};
use crate::http::Response;
use crate::journal::{IdTokenReport, Recipient};
use crate::provider::{Imitated, Protocol, Route};
use crate::settings::ProviderSettings;
use crate::system::{URL_SAFE, random_string};
use keys::KeyRing;
use request::{GoogleDetails, Scopes};

const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
const AUTHORIZATION_PATH: &str = "/o/oauth2/v2/auth";
/// The authorization endpoint in the client files that Google's console hands out.
const OLDER_AUTHORIZATION_PATH: &str = "/o/oauth2/auth";
const TOKEN_PATH: &str = "/token";
const REVOCATION_PATH: &str = "/revoke";
const USERINFO_PATH: &str = "/v1/userinfo";
const KEYS_PATH: &str = "/oauth2/v3/certs";

/// The start of every code. Its slash is not part of base64url.
const CODE_PREFIX: &str = "4/0A";

/// The imitated Google.
pub(crate) type Google = Imitated<OpenIdProvider>;

/// The state that GitHub has none of: keys, and offline access.
#[derive(Default)]
pub(crate) struct OpenIdProvider {
    keys: KeyRing,
    /// The clients and the users who granted them offline access, by `sub`.
    offline_users: ExpiringStore<()>,
}

/// The access that an access token gives.
#[derive(Clone)]
pub(crate) struct Access {
    /// The client that the token was issued to.
    client_id: String,
    user: User,
    scopes: Scopes,
    is_offline: bool,
    expires_ms: i64,
}

impl HeapSize for Access {
    fn heap_bytes(&self) -> usize {
        self.client_id.len() + self.user.heap_bytes()
    }
}

impl Protocol for OpenIdProvider {
    type Details = GoogleDetails;
    type Access = Access;

    const URLS: &'static [(&'static str, &'static str)] = &[
        ("issuer", Self::ISSUER_PATH),
        ("discovery document", DISCOVERY_PATH),
        ("authorization endpoint", AUTHORIZATION_PATH),
        ("token endpoint", TOKEN_PATH),
        ("userinfo endpoint", USERINFO_PATH),
        ("published keys", KEYS_PATH),
    ];

    const ISSUER_PATH: &'static str = "";

    fn routes(path: &str) -> &'static [Route<Self>] {
        match path {
            DISCOVERY_PATH => &[("GET", |google, _| google.discovery())],
            KEYS_PATH => &[("GET", |google, http| {
                google
                    .own
                    .keys
                    .respond(&google.context, http, KeyRing::jwks)
            })],
            "/oauth2/v1/certs" => &[("GET", |google, http| {
                google
                    .own
                    .keys
                    .respond(&google.context, http, KeyRing::certificates)
            })],
            AUTHORIZATION_PATH | OLDER_AUTHORIZATION_PATH => &[("GET", Google::authorize)],
            TOKEN_PATH => &[("POST", Google::token)],
            REVOCATION_PATH => &[("POST", Google::revoke)],
            "/tokeninfo" => &[("GET", Google::tokeninfo), ("POST", Google::tokeninfo)],
            USERINFO_PATH | "/oauth2/v3/userinfo" => {
                &[("GET", Google::userinfo), ("POST", Google::userinfo)]
            }
            "/oauth2/v1/userinfo" | "/oauth2/v2/userinfo" => &[
                ("GET", Google::older_userinfo),
                ("POST", Google::older_userinfo),
            ],
            _ => &[],
        }
    }

    fn new_code(settings: &ProviderSettings) -> (String, i64) {
        let code = format!("{CODE_PREFIX}{}", random_string(URL_SAFE, 70));
        let seconds = settings.unconfirmed.google_code_lifetime_seconds;
        (code, i64::from(seconds) * 1000)
    }

    /// Google was seen to send no description.
    fn error_params(error: &str, _description: &str) -> Vec<(&'static str, String)> {
        vec![("error", error.to_owned())]
    }

    fn id_token_report(
        google: &Google,
        token: &str,
        recipient: &Recipient<'_>,
    ) -> Option<IdTokenReport> {
        Some(google.report(token, recipient))
    }

    fn rotate_keys(&self) {
        self.keys.rotate();
    }

    fn bytes_held(&self) -> usize {
        self.offline_users.bytes_held()
    }

    fn reset(&self) {
        self.offline_users.clear();
        self.keys.reset();
    }
}

impl Google {
    /// Google's members and lists, though the mock supports less. A client has to choose from
    /// a list with care: one starts with `plain`.
    fn discovery(&self) -> Response {
        let url = &self.context.url;
        let mut document = json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}{AUTHORIZATION_PATH}"),
            "token_endpoint": format!("{url}{TOKEN_PATH}"),
            "userinfo_endpoint": format!("{url}{USERINFO_PATH}"),
            "revocation_endpoint": format!("{url}{REVOCATION_PATH}"),
            "jwks_uri": format!("{url}{KEYS_PATH}"),
            "device_authorization_endpoint": format!("{url}/device/code"),
            "response_types_supported": [
                "code", "token", "id_token", "code token", "code id_token", "token id_token",
                "code token id_token", "none",
            ],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "claims_supported": [
                "aud", "email", "email_verified", "exp", "family_name", "given_name",
                "iat", "iss", "name", "picture", "sub",
            ],
            "code_challenge_methods_supported": ["plain", "S256"],
            "grant_types_supported": [
                "authorization_code", "refresh_token",
                "urn:ietf:params:oauth:grant-type:device_code",
                "urn:ietf:params:oauth:grant-type:jwt-bearer",
            ],
        });
        let context = &self.context;
        if context.settings.unconfirmed.google_announces_iss && context.iss_is_in_every_callback() {
            document["authorization_response_iss_parameter_supported"] = true.into();
        }
        Response::json(200, &document).with_header("cache-control", "public, max-age=3600")
    }
}
