//! The program `stack`: its flags, its banner, and its end by a signal.

#[path = "start_up/imitations.rs"]
mod imitations;
#[path = "start_up/log.rs"]
mod log;
#[path = "start_up/running.rs"]
mod running;
#[path = "start_up/sandboxes.rs"]
mod sandboxes;
#[cfg(feature = "clients")]
#[path = "start_up/trust.rs"]
mod trust;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use testkit::backend::Backend;
use testkit::http::Http;
use tokio::io::AsyncReadExt as _;

use running::{FLAGS, Running, on_free_ports_but, run, stack, text, word_after};

#[tokio::test]
async fn the_help_lists_every_flag() {
    let help = text(&stack(&["--help"]).output().await.expect("it runs").stdout);
    for flag in FLAGS.iter().chain(&[
        "callback",
        "https",
        "host",
        "ca-file",
        "automatic",
        "control-host",
        "max-sandboxes",
        "health",
        "people",
        "imitations-only",
        "client",
        "any-client",
        "quiet",
    ]) {
        assert!(help.contains(&format!("--{flag}")), "--{flag} in {help}");
    }
    for default in ["localhost:3000", "127.0.0.1:8000", "127.0.0.1:8010"] {
        assert!(help.contains(default), "{default} in {help}");
    }
}

#[tokio::test]
async fn a_taken_address_is_one_line_that_names_it_and_its_flag() {
    for flag in FLAGS {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = taken.local_addr().expect("an address");
        let mut arguments = on_free_ports_but(flag);
        arguments.extend([format!("--{flag}"), address.to_string()]);
        let output = run(&arguments).await;
        assert_eq!(output.status.code(), Some(1), "--{flag}");
        assert_eq!(text(&output.stdout), "");
        let message = text(&output.stderr);
        assert_eq!(message.lines().count(), 1, "{message}");
        for word in [address.to_string(), format!("--{flag}")] {
            assert!(message.contains(&word), "{word} in {message}");
        }
    }
}

// Threats: RAUTHY-008.
#[tokio::test]
async fn an_address_that_others_could_reach_is_refused() {
    for flag in FLAGS {
        let argument = format!("--{flag}=0.0.0.0:0");
        let output = run(&[argument]).await;
        assert_eq!(output.status.code(), Some(2), "--{flag}");
        assert!(text(&output.stderr).contains("loopback"), "--{flag}");
    }
}

