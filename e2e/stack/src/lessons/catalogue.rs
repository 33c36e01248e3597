//! The ten lessons, in their order.

use contract::Rule;

use super::fact::Fact;
use super::lesson::{Action, Lesson, Missed, Preparation, Scope, Step, Tick};
use crate::faults::Fault;
use crate::inspector::Outcome;
use crate::login_status::LoginFlow;
use crate::sources::Place;

const SESSION: &str = "POST /v1/login/session";
const VISIT: &str = "GET /login/{handle}";
const RESULT: &str = "POST /v1/login/result";

/// Every lesson.
pub(crate) const LESSONS: [Lesson; 10] = [
    FIRST_SIGN_IN,
    WHERE_THE_KEY_LIVES,
    TWO_TABS,
    CANCEL,
    PROVIDER_FAILS,
    FORGED_ID_TOKEN,
    LOST_ANSWER,
    REPLAY,
    EXPIRY,
    RELAY,
];

fn starts(fact: &Fact<'_>) -> bool {
    fact.is(SESSION, 200)
}

fn leaves_for_the_provider(fact: &Fact<'_>) -> bool {
    fact.is(VISIT, 303)
}

fn is_returned(fact: &Fact<'_>) -> bool {
    fact.event.is_return() && fact.is(&fact.event.operation, 303)
}

fn comes_back(fact: &Fact<'_>) -> bool {
    is_returned(fact) && fact.event.rule.is_none()
}

fn is_signed_in(fact: &Fact<'_>) -> bool {
    matches!(fact.outcome, Some(Outcome::SignedIn(_)))
}

fn fails(fact: &Fact<'_>, expected: &str) -> bool {
    matches!(&fact.outcome, Some(Outcome::Failed(error)) if error == expected)
}

/// A read of the result that the broker refused, as it does the second time.
fn is_refused_read(fact: &Fact<'_>) -> bool {
    let rule = fact.event.rule;
    fact.is(RESULT, 400) && rule.is_some_and(|rule| rule.starts_with("result."))
}

const FIRST_SIGN_IN: Lesson = Lesson {
    id: "first-sign-in",
    title: "Your first sign-in",
    minutes: 3,
    goal: "Sign in once with the recommended flow, and see who talks to whom.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Open the demo and press *Continue with Google* under *Clean callback*.",
            actions: &[Action::Demo],
            tick: Tick::Event(starts),
            seen: "The demo's backend registered a login with the broker. It got an address and sent the browser there.",
        },
        Step {
            text: "Choose Ada Lovelace at the imitated Google.",
            actions: &[],
            tick: Tick::Event(comes_back),
            seen: "Google's answer went to the broker, not to the demo. The broker checked it and keeps the result.",
        },
        Step {
            text: "Wait for the demo to show your profile.",
            actions: &[],
            tick: Tick::Event(is_signed_in),
            seen: "The demo's backend read the result from the broker, once.",
        },
    ],
    missed: None,
    closing: &[
        "Your backend makes two calls: `POST /v1/login/session` before the sign-in and `POST /v1/login/result` after it. Everything between them is the broker's work.",
        "The profile went from backend to backend. The browser carried none of it.",
    ],
    rules: &[Rule::ResultKnown, Rule::ResultOnce],
    places: &[Place::RegisterKey, Place::Redirect, Place::ReadResultOnce],
};

