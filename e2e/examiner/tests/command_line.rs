//! The program `examine`, from outside: odd apps and bad input. Each ends before any
//! verdict, in one sentence with the way out and status 2.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{Examine, free_port, odd_app};

#[test]
fn an_app_that_answers_200_to_everything_passes_nothing() {
    let run = Examine::odd("answers-200").run();
    run.is_trouble(
        "/ has no link and no form to press: give the page on which a visitor chooses to sign in",
    );
}

#[test]
fn an_app_that_answers_500_is_to_be_mended_first() {
    Examine::odd("answers-500")
        .run()
        .is_trouble("answers with status 500");
}

#[test]
fn a_dead_button_is_an_app_that_does_not_know_the_broker() {
    let run = Examine::odd("dead-button").run();
    run.is_trouble("2 links and buttons were pressed");
    run.is_trouble("give the app that address as SIGNIN_BASE_URL");
}

#[test]
fn a_page_that_needs_scripts_is_told_from_an_empty_one() {
    let run = Examine::odd("scripted").flags(&["--no-chromium"]).run();
    run.is_trouble("sign_in = { google = \"POST /login/google\" }");
}

/// The app whose page needs scripts, with the request of its script.
fn scripted() -> Examine {
    Examine::odd("scripted").flags(&[
        "--no-chromium",
        "--sign-in",
        "github=POST /api/login",
        "--whoami",
        "/api/me",
    ])
}

#[test]
fn the_request_of_a_script_can_be_named() {
    let run = scripted().only("binding-required").run();
    run.has_verdict("binding-required", "PASS");
}

#[test]
fn a_page_that_would_stop_the_parser_is_named() {
    let run = Examine::odd("nested").run();
    run.is_trouble("the page / nests elements more than 512 deep");
}

#[test]
fn a_password_page_is_named() {
    Examine::odd("own-login")
        .run()
        .is_trouble("asks for a password of the app's own");
}

#[test]
fn a_slow_app_is_examined_and_told_so() {
    let run = Examine::odd("slow").only("binding-required").run();
    run.has_verdict("binding-required", "PASS");
    assert!(run.stdout.contains("only after"), "{}", run.stdout);
}

#[test]
fn a_plain_app_needs_no_setting_but_its_start_page() {
    let run = Examine::odd("plain").only("callback-replay").run();
    run.has_verdict("callback-replay", "PASS");
}

#[test]
fn an_app_that_does_not_run_is_named() {
    let start = format!("http://localhost:{}/", free_port());
    let run = Examine::nothing()
        .flags(&[&start, "--control", "http://127.0.0.1:1"])
        .run();
    run.is_trouble("no stack at the control address http://127.0.0.1:1");
}

#[test]
fn a_wrong_secret_is_found_by_the_brokers_refusal() {
    let wrong = format!("SIGNIN_CLIENT_SECRET=wrong exec {}", odd_app("plain"));
    let run = Examine::shell(&wrong).run();
    run.is_trouble("the app sends a wrong client_secret for the project prj_");
    assert!(!run.stderr.contains("wrong\u{201D}"), "{}", run.stderr);
}

#[test]
fn an_unknown_project_is_named() {
    let wrong = format!("SIGNIN_CLIENT_ID=unknown exec {}", odd_app("plain"));
    Examine::shell(&wrong)
        .run()
        .is_trouble("the broker has no project unknown");
}

#[test]
fn a_selector_that_finds_nothing_is_named() {
    let run = Examine::odd("plain")
        .flags(&["--sign-in", "google=css:#google"])
        .run();
    run.is_trouble("sign_in.google: css:#google finds nothing on /");
}

#[test]
fn a_page_that_shows_no_user_is_named() {
    let run = Examine::odd("plain").flags(&["--whoami", "/nowhere"]).run();
    run.is_trouble("whoami /nowhere does not show");
}

#[test]
fn a_command_that_ends_at_once_shows_its_last_words() {
    let run = Examine::shell("echo no such module >&2; exit 3").run();
    run.is_trouble("the command ended before it listened (exit status: 3)");
    run.is_trouble("no such module");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let start = format!("http://localhost:{}/", free_port());
    let run = Examine::nothing()
        .flags(&[&start, "--", "no-such-program"])
        .run();
    run.is_trouble("there is no program `no-such-program`");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = format!("http://localhost:{port}/");
    let run = Examine::nothing().flags(&[&start, "--", "true"]).run();
    run.is_trouble(&format!("another program listens on port {port}"));
}

#[test]
fn an_unknown_key_of_the_file_is_named() {
    let run = Examine::nothing()
        .file("start = \"http://localhost:5000/\"\nwhoam = \"/me\"\n")
        .run();
    run.is_trouble("examine.toml: unknown field `whoam`");
}

#[test]
fn an_unknown_check_is_named_with_the_nearest() {
    let run = Examine::nothing()
        .flags(&["http://localhost:5000/", "--only", "callback-reply"])
        .run();
    run.is_trouble("--only: there is no check callback-reply; the nearest is callback-replay");
}

#[test]
fn an_app_elsewhere_is_not_attacked() {
    let run = Examine::nothing().flags(&["https://app.example/"]).run();
    run.is_trouble("app.example is not on this machine");
}

#[test]
fn without_an_app_there_is_a_sentence() {
    Examine::nothing().run().is_trouble("which app?");
}

#[test]
fn init_writes_what_it_found_and_examine_reads_it() {
    let init = Examine::odd("plain").init();
    let run = init.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let written = init.read("examine.toml");
    assert!(
        written.contains("callback = [\"http://localhost:"),
        "{written}"
    );
    let again = init.run();
    again.is_trouble("examine.toml exists already");
    let examined = init.examine_by_file("callback-replay").run();
    examined.has_verdict("callback-replay", "PASS");
}

#[test]
fn init_takes_the_steps_of_a_page_with_scripts() {
    let flags = ["--sign-in", "github=POST /api/login", "--whoami", "/api/me"];
    let init = Examine::odd("scripted").flags(&flags).init();
    let run = init.run();
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let written = init.read("examine.toml");
    assert!(
        written.contains("sign_in.github = \"POST /api/login\""),
        "{written}"
    );
    assert!(written.contains("whoami   = \"/api/me\""), "{written}");
}

#[test]
fn an_app_that_hides_its_sign_in_from_signed_in_users_is_no_worse_for_it() {
    let run = Examine::odd("csrf")
        .flags(&["--only", "failure-page"])
        .only("relogin-replaces")
        .run();
    run.has_verdict("failure-page", "PASS");
    run.has_verdict("relogin-replaces", "NOT APPLICABLE");
}

#[test]
fn a_page_that_its_script_shows_is_not_tested() {
    let run = scripted().only("failure-page").run();
    run.has_verdict("failure-page", "NOT TESTED");
    let reason = "is shown by its script";
    assert!(run.stdout.contains(reason), "{}", run.stdout);
}

#[test]
fn an_unchecked_address_in_json_is_found() {
    let run = scripted().only("authorization-url-checked").run();
    run.has_verdict("authorization-url-checked", "FAIL");
}
