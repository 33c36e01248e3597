//! The sentence that explains an arrow of the diagram to an audience.

use super::sequence::{Arrow, Participant};

/// The meaning of an arrow's message, in a sentence.
pub(super) fn explanation(arrow: &Arrow) -> &'static str {
    use Participant::{Broker, Provider};
    match (arrow.from, arrow.to) {
        (Broker, Provider) => call_to_provider(&arrow.label),
        (Provider, Broker) if arrow.arrives => "The provider answers.",
        (Provider, Broker) => "The provider does not answer.",
        (Broker, _) if !arrow.arrives && arrow.label.contains("hold") => {
            "The broker has answered, and a fault holds the answer back."
        }
        (Broker, _) if !arrow.arrives => {
            "The broker answers, but the answer never arrives. The caller can’t know what happened."
        }
        (Broker, _) => answer(&arrow.label),
        (_, Broker) if !arrow.arrives => "The call has not reached the broker.",
        (_, Broker) => call(&arrow.label),
        _ => beside_the_broker(&arrow.label),
    }
}

fn call(operation: &str) -> &'static str {
    match operation {
        "POST /v1/login/session" => {
            "The app’s backend registers a login with the broker, under a fresh session key."
        }
        "GET /login/{handle}" => "The browser opens the address that the app got from the broker.",
        "POST /login/{handle}/continue" => {
            "The user confirms on the broker’s page that they started this sign-in."
        }
        "POST /login/{handle}/cancel" => {
            "The user says on the broker’s page that they did not start this sign-in."
        }
        "GET /authorize" => {
            "The browser brings the app’s request: who asks, a state, and the hash of a secret."
        }
        "GET /callback/{provider}" => {
            "The browser comes back from the provider, with the provider’s answer for the broker."
        }
        "POST /callback/{provider}" => {
            "The user answers on the broker’s page whether they started this sign-in."
        }
        "POST /v1/login/result" => "The app’s backend asks the broker how the login ended.",
        "POST /v1/token" => {
            "The app’s backend exchanges the code, with its client secret and the secret behind the hash."
        }
        "GET /v1/profile" => "The app’s backend reads the user’s profile with the access token.",
        "POST /v1/revoke" => "The app’s backend ends the access token.",
        "GET /api/providers" => "The app asks which providers are on offer.",
        _ => "The broker is called.",
    }
}

/// An answer of the broker, by its label.
fn answer(label: &str) -> &'static str {
    let has = |text| label.contains(text);
    match label {
        _ if has("confirmation page") => {
            "The broker asks the user whether they started this sign-in."
        }
        _ if has("to the provider") => "The broker sends the browser on to the provider.",
        _ if has("back to the app") => "The broker sends the browser back to the app.",
        _ if has("authorization_url") => {
            "The broker knows the login now, and returns the address for the browser."
        }
        _ if has("pending") => {
            "The login has not ended. Nothing was used up, so the app may ask again."
        }
        _ if has("succeeded") => {
            "The login succeeded: the app gets the profile, and this is the only time."
        }
        _ if has("failed") => "The login failed, and the app learns why.",
        _ if has("access_token") => "The app gets an access token, in exchange for the code.",
        _ if has("profile") => "The app gets the profile.",
        _ if has("token revoked") => "The access token has ended.",
        _ if label.starts_with(['4', '5']) => "The broker refuses.",
        _ => "The broker answers.",
    }
}

fn call_to_provider(operation: &str) -> &'static str {
    match operation {
        "GET discovery" => "The broker looks up the provider’s addresses.",
        "GET keys" => "The broker fetches the keys that the provider signs ID tokens with.",
        "POST token" => "The broker exchanges the provider’s code for proof of who signed in.",
        _ => "The broker asks the provider about the user.",
    }
}

/// A message that does not concern the broker, and that was inferred.
fn beside_the_broker(label: &str) -> &'static str {
    match label {
        "wants to sign in" => "The user presses the sign-in button of the app.",
        "go to authorization_url" | "go to /authorize" => {
            "The app sends the browser to the broker."
        }
        "the user signs in" => "The user signs in at the provider. The app sees nothing of it.",
        "go to the broker's callback" => "The provider sends the browser back to the broker.",
        "callback, no parameters" => {
            "The browser is back at the app. Its address carries nothing that could be stolen."
        }
        "callback?code&state" => {
            "The browser is back at the app, with a code and the state that the app gave it."
        }
        "callback?error&state" => {
            "The browser is back at the app, with an error and the state that the app gave it."
        }
        _ => "The browser goes on.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::BrokerOperation;

    #[test]
    fn every_operation_has_a_sentence_of_its_own() {
        for operation in BrokerOperation::all() {
            let sentence = call(operation.name());
            assert_ne!(sentence, "The broker is called.", "{operation}");
        }
    }

    #[test]
    fn an_answer_is_explained_by_its_meaning_and_by_its_loss() {
        use Participant::{Broker, Consumer};
        let explains = |label, arrives| {
            explanation(&Arrow {
                arrives,
                ..Arrow::example(Broker, Consumer, label)
            })
        };
        assert!(explains("200 pending", true).contains("not ended"));
        assert!(explains("200 succeeded", true).contains("the only time"));
        assert!(explains("200 succeeded, lost", false).contains("never arrives"));
        assert_eq!(explains("400 Bad Request", true), "The broker refuses.");
    }
}
