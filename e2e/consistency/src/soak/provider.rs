//! At the providers: who signs in, what goes wrong then, and what must come of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mock_upstream::{Misbehaviour, MockUpstream, Next, Provider, users};

use super::stage::Stage;
use super::story::{Cast, Deed, Story, Telling};
use crate::Failure;
use crate::chance::Chance;
use crate::client::{Answer, Request, at_provider};

/// For how long the keys may be in trouble that another login was to meet: as long
/// as the provider keeps it ready, and the broker remembers a failure.
const SHADOW_MS: i64 = 13_000;

/// The providers, and who may write their scripts.
pub(crate) struct Providers {
    upstream: Arc<MockUpstream>,
    /// One at a time, so that whoever writes the script is who it is for.
    google: tokio::sync::Mutex<()>,
    github: tokio::sync::Mutex<()>,
    keys_in_trouble_until_ms: AtomicI64,
}

impl Providers {
    pub(crate) fn new(upstream: Arc<MockUpstream>) -> Self {
        Self {
            upstream,
            google: tokio::sync::Mutex::default(),
            github: tokio::sync::Mutex::default(),
            keys_in_trouble_until_ms: AtomicI64::new(0),
        }
    }
}

impl Stage {
    /// Sends a browser from `departure` to its provider, where somebody signs in, or
    /// something goes wrong. What it comes back with, and whose upstream login it is.
    pub(crate) async fn cast(
        &self,
        story: &mut Story,
        departure: &Answer,
        chance: &mut Chance,
    ) -> Result<(Deed, Request), Failure> {
        let provider = story.provider;
        let (next, cast) = self.script(provider, chance);
        let upstream_login = story.casts.len();
        story.casts.push(cast);
        let _alone = match provider {
            Provider::Google => self.providers.google.lock().await,
            Provider::GitHub => self.providers.github.lock().await,
        };
        self.providers.upstream.provider(provider).queue(next)?;
        let arrive = at_provider(&self.client, departure).await?;
        Ok((Deed::Return(upstream_login), arrive))
    }

    fn script(&self, provider: Provider, chance: &mut Chance) -> (Next, Cast) {
        let seeded = users::seed_users();
        let person = seeded[chance.below(seeded.len())].at(provider).clone();
        let cast = Cast {
            id: person.id.clone(),
            at_ms: self.clock.now().0,
            misbehaviour: None,
            errors: Vec::new(),
            is_shadowed: false,
        };
        if chance.below(3) > 0 {
            return (Next::User(person), cast);
        }
        let all = Misbehaviour::of(provider);
        let mut what = all[chance.below(all.len())];
        // Each of them casts a shadow on all that begin meanwhile.
        if troubles_keys(what) && chance.below(30) > 0 {
            what = Misbehaviour::Deny;
        }
        self.tally().misbehaved(what.name());
        let cast = Cast {
            id: users::ada().at(provider).id.clone(),
            misbehaviour: Some(what.name()),
            errors: errors(what),
            ..cast
        };
        (Next::Misbehave(what), cast)
    }

    /// Notes whether keys in trouble may have spoiled the upstream login that has come back.
    pub(crate) fn shadow(&self, story: &mut Story, deed: Deed) {
        let until_ms = self
            .providers
            .keys_in_trouble_until_ms
            .load(Ordering::SeqCst);
        let returns = story.of(|it| it == deed);
        let is_shadowed = returns.iter().any(|it| it.asked_ms <= until_ms);
        if let Some(cast) = story.casts.last_mut() {
            cast.is_shadowed |= is_shadowed;
        }
    }

    fn shade(&self) {
        let until_ms = self.clock.now().0 + SHADOW_MS;
        self.providers
            .keys_in_trouble_until_ms
            .fetch_max(until_ms, Ordering::SeqCst);
    }

    /// A browser comes back from the upstream login of `cast`. Keys that are in trouble for it
    /// may be so for others.
    pub(crate) async fn come_back(
        &self,
        deed: Deed,
        cast: &Cast,
        arrival: &Request,
    ) -> (Telling, Option<Answer>) {
        let is_trouble = cast.misbehaviour.is_some_and(|it| it.starts_with("keys_"));
        if is_trouble {
            self.shade();
        }
        let back = self.telling(deed, arrival).await;
        if is_trouble {
            self.shade();
        }
        back
    }
}

/// The errors with which a login may end that meets `what`. Who looks for keys
/// again, and when, depends on whoever looked before.
fn errors(what: Misbehaviour) -> Vec<&'static str> {
    match what.error() {
        Some(_) if troubles_keys(what) || what.name() == "unknown_kid" => {
            vec!["invalid_provider_response", "provider_unavailable"]
        }
        error => error.into_iter().collect(),
    }
}

fn troubles_keys(what: Misbehaviour) -> bool {
    ["keys_500", "keys_timeout", "stale_keys"].contains(&what.name())
}
