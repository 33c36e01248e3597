//! The messages of a login, and how each is shown: the diagram and its sentences, the demo's
//! panel, the lessons and the view of attacks read the tables here.
//!
//! The events contain what the broker and the proxy saw. What a browser does at the
//! consumer and at the provider is inferred from the calls that follow.

pub(crate) mod meaning;

use broker::audit::Step;
use broker::upstream::Failure;
use serde::{Deserialize, Serialize};

use crate::event_log::LoggedEvent;
use crate::faults::Fault;
use crate::sources::Place;

/// The style in which a fact is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    /// Inferred from later calls, because neither broker nor proxy sees it.
    Inferred,
    /// The user is asked for confirmation.
    Asked,
    /// The user is signed in.
    Succeeded,
    /// Refused by the broker, or a login that failed.
    Refused,
    /// Changed by a fault, or a resend.
    Faulted,
    /// Not reached yet.
    Ahead,
}

/// The texts of the demo's panel about a call. `{provider}` is filled in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PanelTexts {
    /// The line about the time before the call.
    pub(crate) before: Option<(Place, &'static str)>,
    /// The beginning of the line about a refusal.
    pub(crate) refused: &'static str,
    /// The beginning of the line about a lost answer, and its end.
    pub(crate) lost: &'static str,
    pub(crate) after_loss: &'static str,
    /// The place where the demo gives up after the loss, because the call may be used once.
    pub(crate) gives_up: Option<Place>,
}

/// Declares the calls, each with its operation, the sentence about its request, the one about a
/// provider's answer, and the texts of the demo's panel.
macro_rules! operations {
    ($($call:ident = $operation:literal, $sentence:literal
        $(, answered $answered:literal)?
        $(, before $place:ident: $before:literal)?
        $(, refused $refused:literal, lost $lost:literal, then $then:literal)?
        $(, once $once:ident)?;)+) => {
        /// A call, by its operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Call { $($call,)+ Other }

        impl Call {
            pub(crate) fn of(event: &LoggedEvent) -> Self {
                match event.operation.as_str() { $($operation => Self::$call,)+ _ => Self::Other }
            }

            /// The meaning of its request, for an audience.
            pub(crate) fn sentence(self) -> &'static str {
                match self {
                    $(Self::$call => $sentence,)+
                    Self::Other => "The broker is called.",
                }
            }

            /// The meaning of what a provider answers, for an audience.
            pub(crate) fn answered(self) -> &'static str {
                let sentence: Option<&'static str> = match self {
                    $(Self::$call => [$($answered)?].first().copied(),)+
                    Self::Other => None,
                };
                sentence.unwrap_or(Fact::ProviderAnswered.labels().sentence)
            }

            /// The texts of the demo's panel; `None` if it tells nothing of the call.
            pub(crate) fn panel_texts(self) -> Option<PanelTexts> {
                match self {
                    $(Self::$call => panel_texts_of(
                        &[$((Place::$place, $before))?],
                        &[$($refused, $lost, $then)?],
                        &[$(Place::$once)?],
                    ),)+
                    Self::Other => None,
                }
            }
        }
    };
}

