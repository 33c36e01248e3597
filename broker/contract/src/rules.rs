//! The rule catalogue: every reason for which something is refused.
//!
//! The audit log writes a rule's id beside each refusal. Everything that explains a
//! refusal to a reader (the inspector, a conformance verdict) takes the sentence and
//! the advice from here, so that they cannot drift apart.

use std::fmt;

/// The source of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A section of the specification.
    Spec(&'static str),
    /// The specification is silent; this kit chose.
    KitChoice,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Spec(section) => write!(f, "SPEC {section}"),
            Source::KitChoice => f.write_str("KIT-CHOICE"),
        }
    }
}

/// A value breaks a rule. The error names the rule and never repeats the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.sentence())]
pub struct Malformed(
    /// The rule that was broken.
    pub Rule,
);

/// Declares the catalogue as one table: variant, id, source, the rule, what happens when it
/// is broken, advice.
macro_rules! catalogue {
    ($($variant:ident = $id:literal, $source:expr, $sentence:literal, $happened:literal, $advice:literal;)+) => {
        /// One rule of the catalogue.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule {
            $(#[doc = $sentence] $variant,)+
        }

        impl Rule {
            /// Every rule, in the order of the catalogue.
            pub const ALL: &[Rule] = &[$(Rule::$variant,)+];

            /// The stable id: `area.name`.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$variant => $id,)+ }
            }

            /// The rule in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Rule::$variant => $sentence,)+ }
            }

            /// What has happened when the rule refuses a request, in one sentence.
            pub fn happened(self) -> &'static str {
                match self { $(Rule::$variant => $happened,)+ }
            }

            /// The section of the specification, or this kit's choice.
            pub fn source(self) -> Source {
                use Source::{KitChoice, Spec};
                match self { $(Rule::$variant => $source,)+ }
            }

            /// Advice to an integrator who broke the rule.
            pub fn advice(self) -> &'static str {
                match self { $(Rule::$variant => $advice,)+ }
            }
        }
    };
}

