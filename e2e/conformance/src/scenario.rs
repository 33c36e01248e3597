//! The check that there is a broker, and the scenarios, one after the other, each with the
//! requirements that it covers.

mod malformed;
mod profile;
mod sign_in;

mod clean;
mod delivery;
mod expiry;
mod legacy;
mod providers;
mod races;

use super::requirement::Requirement;
use super::run::Run;

pub(crate) use providers::check_broker;

/// Declares a table: the progress line of a scenario, its function, and the requirements
/// that it covers.
macro_rules! scenarios {
    ($play_all:ident; $($progress:literal, $play:path: $($covers:ident)+;)+) => {
        /// Plays the scenarios that the run asks for. One that ends early does not stop the
        /// others.
        pub(crate) async fn $play_all(run: &mut Run<'_>) {
            $(
                let covers = &[$(Requirement::$covers),+];
                if run.asks_for(covers) {
                    run.report_progress($progress);
                    let end = $play(run).await;
                    run.end_scenario(covers, end);
                }
            )+
        }
    };
}

scenarios! {
    play_all;
    "Reading the providers, and paths that do not exist", providers::play:
        ProvidersShape ProvidersKnown RequestPath RequestMethod;
    "Starting logins, with good and with malformed requests", clean::start_malformed:
        AnswerMediaType AnswerMembers AnswerNoUpstreamToken AuthorizationUrlShape
        BodyDuplicateField BodyFieldNames BodyFieldType BodyJson BodyMediaType
        BodyMissingField BodyUnknownField ClientIdLength ClientInBody ClientRecognised
        ClientSecretLength ErrorCode ErrorShape ProviderKnown RedirectUriOwnProject
        RedirectUriRegistered RedirectUriShape RefusalStatus RequestSecretBesideBody
        RequestSecretInUrl SessionExpiresIn SessionFields SessionKeyFresh SessionKeyPattern
        SessionStatus SuccessStatus UrlNoSecret;
    "Reading pending and unknown results", clean::read_pending:
        ResultPending ResultPendingKeeps ResultKnown ResultRefusedStatus;
    "Signing in by the clean flow", clean::sign_in:
        CallbackClean ResultSucceeded ResultFields ResultOnce ProfileFields ProfileTypes
        ProfileProvider ProfileSubjectForm;
    "Signing in after a pending read", clean::sign_in_after_pending_read:
        ResultPendingKeeps;
    "Signing in as further users", clean::sign_in_further_users:
        ProfileSubjectDistinct ProfileSubjectNotEmail ProfileProviderSubject ProfileNames
        ProfileEmail ProfileEmailVerified;
    "Reading a result with malformed requests", clean::read_malformed:
        ResultCallback ResultRefusedKeeps;
    "Declining at the provider", clean::decline:
        CallbackCleanAfterFailure ResultFailed UpstreamDenied;
    "Opening malformed authorize URLs", legacy::authorize_malformed:
        AuthorizeClient AuthorizeOnce AuthorizeChallengeMethod AuthorizeResponseType;
    "Signing in by the legacy flow, and replaying its code", legacy::replay:
        AuthorizeCallback TokenIssued CodeLength TokenFields TokenAccessToken TokenType
        TokenExpiresIn TokenScope TokenPrefix ProfileBearer ProfileSubjectStable CodeOnce
        CodeReplayEndsToken BearerShape BearerHeader BearerKnown;
    "Exchanging a code with malformed requests, and revoking its token",
        legacy::redeem_malformed:
        GrantTypeConstant CodeVerifierPattern CodeKnown CodeClient CodeCallback CodeVerifier
        CodeKept RevokeAccepted RevokeBody RevokeIdempotent BearerEnded;
    "Delivering a provider's answer in another browser", delivery::elsewhere:
        UpstreamLoginOwnBrowser CookieAttributes;
    "Delivering a provider's answer by HEAD", delivery::by_head:
        BrowserHead;
    "Delivering a provider's answer twice", delivery::twice:
        UpstreamLoginOnce;
    "Waiting for the end of logins and tokens", expiry::play:
        SessionLifetime ResultExpiry CodeExpiry UpstreamLoginExpiry TokenLifetime BearerExpiry;
}

scenarios! {
    play_races;
    "Asking every address about one login", races::ask_every_address:
        ResultPending;
    "Racing for session keys, authorization URLs and results", races::clean::play:
        SessionKeyFresh UpstreamLoginOwnBrowser ResultOnce ResultPendingKeeps;
    "Racing for a provider's answer and for codes", races::legacy::codes:
        UpstreamLoginOnce CodeOnce CodeReplayEndsToken;
    "Racing an exchange against its replay", races::legacy::replays:
        CodeOnce CodeReplayEndsToken;
    "Racing with access tokens that are revoked", races::legacy::tokens:
        ProfileBearer RevokeIdempotent BearerEnded;
}