const WHERE_THE_KEY_LIVES: Lesson = Lesson {
    id: "where-the-key-lives",
    title: "Where the key lives",
    minutes: 5,
    goal: "Follow the session key, the one secret of the clean flow, and see where it never goes.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Open the demo and press *Continue with Google* under *Clean callback*. Stay on Google's page for now.",
            actions: &[Action::Demo],
            tick: Tick::Event(starts),
            seen: "The request has a `session_key`, drawn for this login alone. The answer has the address for the browser, and the key is not in it.",
        },
        Step {
            text: "Look at how the browser got to Google: the broker has already sent it there.",
            actions: &[],
            tick: Tick::Event(leaves_for_the_provider),
            seen: "The browser opened the address and got a cookie of the broker's. The session key is in neither.",
        },
        Step {
            text: "Choose Ada Lovelace.",
            actions: &[],
            tick: Tick::Event(comes_back),
            seen: "The broker sent the browser to `/callback` without a parameter: there is nothing to steal in the address bar, the history or a log.",
        },
        Step {
            text: "Look at the last call: the demo's backend reads the result.",
            actions: &[],
            tick: Tick::Event(is_signed_in),
            seen: "The backend showed its client secret and the session key. It found the key by the cookie that it gave this browser at the start.",
        },
    ],
    missed: None,
    closing: &[
        "Keep the session key on your server, in the session of the browser that started the login. Not in a page, not in a cookie, not in an address, not in a log.",
        "Make a new key for every login. Give the browser a new cookie at every start, because the callback carries nothing else.",
    ],
    rules: &[Rule::SessionKeyFresh, Rule::ResultKnown],
    places: &[Place::DrawKey, Place::KeepKey, Place::TieBrowser],
};

const TWO_TABS: Lesson = Lesson {
    id: "two-tabs",
    title: "Two tabs",
    minutes: 5,
    goal: "Sign in twice at the same time in one browser, and see that no login is lost.",
    scope: Scope::Logins(2),
    steps: &[
        Step {
            text: "Open the demo and press *Continue with Google* under *Clean callback*. Leave that tab at Google.",
            actions: &[Action::Demo],
            tick: Tick::Event(|fact| fact.nth == 1 && starts(fact)),
            seen: "The first login has a key and a cookie of its own.",
        },
        Step {
            text: "Open the demo in a second tab of the same browser and press *Continue with GitHub* under *Clean callback*. Leave it at GitHub.",
            actions: &[Action::Demo],
            tick: Tick::Event(|fact| fact.nth == 2 && starts(fact)),
            seen: "The second login has another key and another cookie. Both wait.",
        },
        Step {
            text: "Go back to the first tab, at Google, and choose Ada Lovelace.",
            actions: &[],
            tick: Tick::Event(|fact| {
                fact.nth == 2 && fact.is(RESULT, 200) && fact.outcome.is_none()
            }),
            seen: "The callback does not say which login it ends, so the demo asked about its newest one first. The answer was *pending*, which costs nothing.",
        },
        Step {
            text: "See the profile in the first tab.",
            actions: &[],
            tick: Tick::Event(|fact| fact.nth == 1 && is_signed_in(fact)),
            seen: "Then the demo asked about the first login, and that one had ended.",
        },
        Step {
            text: "Go to the second tab, at GitHub, and choose any user.",
            actions: &[],
            tick: Tick::Event(|fact| fact.nth == 2 && is_signed_in(fact)),
            seen: "The second login has its own result. It was never in danger.",
        },
    ],
    missed: Some(Missed {
        shows: |fact| fact.nth == 1 && fails(fact, "access_denied"),
        advice: "The first login was cancelled. Begin the lesson again and let both logins succeed.",
    }),
    closing: &[
        "Keep a key for each login that is under way, not one for each browser. Read them newest first, and keep a key whose login is pending.",
        "Don't read results in the background. Read them when the browser is back at the callback, and only those of this browser.",
    ],
    rules: &[Rule::SessionKeyFresh, Rule::ResultOnce],
    places: &[Place::TryEachLogin, Place::PutBackKey],
};

const CANCEL: Lesson = Lesson {
    id: "cancel",
    title: "The user cancels",
    minutes: 3,
    goal: "Change your mind at the provider, and see how the app learns it.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Open the demo and press *Continue with GitHub* under *Clean callback*.",
            actions: &[Action::Demo],
            tick: Tick::Event(starts),
            seen: "A login waits for the user.",
        },
        Step {
            text: "Press *Cancel* at the imitated GitHub.",
            actions: &[],
            tick: Tick::Event(|fact| is_returned(fact) && fact.has_rule("upstream.denied")),
            seen: "GitHub told the broker that the user declined. The browser goes back to the demo as always, without a parameter.",
        },
        Step {
            text: "Read the demo's page.",
            actions: &[],
            tick: Tick::Event(|fact| fails(fact, "access_denied")),
            seen: "The result is `failed` with `access_denied`. It has the status 200: the call worked, the login did not.",
        },
    ],
    missed: Some(Missed {
        shows: is_signed_in,
        advice: "This sign-in succeeded. Start another one and press *Cancel* at GitHub.",
    }),
    closing: &[
        "A failed login is an answer, not an error of the call. Say what happened, and offer to start again with one button.",
        "A user who was signed in before stays signed in: only this login failed.",
    ],
    rules: &[Rule::UpstreamDenied],
    places: &[Place::ResultOutcome, Place::ProblemTexts],
};

