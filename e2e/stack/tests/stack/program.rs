//! The program `stack`: its flags, its banner, and its end by a signal.

mod imitations;
mod log;
mod running;
mod sandboxes;
#[cfg(feature = "clients")]
mod trust;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use testkit::backend::Backend;
use testkit::http::Http;
use tokio::io::AsyncReadExt as _;

use running::{FLAGS, Running, on_free_ports_but, run, text, word_after};

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
async fn what_cannot_be_is_refused_by_the_name_of_its_flag_and_without_its_secret() {
    for row in include_str!("program/refusals.txt").lines() {
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let (arguments, refusal) = row.split_once(" => ").expect("a row");
        let (code, words) = refusal.split_once(' ').expect("a status and words");
        let mut all = on_free_ports_but("nothing");
        if code == "2" || arguments.contains("--imitations-only") {
            all.clear();
        }
        all.extend(arguments.split(' ').map(ToOwned::to_owned));
        let output = run(&all).await;
        let status = output.status.code().expect("it ends by itself");
        assert_eq!(status.to_string(), code, "{row}");
        assert_eq!(text(&output.stdout), "", "{row}");
        let message = text(&output.stderr);
        assert!(code == "2" || message.lines().count() == 1, "{message}");
        for word in words.split(" | ") {
            assert!(message.contains(word), "{word} in {message}");
        }
        assert!(!message.contains("hush"), "{message}");
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
async fn every_server_answers_until_a_signal_ends_the_program_with_status_zero() {
    let servers = [
        "demo",
        "broker",
        "inspector",
        "imitated Google",
        "imitated GitHub",
    ];
    for signal in ["INT", "TERM", "HUP"] {
        let mut running = Running::start(&[]).await;
        for what in servers {
            let answer = Http::new().get(running.url_of(what)).try_send().await;
            assert!(answer.is_ok(), "{what}");
        }
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
    let health = async |url: String| {
        let (_, address) = url.split_once("://").expect("a URL");
        run(&[format!("--control={address}"), "--health".to_owned()]).await
    };
    let control = running.url_of("inspector");
    let up = health(control.clone()).await;
    assert_eq!((up.status.code(), &*up.stdout), (Some(0), &b"up\n"[..]));
    let other = health(running.url_of("imitated GitHub")).await;
    assert_eq!(other.status.code(), Some(1), "it is no healthy stack");

    running.send("TERM").await;
    running.child.wait().await.expect("it ends");
    let down = health(control.clone()).await;
    assert_eq!((down.status.code(), &*down.stdout), (Some(1), &b""[..]));
    let message = text(&down.stderr);
    let (_, address) = control.split_once("://").expect("a URL");
    for word in [address, "--control"] {
        assert!(message.contains(word), "{word} in {message}");
    }
    assert_eq!(message.lines().count(), 1, "{message}");
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
