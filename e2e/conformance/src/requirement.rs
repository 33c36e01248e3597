//! The requirements of version 0.1.0: one for each sentence of the specification
//! that a broker can be seen to break from outside, and some of this kit's choices.
//!
//! Where the rule catalogue has a rule for it, the requirement is that rule. The
//! set is frozen: a test holds the list of ids.

use contract::{Rule, Source};

/// What a requirement says, and where it comes from.
struct Text {
    id: &'static str,
    source: Source,
    sentence: &'static str,
}

fn rule(rule: Rule) -> Text {
    Text {
        id: rule.id(),
        source: rule.source(),
        sentence: rule.sentence(),
    }
}

fn spec(id: &'static str, section: &'static str, sentence: &'static str) -> Text {
    Text {
        id,
        source: Source::Spec(section),
        sentence,
    }
}

fn choice(id: &'static str, sentence: &'static str) -> Text {
    Text {
        id,
        source: Source::KitChoice,
        sentence,
    }
}

/// Declares the table: a variant, and where its text is from.
macro_rules! requirements {
    ($($variant:ident: $text:expr;)+) => {
        /// One requirement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each one's sentence is beside it, in the table")]
        pub enum Requirement {
            $($variant,)+
        }

        impl Requirement {
            /// Every requirement, in the order of a report.
            pub const ALL: &[Requirement] = &[$(Requirement::$variant,)+];

            fn text(self) -> Text {
                match self { $(Requirement::$variant => $text,)+ }
            }
        }
    };
}

impl Requirement {
    /// The stable name: `area.what`.
    pub fn id(self) -> &'static str {
        self.text().id
    }

    /// The section of the specification, or that it is this kit's choice.
    pub fn source(self) -> Source {
        self.text().source
    }

    /// The requirement, in one sentence.
    pub fn sentence(self) -> &'static str {
        self.text().sentence
    }
}