const SERVER_ERROR: Preparation = Preparation::Misbehaviour {
    provider: "google",
    name: "server_error",
};

const PROVIDER_FAILS: Lesson = Lesson {
    id: "provider-fails",
    title: "The provider fails",
    minutes: 3,
    goal: "Let Google fail in the middle of a sign-in, and see what is left for the app to do.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Let Google answer the next sign-in with an error.",
            actions: &[Action::Prepare(SERVER_ERROR)],
            tick: Tick::Prepared(SERVER_ERROR),
            seen: "Google's next sign-in ends with `error=server_error`.",
        },
        Step {
            text: "Open the demo and press *Continue with Google* under *Clean callback*.",
            actions: &[Action::Demo],
            tick: Tick::Event(|fact| is_returned(fact) && fact.has_rule("upstream.unavailable")),
            seen: "The browser came back from Google with the error. The broker ended the login.",
        },
        Step {
            text: "Read the demo's page.",
            actions: &[],
            tick: Tick::Event(|fact| fails(fact, "provider_unavailable")),
            seen: "The result is `failed` with `provider_unavailable`: the same word for a timeout, a 503 and an outage.",
        },
    ],
    missed: Some(Missed {
        shows: is_signed_in,
        advice: "This sign-in succeeded, because Google did not fail. Press the button of step 1, and sign in with Google again.",
    }),
    closing: &[
        "Your app sees one of three errors: `access_denied`, `provider_unavailable` or `invalid_provider_response`. Write one page for each.",
        "The login is over. A new attempt is a new login with a new key, started by the user.",
    ],
    rules: &[Rule::UpstreamUnavailable],
    places: &[Place::ResultOutcome, Place::ProblemTexts],
};

const BAD_SIGNATURE: Preparation = Preparation::Misbehaviour {
    provider: "google",
    name: "bad_signature",
};

const FORGED_ID_TOKEN: Lesson = Lesson {
    id: "forged-id-token",
    title: "A forged ID token",
    minutes: 3,
    goal: "Send the broker an ID token that Google has not signed, and see that it signs no user in.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Let Google's next ID token have a wrong signature.",
            actions: &[Action::Prepare(BAD_SIGNATURE)],
            tick: Tick::Prepared(BAD_SIGNATURE),
            seen: "The next ID token says who signed in, but the signature is not Google's.",
        },
        Step {
            text: "Open the demo and press *Continue with Google* under *Clean callback*.",
            actions: &[Action::Demo],
            tick: Tick::Event(|fact| is_returned(fact) && fact.has_rule("upstream.invalid")),
            seen: "The broker exchanged the code, checked the token and rejected it. The diagram names the check.",
        },
        Step {
            text: "Read the demo's page.",
            actions: &[],
            tick: Tick::Event(|fact| fails(fact, "invalid_provider_response")),
            seen: "The result is `failed` with `invalid_provider_response`. No profile came with it.",
        },
    ],
    missed: Some(Missed {
        shows: is_signed_in,
        advice: "This sign-in succeeded, because the token was good. Press the button of step 1, and sign in with Google again.",
    }),
    closing: &[
        "The broker checks signature, issuer, audience, nonce and time of every ID token. Your app never sees a token of the provider, so it can't forget a check.",
        "To your app this is a failed login like any other. To you it is an alarm: look at the log.",
    ],
    rules: &[Rule::UpstreamInvalid],
    places: &[Place::ResultOutcome, Place::ProblemTexts],
};

const LOSE_RESULT: Preparation = Preparation::Fault {
    operation: RESULT,
    fault: Fault::LoseResponse,
};

