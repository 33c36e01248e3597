//! Scripts, replayed. A history that goes wrong is printed as such a list: paste it here
//! under a name that says what was wrong, and it stays a test.

use consistency::model::Ending::*;
use consistency::model::Failure::*;
use consistency::model::Project::*;
use consistency::model::Provider::*;
use consistency::model::Step::*;
use consistency::model::Visitor::*;
use consistency::model::Wrong::*;

use crate::sqlite;
use crate::histories::replay;
use crate::script::Line::{self, *};
use crate::script::Moment::*;

#[track_caller]
fn check(script: &[Line]) {
    let folder = tempfile::tempdir().expect("a folder");
    replay(sqlite(folder.path()), script);
}

#[test]
fn the_first_upstream_login_to_finish_decides_a_login() {
    check(&[
        Do(Start { login: 1, key: 1, by: A, at: Google, wrong: None }),
        Do(Visit { login: 1, by: Curl, upstream_login: 1 }),
        Do(Visit { login: 1, by: Browser(1), upstream_login: 2 }),
        Do(SignIn { upstream_login: 2, ending: Error(Denied) }),
        Do(SignIn { upstream_login: 1, ending: Success }),
        Do(Deliver { upstream_login: 1, by: Curl }),
        Do(Deliver { upstream_login: 2, by: Browser(1) }),
        Do(Read { key: 1, by: A, wrong: None }),
        Do(Read { key: 1, by: A, wrong: None }),
    ]);
}

#[test]
fn a_key_that_is_used_again_takes_its_old_login_away() {
    check(&[
        Do(Start { login: 1, key: 1, by: A, at: GitHub, wrong: None }),
        Do(Visit { login: 1, by: Browser(1), upstream_login: 1 }),
        Do(SignIn { upstream_login: 1, ending: Success }),
        Do(Deliver { upstream_login: 1, by: Browser(1) }),
        Clock { to: LoginEnds(1), off_ms: -1 },
        Do(Start { login: 2, key: 1, by: B, at: GitHub, wrong: None }),
        Clock { to: LoginEnds(1), off_ms: 0 },
        Do(Start { login: 2, key: 1, by: B, at: GitHub, wrong: None }),
        Do(Visit { login: 1, by: Browser(1), upstream_login: 2 }),
        Do(Read { key: 1, by: A, wrong: None }),
        Do(Read { key: 1, by: B, wrong: None }),
    ]);
}

// Threats: CVE-2026-9802.
#[test]
fn a_restart_forgets_no_consumed_upstream_login_no_token_and_no_browser_binding() {
    check(&[
        Do(Start { login: 1, key: 1, by: A, at: Google, wrong: None }),
        Do(Visit { login: 1, by: Browser(2), upstream_login: 1 }),
        Do(Authorize { upstream_login: 2, by: Browser(2), project: B, at: GitHub }),
        Do(SignIn { upstream_login: 2, ending: Success }),
        Do(Deliver { upstream_login: 2, by: Browser(2) }),
        Do(Redeem { upstream_login: 2, by: B, wrong: Some(Verifier) }),
        Do(Redeem { upstream_login: 2, by: B, wrong: None }),
        Restart,
        Do(Visit { login: 1, by: Browser(1), upstream_login: 3 }),
        Do(Visit { login: 1, by: Browser(2), upstream_login: 3 }),
        Do(Deliver { upstream_login: 2, by: Browser(2) }),
        Do(Profile { upstream_login: 2 }),
        Wait { ms: 899_999 },
        Do(Profile { upstream_login: 2 }),
        Do(Redeem { upstream_login: 2, by: B, wrong: None }),
        Do(Profile { upstream_login: 2 }),
    ]);
}
