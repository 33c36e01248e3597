//! Two instances of the application on one file of sessions, as behind a load balancer; and one
//! after the other, as at a restart. (Callbacks at both at once are in `requests.rs`.)

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::scripted_broker::{RESULT, ScriptedBroker, TOKEN, ada};
use crate::test_consumer::{NOBODY, TestConsumer};

/// An instance of the application with the sessions in this file.
async fn instance(broker: &Arc<ScriptedBroker>, file: &Path) -> TestConsumer {
    let file = Some(file.to_owned());
    TestConsumer::at(Arc::clone(broker), |it| it.sessions_db = file).await
}

/// Two instances, and the folder of their sessions.
async fn two() -> ([TestConsumer; 2], TempDir) {
    let broker = Arc::new(ScriptedBroker::start().await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.sqlite");
    let here = instance(&broker, &file).await;
    ([here, instance(&broker, &file).await], folder)
}

#[rocket::async_test]
async fn a_login_ends_once_and_a_user_signs_out_at_whichever_instance_the_browser_reaches() {
    let ([here, there], _folder) = two().await;
    let browser = here.browser();
    browser.start_clean("google").await;
    let browser = browser.moved_to(&there);
    assert_eq!(browser.callback().await.outcome(), "/profile");
    let login = browser.start_legacy("google").await;
    let browser = browser.moved_to(&here);
    assert_eq!(browser.finish_legacy(&login).await.outcome(), "/profile");
    assert_eq!(browser.callback().await.outcome(), "/profile");
    let browser = browser.moved_to(&there);
    assert_eq!(browser.finish_legacy(&login).await.outcome(), "refused");
    for path in [RESULT, TOKEN] {
        assert_eq!(here.broker.calls(path).len(), 1, "{path}");
    }
    assert_eq!(browser.get("/profile").await.field("signIns"), "2");

    let copied = browser.cookie();
    browser.press("/sign-out").await;
    browser.set_cookie(copied);
    assert_eq!(browser.moved_to(&here).user().await, NOBODY);
}

#[rocket::async_test]
async fn a_restart_keeps_the_user_and_the_note() {
    let ([before, other], folder) = two().await;
    let user = before.signed_in(&ada()).await;
    user.submit("/note", "note=the+key+is+under+the+mat").await;
    let (cookies, broker) = (user.cookies(), Arc::clone(&before.broker));
    drop((before, other));

    let file = folder.path().join("sessions.sqlite");
    let after = instance(&broker, &file).await;
    let user = after.browser();
    cookies.into_iter().for_each(|cookie| user.keep(cookie));
    let profile = user.get("/profile").await.body;
    assert!(profile.contains("under the mat"), "{profile}");
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "its owner alone may read it");
}
