//! The misbehaviours: each one sends what its description says, and nothing else changes.
//!
//! What a client of the mock makes of it is a matter of the client's tests.

mod connection;
mod observed;

use std::collections::HashSet;

use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, Provider};

use crate::test_mock::{GITHUB, GOOGLE, TestMock, redemption};
use observed::Observed;

/// The table of what each misbehaviour changes in a good sign-in: a block for each, with
/// its provider or `both` and its name above the changes.
const CHANGES: &str = include_str!("misbehaviours.txt");

/// The changes of a misbehaviour, in alphabetical order.
fn changes(provider: Provider, misbehaviour: Misbehaviour) -> Vec<&'static str> {
    let name = misbehaviour.name();
    let heads = [
        format!("{} {name}", provider.name()),
        format!("both {name}"),
    ];
    let mut blocks = CHANGES.split("\n\n").map(|block| block.trim().lines());
    let block = blocks.find(|block| {
        let mut lines = block.clone();
        lines
            .next()
            .is_some_and(|head| heads.iter().any(|it| it == head))
    });
    let lines = block.into_iter().flatten().skip(1).map(str::trim);
    let mut lines: Vec<_> = lines.filter(|line| !line.starts_with('#')).collect();
    lines.sort_unstable();
    lines
}

#[tokio::test]
async fn each_misbehaviour_changes_in_a_good_sign_in_what_the_table_says() {
    let mock = TestMock::new().await;
    let mut wrong = Vec::new();
    for provider in Provider::ALL {
        let good = Observed::sign_in(&mock, provider, None).await;
        for &misbehaviour in Misbehaviour::of(provider) {
            if connection::FAULTS.contains(&misbehaviour) {
                continue;
            }
            mock.upstreams.reset();
            let observed = Observed::sign_in(&mock, provider, Some(misbehaviour)).await;
            let (seen, expected) = (observed.changes(&good), changes(provider, misbehaviour));
            if seen != expected || seen.is_empty() {
                let name = misbehaviour.name();
                wrong.push(format!("{provider} {name}: {seen:#?}, not {expected:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_block_of_the_table_is_about_a_misbehaviour() {
    let all = Provider::ALL.into_iter().flat_map(Misbehaviour::of);
    let names: HashSet<_> = all.map(|it| it.name()).collect();
    for block in CHANGES.split("\n\n") {
        let head = block.trim().lines().next().unwrap_or_default();
        let name = head.split(' ').next_back().unwrap();
        assert!(names.contains(name), "{head}");
    }
}

#[test]
fn a_name_is_parsed_by_its_own_provider_alone() {
    for (provider, other) in [(GOOGLE, GITHUB), (GITHUB, GOOGLE)] {
        for &known in Misbehaviour::of(provider) {
            assert_eq!(Misbehaviour::parse(provider, known.name()), Ok(known));
            let is_others = Misbehaviour::of(other).contains(&known);
            let parsed = Misbehaviour::parse(other, known.name());
            assert_eq!(parsed.is_ok(), is_others, "{}", known.name());
        }
    }
    let refused = Misbehaviour::parse(GITHUB, "wrong_nonce").unwrap_err();
    let refused = refused.to_string();
    assert!(refused.starts_with("GitHub can misbehave as: deny, server_error, "));
    assert!(refused.contains("profile_refused") && !refused.contains("bad_signature"));
}

#[test]
fn each_misbehaviour_has_a_sentence_of_its_own_and_an_error_unless_it_is_merely_odd() {
    let errors = "access_denied invalid_provider_response provider_unavailable";
    for provider in Provider::ALL {
        let known = Misbehaviour::of(provider);
        let descriptions: HashSet<_> = known.iter().map(|it| it.description(provider)).collect();
        assert!(descriptions.iter().all(|it| it.ends_with('.')));
        assert_eq!(descriptions.len(), known.len());
        for known in known {
            let is_odd = known.group() == Group::Odd;
            assert_eq!(known.error().is_none(), is_odd, "{}", known.name());
            let is_error = |error| errors.split(' ').any(|it| it == error);
            assert!(known.error().is_none_or(is_error), "{}", known.name());
        }
    }
}

#[tokio::test]
async fn a_misbehaviour_of_the_other_provider_cannot_be_queued() {
    let mock = TestMock::new().await;
    let next = Next::Misbehave(Misbehaviour::BadSignature);
    assert!(mock.upstreams.github().queue(next.clone()).is_err());
    assert!(mock.upstreams.google().queue(next).is_ok());
}

#[tokio::test]
async fn a_misbehaviour_affects_its_own_sign_in_alone() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        mock.queue(provider, Next::Misbehave(Misbehaviour::TokenEmpty));
        let corrupted = redemption(&mock.code(provider).await);
        assert!(mock.sign_in(provider).await.is_granted());
        assert_eq!(mock.token(provider, &corrupted).await.body, "");
    }
}

#[tokio::test]
async fn no_misbehaviour_hides_an_error_in_the_request() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        for &misbehaviour in Misbehaviour::of(provider) {
            if misbehaviour.group() == Group::Callback {
                continue;
            }
            mock.queue(provider, Next::Misbehave(misbehaviour));
            let form = redemption(&mock.code(provider).await).changed("-code_verifier");
            let error = mock.token(provider, &form).await.text("error");
            assert_eq!(error, "invalid_grant", "{}", misbehaviour.name());
        }
    }
}
