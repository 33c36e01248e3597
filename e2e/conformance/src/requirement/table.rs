//! The requirements of version 0.1.0, as one table: a requirement for each sentence
//! of the specification that a broker can visibly break, and some of this kit's
//! choices.
//!
//! The ids are frozen: a test holds the list. Where the rule catalogue of this kit's
//! broker has a rule of the same id, the law and the sentence are that rule's; a test
//! compares them.

use super::law::Law::{self, KitChoice, Spec};

/// Declares the table: variant, id, law, sentence, advice.
macro_rules! requirements {
    ($($variant:ident = $id:literal, $law:expr, $sentence:literal, $advice:literal;)+) => {
        /// One requirement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Requirement {
            $(#[doc = $sentence] $variant,)+
        }

        impl Requirement {
            /// Every requirement, in the order of a report.
            pub const ALL: &[Requirement] = &[$(Requirement::$variant,)+];

            /// The stable name: `area.what`.
            pub fn id(self) -> &'static str {
                match self { $(Requirement::$variant => $id,)+ }
            }

            /// The section of the specification, or this kit's choice.
            pub fn law(self) -> Law {
                match self { $(Requirement::$variant => $law,)+ }
            }

            /// The requirement, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Requirement::$variant => $sentence,)+ }
            }

            /// The change that a broker needs to meet it.
            pub fn advice(self) -> &'static str {
                match self { $(Requirement::$variant => $advice,)+ }
            }
        }
    };
}

