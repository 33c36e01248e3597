//! The sign-ins at the imitated providers: the users, the errors, and what must come
//! of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agent::random::Random;
use mock_upstream::{Misbehaviour, MockUpstream, Next, users};

use crate::RunError;
use crate::client::Response;
use crate::player::Player;
use crate::recorder::Recorder;
use checker::history::{Operation, Outcome, User};
use checker::model::{self, Answer, Ending, Provider, Step};

/// The time in which a misbehaviour of the provider's keys may fail other logins: the
/// provider keeps it ready for a while, and the broker remembers a failure.
const KEYS_FAIL_MS: i64 = 13_000;

/// The providers, and the order of those who sign in.
pub(crate) struct Providers {
    pub(crate) upstream: Arc<MockUpstream>,
    /// One sign-in at a time each, so that a script is played to the login it is for.
    alone: [tokio::sync::Mutex<()>; 2],
    keys_fail_until_ms: AtomicI64,
}

/// A sign-in at the provider, as it is to happen.
pub(crate) struct Script {
    next: Next,
    pub(crate) user: User,
    endings: Vec<Ending>,
    /// The name of the misbehaviour that it is.
    pub(crate) misbehaviour: Option<&'static str>,
}

impl Script {
    /// A user of the imitated providers signs in.
    pub(crate) fn success(provider: Provider, random: &mut Random) -> Self {
        let users = users::seed_users();
        let person = random.pick(&users).at(imitated(provider)).cloned();
        let person = person.expect("a seed user has an account at both");
        let user = user(provider, &person.id);
        Self::of(Next::User(person), user, Ending::Success)
    }

    /// The provider's next action, and its consequence.
    pub(crate) fn of(next: Next, user: User, ending: Ending) -> Self {
        Self {
            next,
            user,
            endings: vec![ending],
            misbehaviour: None,
        }
    }

    /// The provider misbehaves.
    pub(crate) fn misbehaviour(provider: Provider, what: Misbehaviour) -> Self {
        let ada = users::ada();
        let ada = ada.at(imitated(provider)).expect("she is at both");
        Self {
            next: Next::Misbehave(what),
            user: user(provider, &ada.id),
            endings: endings(what),
            misbehaviour: Some(what.name()),
        }
    }

    /// One of the first, or once in three times one of the second.
    pub(crate) fn any(provider: Provider, random: &mut Random) -> Self {
        if !random.one_in(3) {
            return Self::success(provider, random);
        }
        let what = *random.pick(Misbehaviour::of(imitated(provider)));
        // A misbehaviour of keys affects all logins that begin meanwhile.
        let is_too_much = affects_keys(what) && !random.one_in(30);
        let what = match is_too_much {
            true => Misbehaviour::Deny,
            false => what,
        };
        Self::misbehaviour(provider, what)
    }

    /// A success, or once in eight times a user who declines.
    pub(crate) fn plain(provider: Provider, random: &mut Random) -> Self {
        if random.one_in(8) {
            Self::misbehaviour(provider, Misbehaviour::Deny)
        } else {
            Self::success(provider, random)
        }
    }
}

impl Providers {
    pub(crate) fn new(upstream: Arc<MockUpstream>) -> Self {
        Self {
            upstream,
            alone: Default::default(),
            keys_fail_until_ms: AtomicI64::new(0),
        }
    }

    /// Sends the browser of an upstream login to its provider, where `script` is
    /// played. The response leads to the broker's callback, with the provider's answer.
    pub(crate) async fn sign_in(
        &self,
        recorder: &Recorder,
        player: &Player,
        provider: Provider,
        upstream_login: u8,
        script: Script,
    ) -> Result<(Operation, Response), RunError> {
        let _alone = self.alone[provider as usize].lock().await;
        self.upstream
            .provider(imitated(provider))
            .queue(script.next)?;
        let endings = script.endings.into_iter();
        let steps = endings.map(|ending| Step::sign_in(upstream_login, ending));
        let steps: Vec<_> = steps.collect();
        let request = player.request(steps[0]);
        let (operation, response) = recorder
            .record(steps[0], async || recorder.client.send("", &request).await)
            .await;
        let response = response.ok_or("an imitated provider did not answer")?;
        let operation = Operation {
            steps,
            outcome: Outcome::Answered(Answer::FromProvider),
            ..operation
        };
        Ok((operation, response))
    }

    /// Notes that keys fail from now on, if this misbehaviour is the cause: call it
    /// before and after the provider's answer is delivered.
    pub(crate) fn note_failing_keys(&self, misbehaviour: Option<&str>, recorder: &Recorder) {
        if misbehaviour.is_some_and(|it| it.starts_with("keys_")) {
            let until_ms = recorder.clock.now().0 + KEYS_FAIL_MS;
            self.keys_fail_until_ms
                .fetch_max(until_ms, Ordering::SeqCst);
        }
    }

    /// Whether failing keys may have failed an upstream login whose answer was
    /// delivered from `from_ms` on. Then its sign-in may have that end, too.
    pub(crate) fn note_shadow(&self, sign_in: &mut Operation, from_ms: i64) -> bool {
        let until_ms = self.keys_fail_until_ms.load(Ordering::SeqCst);
        let Step::SignIn { upstream_login, .. } = sign_in.step() else {
            return false;
        };
        let is_shadowed = from_ms <= until_ms;
        if is_shadowed {
            let ending = Ending::BadCode(model::Failure::Unavailable);
            sign_in.steps.push(Step::sign_in(upstream_login, ending));
        }
        is_shadowed
    }
}

/// The imitation of a provider.
pub(crate) fn imitated(provider: Provider) -> mock_upstream::Provider {
    match provider {
        Provider::Google => mock_upstream::Provider::Google,
        Provider::GitHub => mock_upstream::Provider::GitHub,
    }
}

/// The user with this id at a provider, under the subject that the broker's documentation
/// derives.
pub(crate) fn user(provider: Provider, id: &str) -> User {
    User {
        provider: provider.name().to_owned(),
        id: id.to_owned(),
        subject: testkit::fresh::subject(provider.name(), id),
    }
}

/// The ways in which a login may end that meets a misbehaviour. Which login fetches the
/// keys again, and when, depends on those before it.
fn endings(what: Misbehaviour) -> Vec<Ending> {
    use model::Failure::{Denied, Invalid, Unavailable};
    let failures = match what.error() {
        None => return vec![Ending::Success],
        Some(_) if affects_keys(what) || what.name() == "unknown_kid" => {
            vec![Invalid, Unavailable]
        }
        Some(error) => [Denied, Invalid, Unavailable]
            .into_iter()
            .filter(|it| it.name() == error)
            .collect(),
    };
    // In the provider's redirect, or when the code is exchanged.
    let both = |it| [Ending::Error(it), Ending::BadCode(it)];
    failures.into_iter().flat_map(both).collect()
}

fn affects_keys(what: Misbehaviour) -> bool {
    ["keys_500", "keys_timeout", "stale_keys"].contains(&what.name())
}