const LOST_ANSWER: Lesson = Lesson {
    id: "lost-answer",
    title: "The lost answer",
    minutes: 5,
    goal: "Lose the one answer that matters, and see why asking again does not help.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Let the answer to the next read of a result get lost.",
            actions: &[Action::Prepare(LOSE_RESULT)],
            tick: Tick::Prepared(LOSE_RESULT),
            seen: "The broker will answer the next `POST /v1/login/result`, and the connection will close before the answer arrives.",
        },
        Step {
            text: "Open the demo, press *Continue with Google* under *Clean callback*, and choose Ada Lovelace.",
            actions: &[Action::Demo],
            tick: Tick::Event(|fact| {
                fact.event.operation == RESULT && fact.event.fault == Some("lose_response")
            }),
            seen: "The broker gave the result away, and the demo never got it. The demo can't know whether the broker did.",
        },
        Step {
            text: "Ask again: send the same call a second time.",
            actions: &[Action::SendAgain],
            tick: Tick::Event(is_refused_read),
            seen: "400: the result was read before. The broker can't tell a lost answer from a thief.",
        },
        Step {
            text: "Press *Start again with Google* on the demo's page, and choose Ada Lovelace.",
            actions: &[],
            tick: Tick::AnyLogin(is_signed_in),
            seen: "A new login, with a new key, works at once.",
        },
    ],
    missed: Some(Missed {
        shows: is_signed_in,
        advice: "The answer arrived, because nothing was armed. Press the button of step 1, and sign in again.",
    }),
    closing: &[
        "After a lost answer you don't know what happened, so don't ask again: drop the key and let the user start again. That costs a click.",
        "Switch off every automatic retry in your HTTP client for calls that count once.",
    ],
    rules: &[Rule::ResultOnce],
    places: &[Place::CallLost, Place::NoRetry, Place::ForgetKey],
};

const REPLAY: Lesson = Lesson {
    id: "replay",
    title: "Replay",
    minutes: 3,
    goal: "Send a call that succeeded a second time, as an attacker who recorded it would.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Open the demo and press *Continue with Google* under *Clean callback*.",
            actions: &[Action::Demo],
            tick: Tick::Event(starts),
            seen: "A login waits for the user.",
        },
        Step {
            text: "Choose Ada Lovelace, and wait for the profile.",
            actions: &[],
            tick: Tick::Event(is_signed_in),
            seen: "The demo read the result. That was the one time.",
        },
        Step {
            text: "Send the demo's last call again, byte for byte: same key, same secret.",
            actions: &[Action::SendAgain],
            tick: Tick::Event(is_refused_read),
            seen: "400: the result was read before. The user of the demo stays signed in and notices nothing.",
        },
    ],
    missed: None,
    closing: &[
        "A result is read once. An attacker who records the call, or finds it in a log, gets nothing by sending it again.",
        "The same holds for a code of the legacy flow, and there a second redemption also ends the token of the first.",
    ],
    rules: &[Rule::ResultOnce, Rule::CodeOnce],
    places: &[
        Place::ReadResultOnce,
        Place::ForgetKey,
        Place::LegacyExchange,
    ],
};

const TEN_MINUTES: Preparation = Preparation::Advance { seconds: 600 };