requirements! {
    // GET /api/providers.
    ProvidersShape = "providers.shape", Spec("ProviderStatus"),
        "The providers are an array of objects with the string id and the booleans configured, enabled and available",
        "Answer with an array, and give every element the four members with these types.";
    ProvidersKnown = "providers.known", Spec("What the service does, 1"),
        "The providers are google and github, each once",
        "List both providers, also one that is not configured, and no other.";

    // Every request.
    RequestPath = "request.path", KitChoice,
        "Only the paths of the specification exist",
        "Answer 404 to every other path, also to a path with the wrong prefix or in another case.";
    RequestMethod = "request.method", KitChoice,
        "A path answers only its own methods",
        "Answer 405 with an Allow header to every other method.";
    RequestSecretInUrl = "request.secret_in_url", Spec("What the service does, 7"),
        "A client_secret or session_key never appears in a URL",
        "Read credentials from the JSON body alone, and refuse a request whose query has them.";
    BodyMediaType = "body.media_type", Spec("Endpoints"),
        "A body is sent as application/json",
        "Refuse a body of another media type before parsing it.";
    BodyJson = "body.json", Spec("Endpoints"),
        "A body is exactly one JSON object in UTF-8",
        "Parse the body strictly, and accept nothing but one object.";
    BodyUnknownField = "body.unknown_field", Spec("Resources and their fields"),
        "A request has no fields but those of its table",
        "Reject unknown fields while deserializing (additionalProperties: false).";
    BodyMissingField = "body.missing_field", Spec("Resources and their fields"),
        "A request has every required field of its table",
        "Give no field of a request a default.";
    BodyFieldType = "body.field_type", Spec("Resources and their fields"),
        "Every field of a request is a string",
        "Accept a JSON string alone; do not convert null, numbers, arrays or objects.";
    BodyFieldNames = "body.field_names", Spec("Resources and their fields"),
        "The names of fields are exact and case-sensitive",
        "Compare the names of fields byte for byte.";
    ClientIdLength = "client_id.length", Spec("Limits"),
        "A client_id has 1 to 100 characters, at the token endpoint at most 100",
        "Check the length, in characters, before looking the project up.";
    ClientSecretLength = "client_secret.length", Spec("Limits"),
        "A client_secret has 1 to 200 characters",
        "Check the length, in characters, before comparing the secret.";
    ClientRecognised = "client.recognised", Spec("Authentication"),
        "A call carries the credentials of a project",
        "Compare the whole secret, in constant time, with the one of exactly this client_id.";
    ClientInBody = "client.in_body", Spec("POST /v1/token"),
        "Client credentials are in the JSON body; HTTP Basic authentication is not used",
        "Ignore the Authorization header where the specification names the body.";
    RedirectUriShape = "redirect_uri.shape", Spec("RedirectUri"),
        "A redirect_uri is an HTTPS or HTTP loopback URL of at most 2048 characters without credentials, query or fragment",
        "Check the shape of the URL first, then compare it with the registered callbacks.";
    RedirectUriRegistered = "redirect_uri.registered", Spec("RedirectUri"),
        "The redirect_uri is exactly one of the project's callbacks",
        "Compare byte for byte; neither a prefix nor a further slash may match.";
    RedirectUriOwnProject = "redirect_uri.own_project", Spec("RedirectUri"),
        "A callback that is registered for another project alone is refused",
        "Compare with the callbacks of the project that calls, not with every registered one.";

    // Every response.
    AnswerMediaType = "answer.media_type", Spec("Endpoints"),
        "A JSON body is sent as application/json",
        "Set Content-Type: application/json on every JSON response, errors included.";
    AnswerNoUpstreamToken = "answer.no_upstream_token", Spec("What the service does, 3"),
        "The tokens of a provider are never returned",
        "Drop the provider's tokens once the profile is known, and build responses from own types.";
    ErrorShape = "error.shape", Spec("ApiError"),
        "An application error is an object with the string error; its message, if it has one, is a string",
        "Send the ApiError object with every 4xx response of the application.";
    UrlNoSecret = "url.no_secret", Spec("Authentication, rule 1"),
        "Neither the client_secret nor a session_key appears in a URL that the service makes",
        "Put a random handle of its own into the authorization_url, and nothing into the callback.";

    // POST /v1/login/session.
    SessionStatus = "session.status", Spec("POST /v1/login/session"),
        "A login that starts is answered 200",
        "Answer 200, not 201.";
    SessionFields = "session.fields", Spec("LoginSessionResponse"),
        "The answer to a login that starts has authorization_url and expires_in",
        "Send both members.";
    SessionExpiresIn = "session.expires_in", Spec("LoginSessionResponse"),
        "The expires_in of a login session is the integer 600",
        "Send the number 600; it is a constant of the contract.";
    AuthorizationUrlShape = "authorization_url.shape", Spec("LoginSessionResponse"),
        "An authorization_url is an HTTPS or HTTP loopback URL of at most 2048 characters without credentials, query or fragment",
        "Put the handle of the login into the path, and redirect to the provider from there.";
    SessionKeyPattern = "session_key.pattern", Spec("LoginSessionRequest"),
        "A session_key is 43 characters of [A-Za-z0-9_-]",
        "Match the whole key against the pattern; do not trim or decode it.";
    SessionKeyFresh = "session_key.fresh", KitChoice,
        "A session_key that started a login starts no other for 600 seconds",
        "Insert the login under a unique key, and refuse the request when the key exists.";
    ProviderKnown = "provider.known", Spec("Provider"),
        "A provider is google or github",
        "Compare the identifier byte for byte.";

    // The browser returns to the consumer.
    CallbackClean = "callback.clean", Spec("POST /v1/login/session, rule 3"),
        "After a sign-in the browser returns to the exact callback, without query and fragment",
        "Redirect to the registered text as it is, and end a fragment that the browser inherited.";
    CallbackCleanAfterFailure = "callback.clean_after_failure", Spec("POST /v1/login/session, rule 3"),
        "After a failed sign-in, too, the browser returns to the exact callback, without query and fragment",
        "Keep the error in the result; the callback carries nothing.";

    // POST /v1/login/result.
    ResultPending = "result.pending", Spec("States and transitions"),
        "The result of a login that is not finished is pending",
        "Answer status pending until the browser is back from the provider.";
    ResultPendingKeeps = "result.pending_keeps", Spec("POST /v1/login/result, rule 1"),
        "A pending read does not consume the session",
        "Consume a session only in the statement that returns its terminal result.";
    ResultSucceeded = "result.succeeded", Spec("POST /v1/login/result"),
        "After a sign-in the result is succeeded and carries the profile",
        "Store the profile when the login completes, and send it with the first read.";
    ResultFailed = "result.failed", Spec("Errors, 4"),
        "A failed login is no HTTP error: its result is failed and carries one of the three errors",
        "Answer 200 with status failed and access_denied, invalid_provider_response or provider_unavailable.";
    ResultFields = "result.fields", Spec("LoginResult"),
        "A result has status, profile only when it succeeded, error only when it failed",
        "Build the response from the status; leave the member of another status out.";
    UpstreamDenied = "upstream.denied", Spec("LoginResult"),
        "A user may decline at the provider",
        "Report a user who cancels at the provider as access_denied.";
    ResultOnce = "result.once", Spec("POST /v1/login/result, rule 2"),
        "A terminal result is consumed by the first read",
        "Read and consume the result in one atomic statement.";
    ResultKnown = "result.known", Spec("POST /v1/login/result"),
        "A result is read under a key that the same project started a login with",
        "Look the login up by its key and its project, and refuse what is not found.";
    ResultCallback = "result.callback", Spec("LoginResultRequest"),
        "A result is read with the callback that the login was started with",
        "Store the callback with the login and compare it with every read.";
    ResultRefusedStatus = "result.refused_status", Spec("POST /v1/login/result, rule 3"),
        "Expiry, replay and invalid sessions are answered 400",
        "Answer 400 for each of them, not 404 or 410.";
    ResultRefusedKeeps = "result.refused_keeps", Spec("States and transitions"),
        "A read that is refused does not consume the result",
        "Check everything about the request before consuming, in the same statement.";
    SessionLifetime = "session.lifetime", Spec("States and transitions"),
        "A login session can be read for 600 seconds",
        "Let a login end 600 seconds after it was created, not sooner.";
    ResultExpiry = "result.expiry", Spec("States and transitions"),
        "A login session lives 600 seconds",
        "Compare the time of each read with the end of the login, pending or finished.";

    // The profile, from either flow.
    ProfileFields = "profile.fields", Spec("Profile"),
        "A profile has its eight fields, also where one is null",
        "Serialize null instead of leaving the member out.";
    ProfileTypes = "profile.types", Spec("Profile"),
        "subject and providerSubject are strings; name, username, email and avatarUrl strings or null; emailVerified a boolean",
        "Normalize what the provider sends to these types.";
    ProfileProvider = "profile.provider", Spec("Profile"),
        "The provider of a profile is the one that the login went to",
        "Send the identifier of the contract: google or github.";
    ProfileSubjectStable = "profile.subject_stable", Spec("Profile"),
        "The same account has the same subject, by either flow",
        "Derive the subject from the provider and the provider's own account id, and from nothing else.";
    ProfileSubjectDistinct = "profile.subject_distinct", Spec("Profile"),
        "Two accounts have two subjects",
        "Derive the subject from the provider and the provider's own account id; two accounts may share an address.";
    ProfileSubjectNotEmail = "profile.subject_not_email", Spec("Profile"),
        "A subject contains no e-mail address: consumers key accounts on the subject, not on email",
        "Leave the address out of the subject; its owner may change it, or pass it on.";

    // POST /v1/token.
    TokenIssued = "token.issued", Spec("POST /v1/token"),
        "A code is redeemed with the credentials, the callback and the verifier of its login",
        "Answer a complete exchange with a token.";
    CodeLength = "code.length", Spec("Limits"),
        "A code has 1 to 200 characters",
        "Issue codes within the limit, and refuse others before looking them up.";
    GrantTypeConstant = "grant_type.constant", Spec("TokenRequest"),
        "The grant_type is authorization_code",
        "Refuse every other grant.";
    CodeVerifierPattern = "code_verifier.pattern", Spec("TokenRequest"),
        "A code_verifier is 43 to 128 characters of [A-Za-z0-9._~-]",
        "Match the whole verifier against the pattern before hashing it.";
    CodeKnown = "code.known", Spec("POST /v1/token"),
        "A code is one that this service issued",
        "Look the code up and refuse what is not found.";
    CodeClient = "code.client", Spec("What the service does, 6"),
        "A code is redeemed by the project that it was issued to",
        "Store the project with the code and compare it with every exchange.";
    CodeCallback = "code.callback", KitChoice,
        "A code is redeemed with the callback that it came to",
        "Store the callback with the code and compare it with every exchange.";
    CodeVerifier = "code.verifier", Spec("What the service does, 6"),
        "A code is redeemed with the original PKCE verifier",
        "Compare base64url(SHA-256(code_verifier)) with the challenge of the login.";
    CodeOnce = "code.once", Spec("POST /v1/token"),
        "A code is redeemed once",
        "Redeem and consume the code in one atomic statement.";
    TokenFields = "token.fields", Spec("TokenResponse"),
        "A token response has access_token, token_type, expires_in and scope",
        "Send all four members.";
    TokenAccessToken = "token.access_token", Spec("TokenResponse"),
        "An access token is a prefix that is always the same, an underscore and 43 characters of [A-Za-z0-9_-]",
        "Encode 32 random bytes as base64url without padding, behind a fixed prefix.";
    TokenType = "token.type", Spec("TokenResponse"),
        "The token_type is Bearer",
        "Send the constant with its capital letter.";
    TokenExpiresIn = "token.expires_in", Spec("TokenResponse"),
        "The expires_in of an access token is the integer 900",
        "Send the number 900; it is a constant of the contract.";
    TokenScope = "token.scope", Spec("TokenResponse"),
        "The scope is profile",
        "Send the constant.";

    // GET /v1/profile and POST /v1/revoke.
    ProfileBearer = "profile.bearer", Spec("GET /v1/profile"),
        "An access token fetches the profile of the user who signed in",
        "Answer a token that is alive with the profile.";
    BearerShape = "bearer.shape", Spec("Authentication"),
        "A call carries a well-formed bearer access token",
        "Refuse a call without a token, or with one of another form.";
    BearerKnown = "bearer.known", Spec("Authentication"),
        "An access token is one that this service issued",
        "Look the token up and refuse what is not found.";
    RevokeAccepted = "revoke.accepted", Spec("POST /v1/revoke"),
        "An access token can be revoked",
        "Answer the revocation of a token that is alive with a success.";
    RevokeIdempotent = "revoke.idempotent", Spec("POST /v1/revoke"),
        "A well-formed token can be revoked again, and also when it is unknown",
        "Answer every well-formed token with the same success.";
    BearerEnded = "bearer.ended", Spec("POST /v1/revoke"),
        "An access token ends when it is revoked",
        "Check at each call whether the token was revoked; do not cache the profile by token.";
    TokenLifetime = "token.lifetime", Spec("Limits"),
        "An access token that is not revoked works for 900 seconds",
        "Let a token end 900 seconds after it was issued, not sooner.";
    BearerExpiry = "bearer.expiry", Spec("Limits"),
        "An access token lives 900 seconds",
        "Compare the time of each call with the end of the token.";

    // Where the specification is silent.
    SuccessStatus = "success.status", KitChoice,
        "Success is answered 200, everywhere",
        "Document the status if it is another one.";
    RefusalStatus = "refusal.status", KitChoice,
        "A client or bearer that is not recognised is answered 401, everything else that is wrong 400",
        "Document the statuses if they are others.";
    ErrorCode = "error.code", KitChoice,
        "The error code is request_failed, whatever was wrong",
        "Document the codes if they are others; clients know this one.";
    AnswerMembers = "answer.members", KitChoice,
        "An object of an answer has no members but those of its table",
        "Expect strict clients to reject a response with more members.";
    BodyDuplicateField = "body.duplicate_field", KitChoice,
        "A request has each field once",
        "Refuse a duplicate: two parsers may read two different values.";
    SecretBesideBody = "request.secret_beside_body", KitChoice,
        "A request whose body is right is refused when its URL bears a secret",
        "Refuse it, so that the integrator notices that the secret is in every log.";
    AuthorizeCallback = "authorize.callback", KitChoice,
        "The legacy callback brings code and state, each once, and nothing else",
        "Document what else the callback carries.";
    AuthorizeClient = "authorize.client", KitChoice,
        "GET /authorize names one known client_id and one of its callbacks, each once",
        "Show a page of your own instead of redirecting when either is unknown.";
    AuthorizeOnce = "authorize.once", KitChoice,
        "No parameter that GET /authorize knows comes twice",
        "Refuse a duplicate: two parsers may read two different values.";
    AuthorizeChallengeMethod = "authorize.challenge_method", KitChoice,
        "The code_challenge_method is S256",
        "Refuse plain, which protects nothing once the request is known.";
    AuthorizeResponseType = "authorize.response_type", KitChoice,
        "The response_type is absent or code",
        "Refuse every other response_type.";
    CodeKept = "code.kept", KitChoice,
        "A refused exchange leaves the code as it was",
        "Check everything about the request before consuming, in the same statement.";
    CodeReplayEndsToken = "code.replay_ends_token", KitChoice,
        "A second valid redemption of a code ends the token of the first",
        "Revoke the token of a code that is redeemed twice: one of the two is a thief.";
    CodeExpiry = "code.expiry", KitChoice,
        "A code lives 60 seconds",
        "Give codes a short life: a callback handler redeems one at once.";
    TokenPrefix = "token.prefix", KitChoice,
        "The prefix of an access token is fsi",
        "Document the prefix if it is another one, for secret scanners.";
    SubjectForm = "profile.subject_form", KitChoice,
        "A subject is sub_ and 43 characters of base64url",
        "Document the form if it is another one.";
    ProfileProviderSubject = "profile.provider_subject", KitChoice,
        "The providerSubject is the provider's id of the account",
        "Send Google's sub, GitHub's numeric id as text.";
    ProfileNames = "profile.names", KitChoice,
        "name, username and avatarUrl are those of the account at the provider",
        "Send what the provider shows, and null only where it shows nothing.";
    ProfileEmail = "profile.email", KitChoice,
        "The email is the address of the account at the provider, or null while it is not verified",
        "Send the account's primary address.";
    ProfileEmailVerified = "profile.email_verified", KitChoice,
        "The emailVerified is true for an address that the provider verified, and for no other",
        "Pass on what the provider says; an address that it has not verified may belong to another user.";
    BearerHeader = "bearer.header", KitChoice,
        "An access token comes in the Authorization header, by the scheme Bearer, and nowhere else",
        "Do not read tokens from a query, which is logged, nor by another scheme.";
    RevokeBody = "revoke.body", KitChoice,
        "A revocation is answered with an empty object",
        "Document the body if it is another one.";

    // The browser's part, about which the specification is silent, too.
    UpstreamLoginOwnBrowser = "upstream_login.own_browser", KitChoice,
        "A provider's answer counts only in the browser that was redirected to the provider",
        "Bind the state to a cookie of the browser; otherwise an attacker can deliver an answer of their own.";
    UpstreamLoginOnce = "upstream_login.once", KitChoice,
        "A provider's answer counts once",
        "Consume the state in one atomic statement before calling the provider.";
    UpstreamLoginExpiry = "upstream_login.expiry", KitChoice,
        "A provider's answer counts within 600 seconds",
        "Compare the time of the callback with the end of the login.";
    BrowserHead = "browser.head", KitChoice,
        "A HEAD request of the browser changes nothing",
        "Do not run the GET handler for HEAD: link previews and scanners send it.";
    CookieAttributes = "cookie.attributes", KitChoice,
        "A cookie of the service is HttpOnly and SameSite=Lax, and off loopback Secure",
        "Write all three; Strict is not sent on the way back from a provider.";
}