/// The texts of a row, from those of its parts that it has.
fn panel_texts_of(
    before: &[(Place, &'static str)],
    texts: &[&'static str],
    gives_up: &[Place],
) -> Option<PanelTexts> {
    let [refused, lost, after_loss] = *texts else {
        return None;
    };
    Some(PanelTexts {
        before: before.first().copied(),
        refused,
        lost,
        after_loss,
        gives_up: gives_up.first().copied(),
    })
}

operations! {
    StartLogin = "POST /v1/login/session",
        "The app’s backend registers a login with the broker, under a fresh session key.",
        before DrawKey: "We drew a fresh session key. It stays on our server.",
        refused "We gave it to the broker.",
        lost "We gave it to the broker",
        then "Your sign-in has not started, so nothing is lost.";
    Visit = "GET /login/{handle}",
        "The browser opens the address that the app got from the broker.",
        refused "Your browser opened the address.", lost "Your browser opened the address", then "";
    Confirm = "POST /login/{handle}/continue",
        "The user confirms on the broker’s page that they started this sign-in.",
        refused "Your browser opened the address.", lost "Your browser opened the address", then "";
    Cancel = "POST /login/{handle}/cancel",
        "The user says on the broker’s page that they did not start this sign-in.",
        refused "Your browser opened the address.", lost "Your browser opened the address", then "";
    Authorize = "GET /authorize",
        "The browser brings the app’s request: who asks, a state, and the hash of a secret.",
        before LegacyState: "We drew a fresh state and a code verifier. Both stay in your session on our server.",
        refused "We sent your browser to the broker.",
        lost "We sent your browser to the broker", then "";
    Return = "GET /callback/{provider}",
        "The browser comes back from the provider, with the provider’s answer for the broker.",
        refused "Your browser came back from {provider}.",
        lost "Your browser came back from {provider} to the broker", then "";
    ConfirmReturn = "POST /callback/{provider}",
        "The user answers on the broker’s page whether they started this sign-in.",
        refused "Your browser came back from {provider}.",
        lost "Your browser came back from {provider} to the broker", then "";
    ReadResult = "POST /v1/login/result",
        "The app’s backend asks the broker how the login ended.",
        refused "We asked for the result.", lost "We asked once for the result", then "", once ForgetKey;
    Redeem = "POST /v1/token",
        "The app’s backend exchanges the code, with its client secret and the secret behind the hash.",
        refused "We sent the code to the broker.",
        lost "We exchanged the code, once", then "", once LegacyExchange;
    ReadProfile = "GET /v1/profile",
        "The app’s backend reads the user’s profile with the access token.",
        refused "We asked for the profile.",
        lost "We asked for the profile",
        then "Without a profile there is no user to sign in.";
    Revoke = "POST /v1/revoke",
        "The app’s backend ends the access token.";
    Providers = "GET /api/providers",
        "The app asks which providers are on offer.";
    Discovery = "GET discovery",
        "The broker looks up the provider’s addresses.",
        answered "The provider names its addresses: where users sign in, and where its keys are.";
    Keys = "GET keys",
        "The broker fetches the keys that the provider signs ID tokens with.",
        answered "The provider returns its public keys. They check a signature and can’t make one.";
    UpstreamToken = "POST token",
        "The broker exchanges the provider’s code for proof of who signed in.",
        answered "The answer goes to the broker alone, past the browser: a token, if the code was good.";
    UpstreamUser = "GET user",
        "The broker asks the provider who the user is.",
        answered "The provider names the user, by an id that stays the same.";
    UpstreamEmails = "GET user emails",
        "The broker asks the provider for the user’s e-mail addresses.",
        answered "The provider lists the addresses, and says which of them it has verified.";
}

/// The texts about a fact: in the diagram, in a sentence and in the demo's panel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Labels {
    /// The label of its arrow, after the status of an answer; empty for the status alone.
    pub(crate) label: &'static str,
    pub(crate) style: Style,
    /// The meaning, for an audience.
    pub(crate) sentence: &'static str,
    /// The line of the panel about an answer that its caller has received, with the place in
    /// the demo's source. `{provider}`, `{subject}`, `{seconds}` and `{why}` are filled in.
    pub(crate) panel: Option<(Place, &'static str)>,
}

/// Declares the facts, each with its texts.
macro_rules! facts {
    ($($fact:ident = $label:literal, $style:ident, $sentence:literal
        $(, $place:ident: $panel:literal)?;)+) => {
        /// A fact: the meaning of a message, or of what the proxy reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum Fact { $($fact),+ }

        impl Fact {
            pub(crate) fn labels(self) -> Labels {
                match self {
                    $(Self::$fact => Labels {
                        label: $label,
                        style: Style::$style,
                        sentence: $sentence,
                        panel: [$((Place::$place, $panel))?].first().copied(),
                    },)+
                }
            }
        }
    };
}

facts! {
    WantsToSignIn = "wants to sign in", Inferred,
        "The user presses the sign-in button of the app.";
    GoesToAddress = "go to authorization_url", Inferred,
        "The app sends the browser to the broker.";
    GoesToAuthorize = "go to /authorize", Inferred,
        "The app sends the browser to the broker.";
    SignsInThere = "the user signs in", Inferred,
        "The user signs in at the provider. The app sees nothing of it.";
    GoesToBroker = "go to the broker's callback", Inferred,
        "The provider sends the browser back to the broker.";
    AtCallback = "the callback", Inferred,
        "The browser is back at the app.";
    AtCleanCallback = "callback, no parameters", Inferred,
        "The browser is back at the app. Its address carries nothing that could be stolen.";
    AtCallbackWithCode = "callback?code&state", Inferred,
        "The browser is back at the app, with a code and the state that the app gave it.";
    AtCallbackWithError = "callback?error&state", Inferred,
        "The browser is back at the app, with an error and the state that the app gave it.";

    Registered = "authorization_url", Plain,
        "The broker knows the login now, and returns the address for the browser.",
        RegisterKey: "We gave it to the broker and got an address for your browser, valid for {seconds} s.";
    Asked = "confirmation page", Asked,
        "The broker asks the user whether they started this sign-in.",
        StartLogin: "The broker asked whether you started this sign-in{why}.";
    AskedOnReturn = "confirmation page", Asked,
        "The broker asks the user whether they started this sign-in.",
        StartLogin: "The broker asked whether you started this sign-in, because your browser looks different from the one that began, or came from another network.";
    SentToProvider = "to the provider", Plain,
        "The broker sends the browser on to the provider.";
    Confirmed = "to the provider", Plain,
        "The broker sends the browser on to the provider.";
    Authorized = "to the provider", Plain,
        "The broker sends the browser on to the provider.",
        LegacyAuthorize: "We sent your browser to the broker with the state and a hash of the verifier in the address.";
    SentBack = "back to the app", Plain,
        "The broker sends the browser back to the app.";
    Cancelled = "back to the app", Plain,
        "The broker sends the browser back to the app.",
        StartLogin: "You cancelled on the broker’s page, because you had not started this sign-in.";
    CameBack = "back to the app", Plain,
        "The broker sends the browser back to the app, and puts nothing into the address.",
        Callback: "Your browser went to the broker’s address, you signed in at {provider}, and it came back with nothing in the address bar.";
    CameBackWithCode = "back to the app", Plain,
        "The broker sends the browser back to the app, with a code that only its backend can use.",
        LegacyCallback: "You signed in at {provider}, and your browser came back with a code and our state in the address bar.";
    FailedThere = "back to the app", Plain,
        "The broker sends the browser back to the app, which will learn that the login failed.";
    Pending = "pending", Plain,
        "The login has not ended. Nothing was used up, so the app may ask again.",
        PutBackKey: "We asked for the result, and it was still pending. Nothing was used up: we keep the key.";
    SignedIn = "succeeded", Succeeded,
        "The login succeeded: the app gets the profile, and this is the only time.",
        ReadResultOnce: "We asked once for the result and got the profile of {subject}. Ask again, and the answer is 400.";
    Failed = "failed", Refused,
        "The login failed, and the app learns why.",
        ResultOutcome: "We asked once for the result: {subject}. You were not signed in. Ask again, and the answer is 400.";
    ResultRead = "", Plain,
        "The broker says how the login ended, and this is the only time.",
        ReadResultOnce: "We asked once for the result, and got it.";
    TokenIssued = "access_token", Plain,
        "The app gets an access token, in exchange for the code.",
        LegacyExchange: "We exchanged the code and the verifier for an access token, once.";
    ProfileRead = "profile", Succeeded,
        "The app gets the profile.",
        LegacyProfile: "We read the profile of {subject} with the token.";
    TokenRevoked = "token revoked", Plain,
        "The access token has ended.";
    Refused = "", Plain, "The broker refuses the call, and says why.";
    Answered = "", Plain, "The broker answers.";

    ProviderAnswered = "", Plain, "The provider answers.";
    ProviderRefused = "", Refused, "The provider refuses the broker’s call.";
    ProviderSilent = "no answer", Refused, "The provider does not answer the broker’s call.";

    FaultInjected = "Fault injected", Faulted, "A fault has struck the call.";
    Resent = "is sent again", Faulted, "The client sends the same call again.";
}

impl Fact {
    /// The fact that follows a redirect: where the browser goes next.
    pub(crate) fn next_of(self, event: &LoggedEvent) -> Option<Self> {
        Some(match self {
            Self::SentToProvider | Self::Confirmed | Self::Authorized => Self::SignsInThere,
            Self::SentBack | Self::Cancelled => Self::AtCallback,
            Self::CameBackWithCode => Self::AtCallbackWithCode,
            Self::CameBack | Self::FailedThere
                if event.has_step(Step::Completed)
                    || !event.has_step(Step::UpstreamLoginConsumed) =>
            {
                Self::AtCleanCallback
            }
            Self::CameBack | Self::FailedThere => Self::AtCallbackWithError,
            _ => return None,
        })
    }
}

/// The error by which a login failed at its provider, if `event` is about that.
pub(crate) fn error_of(event: &LoggedEvent) -> Option<&'static str> {
    let failures = Failure::ALL.iter();
    let mut same = failures.filter(|failure| Some(failure.rule().id()) == event.rule);
    same.next().map(|failure| failure.error().as_str())
}

/// The label of an answer that `fault` has changed, and whether the answer arrives.
pub(crate) fn faulted(label: &str, fault: Fault) -> (String, bool) {
    match fault {
        Fault::LoseResponse => (format!("{label}, lost"), false),
        Fault::Truncate => (format!("{label}, cut in half"), false),
        Fault::Silence => (format!("{label}, never sent"), false),
        Fault::Html502 => (format!("a proxy's 502, not {label}"), true),
        Fault::Html200 => (format!("a foreign 200, not {label}"), true),
        Fault::Endless => (format!("a 200 without an end, not {label}"), true),
        Fault::Answer => (format!("another answer, not {label}"), true),
        Fault::Delay => (format!("{label}, late"), true),
        Fault::Drip => (format!("{label}, byte by byte"), true),
        Fault::HoldRequest | Fault::HoldResponse => (format!("{label}, held"), true),
        Fault::Refuse => (format!("{label}, refused"), true),
    }
}

/// One of the two flows.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, rocket::FromFormField,
)]
#[serde(rename_all = "snake_case")]
pub enum LoginFlow {
    /// The clean callback flow.
    #[default]
    Clean,
    /// The legacy browser authorization.
    Legacy,
}

