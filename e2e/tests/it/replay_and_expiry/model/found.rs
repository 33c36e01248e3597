//! Scripts, replayed. A history that goes wrong is printed as such a list: paste
//! it here under a name that says what was wrong, and it stays a test.

use super::engines::Folder;
use super::histories::replay;
use super::script::Failure::*;
use super::script::Moment::*;
use super::script::Project::*;
use super::script::Provider::*;
use super::script::Step::{self, *};
use super::script::Visitor::*;
use super::script::Wrong::*;

#[track_caller]
fn check(script: &[Step]) {
    replay(Folder::new().database(), script);
}

#[test]
fn the_first_upstream_login_to_finish_decides_a_login() {
    check(&[
        Start { login: 1, key: 1, by: A, at: Google, wrong: None },
        Visit { login: 1, by: Curl, upstream_login: 1 },
        Visit { login: 1, by: Ann, upstream_login: 2 },
        SignIn { upstream_login: 2, ending: Err(Denied) },
        SignIn { upstream_login: 1, ending: Ok(()) },
        Deliver { upstream_login: 1, by: Curl },
        Deliver { upstream_login: 2, by: Ann },
        Read { login: 1, by: A, wrong: None },
        Read { login: 1, by: A, wrong: None },
    ]);
}

#[test]
fn a_key_that_is_used_again_takes_its_old_login_away() {
    check(&[
        Start { login: 1, key: 1, by: A, at: GitHub, wrong: None },
        Visit { login: 1, by: Ann, upstream_login: 1 },
        SignIn { upstream_login: 1, ending: Ok(()) },
        Deliver { upstream_login: 1, by: Ann },
        Clock { to: LoginEnds(1), off_ms: -1 },
        Start { login: 2, key: 1, by: B, at: GitHub, wrong: None },
        Clock { to: LoginEnds(1), off_ms: 0 },
        Start { login: 2, key: 1, by: B, at: GitHub, wrong: None },
        Visit { login: 1, by: Ann, upstream_login: 2 },
        Read { login: 1, by: A, wrong: None },
        Read { login: 2, by: B, wrong: None },
    ]);
}

#[test]
fn a_restart_keeps_consumed_upstream_logins_tokens_and_browser_bindings() {
    check(&[
        Start { login: 1, key: 1, by: A, at: Google, wrong: None },
        Visit { login: 1, by: Bob, upstream_login: 1 },
        Authorize { upstream_login: 2, by: Bob, project: B, at: GitHub },
        SignIn { upstream_login: 2, ending: Ok(()) },
        Deliver { upstream_login: 2, by: Bob },
        Redeem { upstream_login: 2, by: B, wrong: Some(Verifier) },
        Redeem { upstream_login: 2, by: B, wrong: None },
        Restart,
        Visit { login: 1, by: Ann, upstream_login: 3 },
        Visit { login: 1, by: Bob, upstream_login: 3 },
        Deliver { upstream_login: 2, by: Bob },
        Profile { upstream_login: 2 },
        Wait { ms: 899_999 },
        Profile { upstream_login: 2 },
        Redeem { upstream_login: 2, by: B, wrong: None },
        Profile { upstream_login: 2 },
    ]);
}
