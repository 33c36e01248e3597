//! Grants: the lifetimes of a code and a token, and refused redemptions.

use broker::model::LoginId;
use broker::model::grant::{CODE_LIFETIME_MS, Grant, NewGrant, Redemption, Token};
use contract::{CodeVerifier, Digest, LoginLifetime, Rule, TokenLifetime};

use super::upstream_login::{legacy, upstream_login};
use super::{NOW, client};
use crate::users::ada;

#[test]
fn a_code_lives_60_seconds_and_is_known_for_a_tokens_lifetime_more() {
    assert_eq!(CODE_LIFETIME_MS, 60_000);
    let challenge = CodeVerifier::from_random(&[1; 32]).challenge();
    let code = Digest::of(b"code");
    let grant = NewGrant::of(&upstream_login(legacy()), &challenge, ada(), code, NOW);
    assert_eq!(grant.code_ends, NOW.plus_ms(60_000));
    assert_eq!(grant.known_until, NOW.plus_ms(960_000));
    assert_eq!(grant.callback, Digest::of(b"callback"));
    assert_eq!(grant.project, client("prj_ada"));
}

#[test]
fn a_refused_redemption_names_the_first_rule_that_it_broke() {
    let challenge = |n: u8| CodeVerifier::from_random(&[n; 32]).challenge();
    let grant = Grant {
        login: LoginId::kept("abc".to_owned()),
        project: client("prj_ada"),
        callback: Digest::of(b"callback"),
        challenge: challenge(1),
    };
    let check = |project: &str, callback: &[u8], verifier: u8, expected: Rule| {
        let redemption = Redemption {
            code: Digest::of(b"code"),
            project: client(project),
            callback: Digest::of(callback),
            challenge: challenge(verifier),
            token: Digest::of(b"token"),
            token_ends: NOW,
            known_until: NOW,
        };
        assert_eq!(grant.explain(&redemption), expected);
    };
    check("prj_bob", b"other", 2, Rule::CodeClient);
    check("prj_ada", b"other", 2, Rule::CodeCallback);
    check("prj_ada", b"callback", 2, Rule::CodeVerifier);
    check("prj_ada", b"callback", 1, Rule::CodeExpiry);
}

#[test]
fn a_token_opens_its_profile_until_it_expires_or_is_ended() {
    let token = |profile| Token {
        login: LoginId::kept("abc".to_owned()),
        project: client("prj_ada"),
        profile,
        ends: NOW.plus_ms(900_000),
    };
    let check = |profile, ms: i64, expected| {
        assert_eq!(token(profile).open(NOW.plus_ms(ms)), expected);
    };
    check(Some(ada()), 0, Ok(ada()));
    check(Some(ada()), 899_999, Ok(ada()));
    check(Some(ada()), 900_000, Err(Rule::BearerExpiry));
    check(None, 0, Err(Rule::BearerEnded));
    check(None, 900_000, Err(Rule::BearerExpiry));
}

#[test]
fn the_sentence_of_each_expiry_names_its_lifetime() {
    let check = |rule: Rule, seconds: i64| {
        let (sentence, seconds) = (rule.sentence(), format!(" {seconds} seconds"));
        assert!(sentence.contains(&seconds), "{seconds} in {sentence:?}");
    };
    check(Rule::CodeExpiry, CODE_LIFETIME_MS / 1000);
    check(Rule::BearerExpiry, TokenLifetime::MS / 1000);
    for rule in [
        Rule::ResultExpiry,
        Rule::SessionKeyFresh,
        Rule::UpstreamLoginExpiry,
    ] {
        check(rule, LoginLifetime::MS / 1000);
    }
}