#[tokio::test]
async fn a_host_name_needs_https_and_is_a_dns_name() {
    let output = run(&["--host=stack.internal".to_owned()]).await;
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.starts_with("stack: --host needs --https: "),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");

    for host in ["127.0.0.1", "stack:8000", "https://stack", ""] {
        let arguments = ["--https".to_owned(), format!("--host={host}")];
        let output = run(&arguments).await;
        assert_eq!(output.status.code(), Some(2), "{host}");
        let message = text(&output.stderr);
        assert!(message.contains("--host"), "{message}");
        assert!(
            message.contains("expected a DNS name without a port"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_ca_file_that_cannot_be_written_is_one_line_that_names_it_and_its_flag() {
    let mut arguments = on_free_ports_but("nothing");
    arguments.extend(["--https".to_owned(), "--ca-file=/nowhere/ca.pem".to_owned()]);
    let output = run(&arguments).await;
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert_eq!(message.lines().count(), 1, "{message}");
    for word in ["/nowhere/ca.pem", "No such file", "--ca-file"] {
        assert!(message.contains(word), "{word} in {message}");
    }
}

#[tokio::test]
async fn the_temporary_ca_file_is_private_and_gone_when_the_program_ends() {
    let mut running = Running::start(&["--https"]).await;
    let ca = PathBuf::from(word_after(&running.banner, "  ca_file  "));
    let folder = ca.parent().expect("a folder").to_owned();
    assert!(
        std::fs::read_to_string(&ca)
            .expect("a file")
            .contains("BEGIN CERTIFICATE")
    );
    let mode = std::fs::metadata(&folder)
        .expect("a folder")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    running.send("TERM").await;
    running.child.wait().await.expect("it ends");
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_ca_file_of_the_users_own_is_written_and_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("our ca.pem");
    let flag = format!("--ca-file={}", path.display());
    let mut running = Running::start(&["--https", &flag]).await;
    let quoted = format!("'{}'", path.display());
    assert!(running.banner.contains(&quoted), "{}", running.banner);
    running.send("TERM").await;
    running.child.wait().await.expect("it ends");
    let pem = std::fs::read_to_string(&path).expect("a file");
    assert!(pem.contains("BEGIN CERTIFICATE"));
    assert!(!pem.contains("PRIVATE KEY"));
}

#[tokio::test]
async fn a_callback_that_the_contract_forbids_is_refused() {
    for callback in [
        "http://app.example/back",
        "https://app.example/back?x=1",
        "back",
    ] {
        let output = run(&[format!("--callback={callback}")]).await;
        assert_eq!(output.status.code(), Some(2), "{callback}");
    }
}

#[tokio::test]
async fn a_people_file_that_cannot_be_used_is_one_line_with_the_flag_and_the_file() {
    for (file, word) in [
        ("/nowhere/people.toml", "No such file"),
        (
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            "unknown field",
        ),
    ] {
        let mut arguments = on_free_ports_but("nothing");
        arguments.extend(["--people".to_owned(), file.to_owned()]);
        let output = run(&arguments).await;
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert_eq!(text(&output.stdout), "");
        let message = text(&output.stderr);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(
            message.starts_with(&format!("stack: --people {file}: ")),
            "{message}"
        );
        assert!(message.contains(word), "{word} in {message}");
    }
}

#[tokio::test]
async fn the_people_of_a_file_are_on_the_sign_in_pages() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/people.toml");
    let running = Running::start(&["--people", sample]).await;
    let callback = format!("{}/callback/github", running.url_of("broker"));
    let page = format!(
        "{}/login/oauth/authorize?client_id=federated-sign-in-kit&redirect_uri={callback}",
        running.url_of("imitated GitHub"),
    );
    let page = Http::new().get(&page).send().await;
    for key in ["ada", "marie", "pierre"] {
        let button = format!(r#"data-person="{key}""#);
        assert!(page.text().contains(&button), "{key} in {}", page.text());
    }
}

#[tokio::test]
async fn ctrl_c_sigterm_and_a_closed_terminal_end_it_with_status_zero() {
    for signal in ["INT", "TERM", "HUP"] {
        let mut running = Running::start(&[]).await;
        running.send(signal).await;
        let status = running.child.wait().await.expect("it ends");
        assert_eq!(status.code(), Some(0), "{signal}");
    }
}

#[tokio::test]
async fn its_health_is_good_while_it_runs_and_bad_afterwards() {
    check_health(&[]).await;
    check_health(&["--https"]).await;
}

async fn check_health(arguments: &[&str]) {
    let mut running = Running::start(arguments).await;
    let url = running.url_of("inspector");
    let (_, control) = url.split_once("://").expect("a URL");
    let health = [format!("--control={control}"), "--health".to_owned()];

    let up = run(&health).await;
    assert_eq!(
        (up.status.code(), text(&up.stdout).as_str()),
        (Some(0), "up\n")
    );

    running.send("TERM").await;
    running.child.wait().await.expect("it ends");
    let down = run(&health).await;
    assert_eq!(down.status.code(), Some(1));
    assert_eq!(text(&down.stdout), "");
    let message = text(&down.stderr);
    assert!(
        message.contains(control) && message.contains("--control"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[tokio::test]
async fn another_server_at_the_control_address_is_no_healthy_stack() {
    let running = Running::start(&[]).await;
    let url = running.url_of("imitated GitHub");
    let other = url.strip_prefix("http://").expect("plain HTTP");
    let output = run(&[format!("--control={other}"), "--health".to_owned()]).await;
    assert_eq!(output.status.code(), Some(1));
}

#[tokio::test]
async fn every_address_in_the_banner_answers() {
    let running = Running::start(&[]).await;
    let client = Http::new();
    for what in [
        "demo",
        "broker",
        "inspector",
        "imitated Google",
        "imitated GitHub",
    ] {
        let url = running.url_of(what);
        let answer = client.get(&url).try_send().await;
        assert!(answer.is_ok(), "{what} at {url}");
    }
}

#[tokio::test]
async fn the_banner_shows_working_credentials_for_a_callback_flag() {
    let callback = "http://localhost:4000/signed/in";
    let running = Running::start(&["--callback", callback]).await;
    let own = running
        .banner
        .split("My app")
        .nth(1)
        .expect("the project of the callback");
    let value = |what: &str| word_after(own, what);
    assert_eq!(value("callbacks"), callback);

    let backend = Backend::new(
        &running.url_of("broker"),
        &value("client_id"),
        &value("client_secret"),
        &value("callbacks"),
    );
    backend.start_login("google").await;
}

#[tokio::test]
async fn nothing_but_the_banner_is_printed_not_even_during_resets() {
    let mut running = Running::start(&[]).await;
    let (broker, control) = (running.url_of("broker"), running.url_of("inspector"));
    let client = Http::new();
    // Visits to the broker before, during and after its resets.
    let visits = async {
        for _ in 0..400 {
            let visit = client.get(format!("{broker}/callback/google?code=secret"));
            let _ = visit.try_send().await;
        }
    };
    let resets = async {
        for _ in 0..40 {
            let reset = client.post(format!("{control}/api/reset")).send().await;
            assert_eq!(reset.status, 204);
        }
    };
    tokio::join!(visits, resets);
    running.send("TERM").await;
    let mut printed = String::new();
    let _ = running.stdout.read_to_string(&mut printed).await;
    let _ = running.stderr.read_to_string(&mut printed).await;
    assert_eq!(printed.trim(), "");
}