/// The flow of the login that `events` are about, once it is known.
pub(crate) fn flow<'e>(events: impl IntoIterator<Item = &'e LoggedEvent>) -> Option<LoginFlow> {
    events.into_iter().find_map(|event| match Call::of(event) {
        Call::StartLogin | Call::Visit | Call::ReadResult => Some(LoginFlow::Clean),
        Call::Authorize | Call::Redeem | Call::ReadProfile | Call::Revoke => {
            Some(LoginFlow::Legacy)
        }
        _ => None,
    })
}

/// The time of the call from which on the lifetime of the login counts: the one that opened
/// its session, or the first that led a browser to the provider.
pub(crate) fn begun_at<'e>(events: impl IntoIterator<Item = &'e LoggedEvent>) -> Option<i64> {
    let begins = |event: &&LoggedEvent| {
        let leaves = Call::of(event) == Call::Authorize && event.status == Some(303);
        event.has_step(Step::Opened) || leaves
    };
    events.into_iter().find(begins).map(|event| event.at)
}

impl Style {
    /// The CSS class.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Inferred => "inferred",
            Self::Asked => "asked",
            Self::Succeeded => "succeeded",
            Self::Refused => "refused",
            Self::Faulted => "faulted",
            Self::Ahead => "ahead",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::BrokerOperation;

    #[test]
    fn every_operation_that_a_fault_can_strike_has_a_sentence_of_its_own() {
        for operation in BrokerOperation::all() {
            let event = LoggedEvent::example(1, "call", "consumer", operation.name());
            assert_ne!(Call::of(&event), Call::Other, "{operation}");
        }
    }
}