requirements! {
    // GET /api/providers.
    ProvidersShape: spec("providers.shape", "ProviderStatus",
        "The providers are an array of objects with the string id and the booleans configured, enabled and available");
    ProvidersKnown: spec("providers.known", "What the service does, 1",
        "The providers are google and github, each once");

    // Every request.
    RequestPath: rule(Rule::RequestPath);
    RequestMethod: rule(Rule::RequestMethod);
    RequestSecretInUrl: rule(Rule::RequestSecretInUrl);
    BodyMediaType: rule(Rule::BodyMediaType);
    BodyJson: rule(Rule::BodyJson);
    BodyUnknownField: rule(Rule::BodyUnknownField);
    BodyMissingField: rule(Rule::BodyMissingField);
    BodyFieldType: rule(Rule::BodyFieldType);
    BodyFieldNames: spec("body.field_names", "Resources and their fields",
        "The names of fields are exact and case-sensitive");
    ClientIdLength: rule(Rule::ClientIdLength);
    ClientSecretLength: rule(Rule::ClientSecretLength);
    ClientRecognised: rule(Rule::ClientRecognised);
    ClientInBody: spec("client.in_body", "POST /v1/token",
        "Client credentials are in the JSON body; HTTP Basic authentication is not used");
    RedirectUriShape: rule(Rule::RedirectUriShape);
    RedirectUriRegistered: rule(Rule::RedirectUriRegistered);

    // Every answer.
    AnswerMediaType: spec("answer.media_type", "Endpoints",
        "A JSON body is sent as application/json");
    AnswerNoUpstreamToken: spec("answer.no_upstream_token", "What the service does, 3",
        "The tokens of a provider are never returned");
    ErrorShape: spec("error.shape", "ApiError",
        "An application error is an object with the string error; its message, if it has one, is a string");
    UrlNoSecret: spec("url.no_secret", "Authentication, rule 1",
        "Neither the client_secret nor a session_key appears in a URL that the service makes");

    // POST /v1/login/session.
    SessionStatus: spec("session.status", "POST /v1/login/session",
        "A login that starts is answered 200");
    SessionFields: spec("session.fields", "LoginSessionResponse",
        "The answer to a login that starts has authorization_url and expires_in");
    SessionExpiresIn: spec("session.expires_in", "LoginSessionResponse",
        "The expires_in of a login session is the integer 600");
    AuthorizationUrlShape: rule(Rule::AuthorizationUrlShape);
    SessionKeyPattern: rule(Rule::SessionKeyPattern);
    SessionKeyFresh: rule(Rule::SessionKeyFresh);
    ProviderKnown: rule(Rule::ProviderKnown);

    // The browser comes home.
    CallbackClean: spec("callback.clean", "POST /v1/login/session, rule 3",
        "After a sign-in the browser returns to the exact callback, without query and fragment");
    CallbackCleanAfterFailure: spec("callback.clean_after_failure", "POST /v1/login/session, rule 3",
        "After a failed sign-in, too, the browser returns to the exact callback, without query and fragment");

    // POST /v1/login/result.
    ResultPending: spec("result.pending", "States and transitions",
        "The result of a login that nobody has finished is pending");
    ResultPendingKeeps: spec("result.pending_keeps", "POST /v1/login/result, rule 1",
        "A pending read does not consume the session");
    ResultSucceeded: spec("result.succeeded", "POST /v1/login/result",
        "After a sign-in the result is succeeded and carries the profile");
    ResultFailed: spec("result.failed", "Errors, 4",
        "A failed login is no HTTP error: its result is failed and carries one of the three errors");
    ResultFields: spec("result.fields", "LoginResult",
        "A result has status, profile only when it succeeded, error only when it failed");
    UpstreamDenied: rule(Rule::UpstreamDenied);
    ResultOnce: rule(Rule::ResultOnce);
    ResultKnown: rule(Rule::ResultKnown);
    ResultCallback: rule(Rule::ResultCallback);
    ResultRefusedStatus: spec("result.refused_status", "POST /v1/login/result, rule 3",
        "Expiry, replay and invalid sessions are answered 400");
    ResultRefusedKeeps: spec("result.refused_keeps", "States and transitions",
        "A read that is refused does not consume the result");
    SessionLifetime: spec("session.lifetime", "States and transitions",
        "A login session can be read for 600 seconds");
    ResultExpiry: rule(Rule::ResultExpiry);

    // The profile, from either flow.
    ProfileFields: spec("profile.fields", "Profile",
        "A profile has its eight fields, also where one is null");
    ProfileTypes: spec("profile.types", "Profile",
        "subject and providerSubject are strings; name, username, email and avatarUrl strings or null; emailVerified a boolean");
    ProfileProvider: spec("profile.provider", "Profile",
        "The provider of a profile is the one that the login went to");
    ProfileSubjectStable: spec("profile.subject_stable", "Profile",
        "The same account has the same subject, by either flow");

    // POST /v1/token.
    TokenIssued: spec("token.issued", "POST /v1/token",
        "A code is redeemed with the credentials, the callback and the verifier of its login");
    CodeLength: rule(Rule::HandoffCodeLength);
    GrantTypeConstant: rule(Rule::GrantTypeConstant);
    CodeVerifierPattern: rule(Rule::CodeVerifierPattern);
    CodeKnown: rule(Rule::CodeKnown);
    CodeClient: rule(Rule::CodeClient);
    CodeCallback: rule(Rule::CodeCallback);
    CodeVerifier: rule(Rule::CodeVerifier);
    CodeOnce: rule(Rule::CodeOnce);
    TokenFields: spec("token.fields", "TokenResponse",
        "A token response has access_token, token_type, expires_in and scope");
    TokenAccessToken: spec("token.access_token", "TokenResponse",
        "An access token is a prefix that is always the same, an underscore and 43 characters of [A-Za-z0-9_-]");
    TokenType: spec("token.type", "TokenResponse", "The token_type is Bearer");
    TokenExpiresIn: spec("token.expires_in", "TokenResponse",
        "The expires_in of an access token is the integer 900");
    TokenScope: spec("token.scope", "TokenResponse", "The scope is profile");

    // GET /v1/profile and POST /v1/revoke.
    ProfileBearer: spec("profile.bearer", "GET /v1/profile",
        "An access token fetches the profile of who signed in");
    BearerShape: rule(Rule::BearerShape);
    BearerKnown: rule(Rule::BearerKnown);
    RevokeAccepted: spec("revoke.accepted", "POST /v1/revoke",
        "An access token can be revoked");
    RevokeIdempotent: spec("revoke.idempotent", "POST /v1/revoke",
        "A token that is well formed can be revoked again, also when nobody knows it");
    BearerEnded: rule(Rule::BearerEnded);
    TokenLifetime: spec("token.lifetime", "Limits",
        "An access token that is not revoked works for 900 seconds");
    BearerExpiry: rule(Rule::BearerExpiry);

    // Where the specification is silent.
    SuccessStatus: choice("success.status", "Success is answered 200, everywhere");
    RefusalStatus: choice("refusal.status",
        "A client or bearer that is not recognised is answered 401, everything else that is wrong 400");
    ErrorCode: choice("error.code", "The error code is request_failed, whatever was wrong");
    AnswerMembers: choice("answer.members",
        "An object of an answer has no members but those of its table");
    BodyDuplicateField: rule(Rule::BodyDuplicateField);
    SecretBesideBody: choice("request.secret_beside_body",
        "A request whose body is right is refused when its URL bears a secret");
    AuthorizeCallback: choice("authorize.callback",
        "The legacy callback brings code and state, each once, and nothing else");
    AuthorizeClient: rule(Rule::AuthorizeClient);
    AuthorizeOnce: rule(Rule::AuthorizeOnce);
    AuthorizeChallengeMethod: rule(Rule::AuthorizeChallengeMethod);
    AuthorizeResponseType: rule(Rule::AuthorizeResponseType);
    CodeKept: choice("code.kept", "A refused exchange leaves the code as it was");
    CodeReplayEndsToken: choice("code.replay_ends_token",
        "A second valid redemption of a code ends the token of the first");
    CodeExpiry: rule(Rule::CodeExpiry);
    TokenPrefix: choice("token.prefix", "The prefix of an access token is fsi");
    SubjectForm: choice("profile.subject_form", "A subject is sub_ and 43 characters of base64url");
    BearerHeader: choice("bearer.header",
        "An access token comes in the Authorization header, by the scheme Bearer, and nowhere else");
    RevokeBody: choice("revoke.body", "A revocation is answered with an empty object");
}