const EXPIRY: Lesson = Lesson {
    id: "expiry",
    title: "Ten minutes",
    minutes: 4,
    goal: "Take too long at the provider, without waiting: move the clock of the whole stack.",
    scope: Scope::OneLogin,
    steps: &[
        Step {
            text: "Open the demo and press *Continue with Google* under *Clean callback*. Stay on Google's page.",
            actions: &[Action::Demo],
            tick: Tick::Event(leaves_for_the_provider),
            seen: "The login has begun. It lives for 600 seconds.",
        },
        Step {
            text: "Let ten minutes pass.",
            actions: &[Action::Prepare(TEN_MINUTES)],
            tick: Tick::Prepared(TEN_MINUTES),
            seen: "The clocks of demo, broker and providers are ten minutes ahead.",
        },
        Step {
            text: "Go back to Google's page and choose Ada Lovelace.",
            actions: &[],
            tick: Tick::Event(|fact| is_returned(fact) && fact.has_rule("upstream_login.expiry")),
            seen: "The broker did not take Google's answer any more, and sent the browser back to the demo.",
        },
        Step {
            text: "Read the demo's page, and press *Start again with Google* there. Choose Ada Lovelace.",
            actions: &[],
            tick: Tick::AnyLogin(is_signed_in),
            seen: "The demo remembers which login ran out, and its button starts the same again.",
        },
    ],
    missed: Some(Missed {
        shows: is_signed_in,
        advice: "This sign-in ended in time. Start another one, and press the button of step 2 while you are at Google.",
    }),
    closing: &[
        "A login lives 600 seconds, from the session call to the end of the sign-in. A late answer is never accepted.",
        "Say what happened (“That took longer than ten minutes”), and offer to start again. Don't blame cookies.",
    ],
    rules: &[Rule::UpstreamLoginExpiry, Rule::ResultExpiry],
    places: &[Place::CallbackAgain, Place::ProblemTexts],
};

const RELAY: Lesson = Lesson {
    id: "relay",
    title: "The relay: be the attacker",
    minutes: 10,
    goal: "Start a login, let a victim finish it, and get in as the victim. Then see what stops you.",
    scope: Scope::Attacks,
    steps: &[
        Step {
            text: "As the attacker, start a login at the demo. Your link appears at the attacker's desk below.",
            actions: &[Action::Attack(LoginFlow::Clean)],
            tick: Tick::Event(starts),
            seen: "The attacker's browser kept the demo's cookies, and did not open the address. It sends the address to the victim.",
        },
        Step {
            text: "Now be the victim: open the link from the desk, best in another browser or a private window.",
            actions: &[],
            tick: Tick::Event(|fact| fact.is(VISIT, 200)),
            seen: "The visit did not begin on a page of the demo, so the broker asks: did you start this sign-in? A careful victim presses *Cancel*.",
        },
        Step {
            text: "Be careless: press *Continue* and choose Ada Lovelace. Then press *Read the result as the attacker* at the desk.",
            actions: &[],
            tick: Tick::Event(|fact| fact.was_asked && is_signed_in(fact)),
            seen: "The attacker is in, as Ada Lovelace. The click on *Continue* was the only protection.",
        },
        Step {
            text: "Turn the guard off at the desk. Start a login, open its link, choose Ada Lovelace, and read the result as the attacker.",
            actions: &[Action::Attack(LoginFlow::Clean)],
            tick: Tick::Event(|fact| !fact.was_asked && is_signed_in(fact)),
            seen: "Without the guard no question came. One link, one choice of an account, and the attacker is in.",
        },
        Step {
            text: "Try it with the legacy flow, still without the guard: start a login, open its link, and choose Ada Lovelace. Then read as the attacker.",
            actions: &[Action::Attack(LoginFlow::Legacy)],
            tick: Tick::Event(|fact| comes_back(fact) && fact.event.steps.contains(&"code_issued")),
            seen: "The code and `state` arrived in the victim's browser. The demo did not start this login there, so it refused, and the attacker's browser has no code to redeem.",
        },
    ],
    missed: Some(Missed {
        shows: |fact| fact.has_rule("relay.cancelled"),
        advice: "The victim pressed *Cancel*. That is the right way out: the login is over and the attacker gets nothing. Start another login to go on with the attack.",
    }),
    closing: &[
        "The clean callback carries nothing, so nothing ties the browser that signs in to the browser that started. The guard does it: a visit that began on a page of the project goes on, every other one is asked about.",
        "Start every login by a form on your own page. If users reach the broker from elsewhere, set `relay_guard` to `always`. If a wrong click is too much of a risk, use the legacy flow: its `state` travels with the browser.",
    ],
    rules: &[
        Rule::RelayStartOrigin,
        Rule::HandleOneBrowser,
        Rule::StatePattern,
    ],
    places: &[
        Place::StartLogin,
        Place::OwnForm,
        Place::LegacyState,
        Place::LegacyConsumeState,
    ],
};