catalogue! {
    // Values.
    ClientIdLength = "client_id.length", Spec("Limits"),
        "A client_id has 1 to 100 characters, at the token endpoint at most 100",
        "The client_id is empty, or too long",
        "Send the client_id exactly as the project's registration shows it.";
    ClientSecretLength = "client_secret.length", Spec("Limits"),
        "A client_secret has 1 to 200 characters",
        "The client_secret is empty, or too long",
        "Send the client_secret exactly as it was issued.";
    SessionKeyPattern = "session_key.pattern", Spec("LoginSessionRequest"),
        "A session_key is 43 characters of [A-Za-z0-9_-]",
        "The session_key does not have the form of one",
        "Draw 32 random bytes for each login and encode them as base64url without padding.";
    StatePattern = "state.pattern", Spec("Transaction"),
        "A state is 43 characters of [A-Za-z0-9_-]",
        "The state is missing, or does not have the form of one",
        "Draw 32 random bytes for each login and encode them as base64url without padding.";
    CodeChallengePattern = "code_challenge.pattern", Spec("Transaction"),
        "A code_challenge is 43 characters of [A-Za-z0-9_-]",
        "The code_challenge is missing, or does not have the form of one",
        "Send base64url(SHA-256(code_verifier)) without padding.";
    CodeVerifierPattern = "code_verifier.pattern", Spec("TokenRequest"),
        "A code_verifier is 43 to 128 characters of [A-Za-z0-9._~-]",
        "The code_verifier does not have the form of one",
        "Draw 32 random bytes for each login and encode them as base64url without padding.";
    HandoffCodeLength = "code.length", Spec("Limits"),
        "A code has 1 to 200 characters",
        "The code is empty, or too long",
        "Send the code parameter of the callback unchanged.";
    RedirectUriShape = "redirect_uri.shape", Spec("RedirectUri"),
        "A redirect_uri is an HTTPS or HTTP loopback URL of at most 2048 characters without credentials, query or fragment",
        "The redirect_uri is not a URL that a callback may have",
        "Send the registered callback byte for byte.";
    RedirectUriCanonical = "redirect_uri.canonical", KitChoice,
        "A redirect_uri is written as a browser writes it",
        "The redirect_uri is written in another way than a browser writes it",
        "Register and send it with a lower-case host, without a default port and without dots for folders.";
    AuthorizationUrlShape = "authorization_url.shape", Spec("LoginSessionResponse"),
        "An authorization_url is an HTTPS or HTTP loopback URL of at most 2048 characters without credentials, query or fragment",
        "The authorization_url is not a URL that a browser may be sent to",
        "Do not send a browser to any other address, even if a service returned it.";
    OriginShape = "origin.shape", KitChoice,
        "A base address is an HTTPS origin, or an HTTP loopback one, without path, trailing slash or default port",
        "The base address has a path, a trailing slash, its scheme's own port or another scheme",
        "Write it like https://signin.example or http://127.0.0.1:8000.";
    ProviderKnown = "provider.known", Spec("Provider"),
        "A provider is google or github",
        "The provider is neither google nor github",
        "Send one of the two identifiers, in lower case.";
    GrantTypeConstant = "grant_type.constant", Spec("TokenRequest"),
        "The grant_type is authorization_code",
        "The grant_type is not authorization_code",
        "Send the constant; no other grant exists.";
    DigestText = "digest.text", KitChoice,
        "A digest is 43 characters of base64url: SHA-256, without padding",
        "The digest does not have the form of one",
        "Let `broker new-project` make it.";

    // Requests.
    RequestHttp = "request.http", KitChoice,
        "A request is well-formed HTTP",
        "The request is not well-formed HTTP",
        "Look at the request line and the headers that your client sends.";
    RequestPath = "request.path", KitChoice,
        "Only the paths of the specification exist",
        "This path does not exist",
        "Check the path and its prefix: /v1/… for versioned operations, /authorize and /api/providers without.";
    RequestMethod = "request.method", KitChoice,
        "A path answers only its own methods",
        "This path has no such method",
        "Use the method that the Allow header names.";
    RequestSecretInUrl = "request.secret_in_url", Spec("What the service does, 7"),
        "A client_secret or session_key never appears in a URL",
        "The URL contains a client_secret or a session_key",
        "Send it in the JSON body. Treat the one that was in the URL as leaked and replace it.";
    RequestVerifierInUrl = "request.verifier_in_url", KitChoice,
        "A code_verifier never appears in a URL",
        "The URL contains a code_verifier",
        "Send it in the JSON body of the exchange, and start a new login: this verifier has leaked.";
    RequestPrefetch = "request.prefetch", KitChoice,
        "A prefetch changes nothing, so it is not answered",
        "The browser requested the page ahead of time",
        "Nothing to do: the browser requests the page again when the user opens it.";
    RequestCookies = "request.cookies", KitChoice,
        "The cookies of a browser are UTF-8",
        "A cookie for this host or its parent domain has a byte that is not UTF-8, which hides all others",
        "Find the site of the same domain that sets it. Behind the nginx configuration of this kit such a cookie is removed.";
    BodyMediaType = "body.media_type", Spec("Endpoints"),
        "A body is sent as application/json",
        "The body was not sent as application/json",
        "Set Content-Type: application/json.";
    BodyEncoding = "body.encoding", KitChoice,
        "A body is sent without Content-Encoding",
        "The body was sent with a Content-Encoding",
        "Send the JSON as it is; nothing here is decompressed.";
    BodySize = "body.size", KitChoice,
        "A body is at most 32 KiB",
        "The body is larger than 32 KiB",
        "Send only the fields of the request's table.";
    BodyTime = "body.time", KitChoice,
        "A body follows the head of its request at once",
        "The body did not arrive in time",
        "Send the whole body right after the head of the request; look for a proxy that delays it.";
    BodyJson = "body.json", Spec("Endpoints"),
        "A body is exactly one JSON object in UTF-8",
        "The body is not one JSON object in UTF-8",
        "Serialize one object; no byte order mark, nothing before or after it.";
    BodyUnknownField = "body.unknown_field", Spec("Resources and their fields"),
        "A request has no fields but those of its table",
        "The body has a field that is not in its table",
        "Remove the extra field; names are case-sensitive.";
    BodyDuplicateField = "body.duplicate_field", KitChoice,
        "A request has each field once",
        "The body has a field twice",
        "Remove the second one.";
    BodyMissingField = "body.missing_field", Spec("Resources and their fields"),
        "A request has every required field of its table",
        "The body lacks a required field",
        "Add the field; HTTP Basic credentials are not read.";
    BodyFieldType = "body.field_type", Spec("Resources and their fields"),
        "Every field of a request is a string",
        "A field of the body is not a string",
        "Send a JSON string, not null, a number, an array or an object.";

    // Clients.
    ClientRecognised = "client.recognised", Spec("Authentication"),
        "A call carries the credentials of a project",
        "The credentials are not those of a project",
        "Check both client_id and client_secret; the answer does not say which one is wrong.";
    ClientRateLimit = "client.rate_limit", KitChoice,
        "One address presents wrong credentials for one client only a few times a minute",
        "This address sent wrong credentials too often",
        "Stop, and compare the client_secret that is deployed with the one that was issued. The right one is served at once.";
    RedirectUriRegistered = "redirect_uri.registered", Spec("RedirectUri"),
        "The redirect_uri is exactly one of the project's callbacks",
        "The redirect_uri is not registered for this project",
        "Compare byte for byte: localhost and 127.0.0.1, a port and a trailing slash all count.";
    ProviderOffered = "provider.offered", KitChoice,
        "A login goes to a provider that is configured and enabled",
        "The provider is not configured, or is switched off",
        "Read GET /api/providers to see which providers are available.";

    // The clean callback flow.
    SessionQuota = "session.quota", KitChoice,
        "The number of a project's login sessions under way is limited",
        "Too many login sessions of this project are under way",
        "Start a login only when a user asks for one, and limit how often one visitor may ask.";
    SessionKeyFresh = "session_key.fresh", KitChoice,
        "A session_key that started a login starts no other for 600 seconds",
        "The session_key has started a login before",
        "Make a new key for every login, also after a failed one.";
    ResultKnown = "result.known", Spec("POST /v1/login/result"),
        "A result is read under a key that the same project started a login with",
        "This project started no login with this session_key",
        "Read with the key and the client_id of the session call.";
    ResultCallback = "result.callback", Spec("LoginResultRequest"),
        "A result is read with the callback that the login was started with",
        "The redirect_uri is not the one that the login was started with",
        "Keep the redirect_uri beside the session_key and send the same one.";
    ResultExpiry = "result.expiry", Spec("States and transitions"),
        "A login session lives 600 seconds",
        "The login session has expired",
        "Start a new login.";
    ResultOnce = "result.once", Spec("POST /v1/login/result, rule 2"),
        "A terminal result is consumed by the first read",
        "The result was read before",
        "Keep what the first read returned. If its answer was lost, start a new login; never read again.";

    // The browser's part.
    HandleKnown = "handle.known", KitChoice,
        "An authorization URL leads to a login that is still known",
        "The authorization URL has expired, or was used before",
        "Start again at the application; an authorization URL cannot be kept or bookmarked.";
    HandleOneBrowser = "handle.one_browser", KitChoice,
        "An authorization URL belongs to the first browser that opens it",
        "The authorization URL was opened in another browser before",
        "Open it in the browser that started the login, once. If this is that browser, start again at the application.";
    RelayStartOrigin = "relay.start_origin", KitChoice,
        "A sign-in that begins on a page of the project needs no confirmation",
        "The user is asked whether they started this sign-in",
        "Start it by a form or a link on a page of start_origins that is not under Referrer-Policy: no-referrer. Typed addresses and links in messages always need confirmation.";
    RelayOwnPage = "relay.own_page", KitChoice,
        "Continue and Cancel are pressed on the broker's confirmation page",
        "The button was not pressed on the broker's confirmation page",
        "Open the authorization URL in a browser and press the button there.";
    RelayCancelled = "relay.cancelled", KitChoice,
        "A user may cancel before the redirect to a provider",
        "The user cancelled on the broker's confirmation page",
        "Offer to start again. If users who did start the sign-in see the confirmation page, follow the advice of relay.start_origin.";
    UpstreamLoginOwnBrowser = "upstream_login.own_browser", KitChoice,
        "A provider's answer counts only in the browser that was redirected to the provider",
        "The user came back from the provider in another browser",
        "Start again at the application, in one browser, with cookies allowed (curl -L needs a cookie jar).";
    UpstreamLoginSameTraits = "upstream_login.same_traits", KitChoice,
        "A browser that comes back from a provider as it left needs no confirmation",
        "The browser looks different, or came from another network, than the one that began",
        "Nothing to do: the user is asked whether they started this sign-in. If all of them are asked, look for a proxy that changes User-Agent or the client's address.";
    UpstreamLoginOnce = "upstream_login.once", KitChoice,
        "A provider's answer counts once",
        "The provider's answer was used before",
        "Nothing to do in the clean flow; in the legacy one, start again at the application.";
    UpstreamLoginRateLimit = "upstream_login.rate_limit", KitChoice,
        "The number of browsers that come back from a provider from one address is limited",
        "Too many browsers come back from a provider from this address",
        "Wait a moment and reload this page; the sign-in is not lost.";
    UpstreamLoginExpiry = "upstream_login.expiry", KitChoice,
        "A provider's answer counts within 600 seconds",
        "The user came back from the provider after more than 600 seconds",
        "Start again at the application.";

    // The legacy flow.
    AuthorizeClient = "authorize.client", KitChoice,
        "GET /authorize names one known client_id and one of its callbacks, each once",
        "The client_id or the redirect_uri is unknown, or was sent twice",
        "Check both against the registration. Without them there is nowhere safe to send an error.";
    AuthorizeOnce = "authorize.once", KitChoice,
        "No parameter that GET /authorize knows comes twice",
        "A parameter of the authorization request was sent twice",
        "Build the URL with a URL library, from a map.";
    AuthorizeChallengeMethod = "authorize.challenge_method", KitChoice,
        "The code_challenge_method is S256",
        "The code_challenge_method is missing, or is not S256",
        "Send code_challenge_method=S256; plain is not offered.";
    AuthorizeResponseType = "authorize.response_type", KitChoice,
        "The response_type is absent or code",
        "The response_type is not code",
        "Leave it out.";
    CodeKnown = "code.known", Spec("POST /v1/token"),
        "A code is one that this service issued",
        "This service does not know the code",
        "Send the code parameter of the callback unchanged.";
    CodeClient = "code.client", Spec("What the service does, 6"),
        "A code is redeemed by the project that it was issued to",
        "The code was issued to another project",
        "Use the credentials of the project that built the authorize URL.";
    CodeCallback = "code.callback", KitChoice,
        "A code is redeemed with the callback that it came to",
        "The redirect_uri is not the one that the code was sent to",
        "Send the redirect_uri of the authorize URL.";
    CodeVerifier = "code.verifier", Spec("What the service does, 6"),
        "A code is redeemed with the original PKCE verifier",
        "The code_verifier does not belong to the code_challenge of this login",
        "Send the verifier that the challenge of this very login was made from.";
    CodeExpiry = "code.expiry", KitChoice,
        "A code lives 60 seconds",
        "The code has expired",
        "Redeem the code at once, in the callback handler.";
    CodeOnce = "code.once", Spec("POST /v1/token"),
        "A code is redeemed once",
        "The code was redeemed before",
        "Never retry an exchange: the second one also ends the token of the first. If the answer was lost, start a new login.";
    BearerShape = "bearer.shape", Spec("Authentication"),
        "A call carries a well-formed bearer access token",
        "The access token is missing, or malformed",
        "Send the access_token of the token response, in one Authorization: Bearer header and nowhere else.";
    BearerOnce = "bearer.once", KitChoice,
        "A call has at most one Authorization header",
        "The request has two Authorization headers",
        "Send one; look for a proxy or a client library that adds another.";
    BearerKnown = "bearer.known", Spec("Authentication"),
        "An access token is one that this service issued",
        "This service does not know the access token",
        "Send the access_token of the token response unchanged; start a new login when it is gone.";
    BearerEnded = "bearer.ended", Spec("POST /v1/revoke"),
        "An access token ends when it is revoked",
        "The access token was revoked",
        "Start a new login. If you did not revoke it, look for a retried exchange: that revokes it, too.";
    BearerExpiry = "bearer.expiry", Spec("Limits"),
        "An access token lives 900 seconds",
        "The access token has expired",
        "Fetch the profile right after the exchange and keep the profile, not the token.";

    // The upstream provider: the reasons for which a login fails, not refusals of the broker.
    UpstreamDenied = "upstream.denied", Spec("LoginResult"),
        "A user may decline at the provider",
        "The user declined at the provider",
        "Offer to start again.";
    UpstreamInvalid = "upstream.invalid", Spec("LoginResult"),
        "A provider's answer must prove who signed in",
        "The provider's answer does not prove who signed in",
        "Offer to start again; the operator's log says what was wrong with the answer.";
    UpstreamUnavailable = "upstream.unavailable", Spec("LoginResult"),
        "A provider must answer, and in time",
        "The provider did not answer in time",
        "Offer to start again, or the other provider.";

    // The broker itself.
    StoreReachable = "store.reachable", KitChoice,
        "Nothing is decided without the store",
        "The broker's database does not answer",
        "Try again shortly; an exchange whose answer was lost must not be repeated.";
    BrokerOverload = "broker.overload", KitChoice,
        "A login begins only while the service keeps up",
        "The broker is overloaded",
        "Wait for the time of Retry-After, then start the login again. Logins that have begun go on.";
    BrokerFault = "broker.fault", KitChoice,
        "The broker does not fail",
        "The broker has failed",
        "Report the X-Request-Id of the answer.";
}

impl Rule {
    /// The rule whose sentence `message` begins with, if any. A parser's error text,
    /// which wraps a [`Malformed`], leads back to its rule this way.
    pub fn begun_by(message: &str) -> Option<Rule> {
        Rule::ALL
            .iter()
            .copied()
            .find(|rule| message.starts_with(rule.sentence()))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
