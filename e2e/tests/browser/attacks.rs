//! The attack on each guard of a sign-in (`consistency::guards`), carried out by a real
//! browser. Here every guard is on, and none succeeds but those that the kit assumes away. In a
//! copy of the tree that lacks the guards in its way, each must: `just test-attacks`.

mod addresses;
mod chromium;
mod scene;

use consistency::guards::{Attack, Guard, search_attacks};
use rocket::futures::StreamExt as _;
use rocket::futures::stream;
use scene::Scene;

/// The guard that is removed from this tree with those that hold in its place.
const WITHOUT: Option<&str> = None;

/// As many as have a core.
const AT_ONCE: usize = 2;

// Threats: V5, G2, K3, X7, X8.
#[tokio::test(flavor = "multi_thread")]
async fn an_attack_succeeds_only_without_its_guard() {
    let attacks = search_attacks().unwrap().attacks.into_iter();
    let here = attacks.filter(|(guard, _)| WITHOUT.is_none_or(|it| it == guard.to_string()));
    let played = stream::iter(here).map(|(guard, attack)| surprise(guard, attack));
    let surprises: Vec<_> = played.buffer_unordered(AT_ONCE).collect().await;
    let surprises: Vec<_> = surprises.into_iter().flatten().collect();
    assert!(surprises.is_empty(), "{surprises:#?}");
}

/// The outcome of an attack, if it must be another.
async fn surprise(guard: Guard, attack: Attack) -> Option<String> {
    let outcome = Scene::play(&attack).await.unwrap();
    let must_succeed = WITHOUT.is_some() || guard.is_assumed();
    (outcome.is_ok() != must_succeed).then(|| format!("{guard}: {outcome:?}"))
}
