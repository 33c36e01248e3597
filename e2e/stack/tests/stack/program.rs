//! The program `stack`: its flags, its banner, its end by a signal, and the resources of
//! its process that sandboxes take and give back.

mod imitations;
mod log;
mod running;
#[cfg(feature = "clients")]
mod trust;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use agent::program::Signal;
use reqwest::Method;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::Http;

use running::{FLAGS, LIMIT, Running, on_free_ports_but, run, word_after};

#[test]
fn a_taken_address_is_one_line_that_names_it_and_its_flag() {
    for flag in FLAGS {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = taken.local_addr().expect("an address");
        let mut arguments = on_free_ports_but(flag);
        arguments.extend([format!("--{flag}"), address.to_string()]);
        let output = run(&arguments);
        assert_eq!(output.code, Some(1), "--{flag}");
        assert_eq!(output.stdout, "");
        let message = output.stderr;
        assert_eq!(message.lines().count(), 1, "{message}");
        for word in [address.to_string(), format!("--{flag}")] {
            assert!(message.contains(&word), "{word} in {message}");
        }
    }
}

// Threats: RAUTHY-008.
#[test]
fn what_cannot_be_is_refused_by_the_name_of_its_flag_and_without_its_secret() {
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
        let output = run(&all);
        assert_eq!(output.code, code.parse().ok(), "{row}");
        assert_eq!(output.stdout, "", "{row}");
        let message = output.stderr;
        assert!(code == "2" || message.lines().count() == 1, "{message}");
        for word in words.split(" | ") {
            assert!(message.contains(word), "{word} in {message}");
        }
        assert!(!message.contains("hush"), "{message}");
    }
}

#[test]
fn the_temporary_ca_file_is_private_and_gone_when_the_program_ends() {
    let mut running = Running::start(&["--https"]);
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
    running.ended_by(Signal::TERM);
    assert!(!folder.exists());
}

#[test]
fn a_ca_file_of_the_users_own_is_written_and_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("our ca.pem");
    let flag = format!("--ca-file={}", path.display());
    let mut running = Running::start(&["--https", &flag]);
    let quoted = format!("'{}'", path.display());
    assert!(running.banner.contains(&quoted), "{}", running.banner);
    running.ended_by(Signal::TERM);
    let pem = std::fs::read_to_string(&path).expect("a file");
    assert!(pem.contains("BEGIN CERTIFICATE"));
    assert!(!pem.contains("PRIVATE KEY"));
}

#[tokio::test]
async fn the_people_of_a_file_are_on_the_sign_in_pages() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/people.toml");
    let running = Running::start(&["--people", sample]);
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
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut running = Running::start(&[]);
        for what in servers {
            let answer = Http::new().get(running.url_of(what)).try_send().await;
            assert!(answer.is_ok(), "{what}");
        }
        assert_eq!(running.ended_by(signal), Some(0), "{signal:?}");
    }
}

#[test]
fn its_health_is_good_while_it_runs_and_bad_afterwards() {
    check_health(&[]);
    check_health(&["--https"]);
}

fn check_health(arguments: &[&str]) {
    let mut running = Running::start(arguments);
    let health = |url: String| {
        let (_, address) = url.split_once("://").expect("a URL");
        run(&[format!("--control={address}"), "--health".to_owned()])
    };
    let control = running.url_of("inspector");
    let up = health(control.clone());
    assert_eq!((up.code, &*up.stdout), (Some(0), "up\n"));
    let other = health(running.url_of("imitated GitHub"));
    assert_eq!(other.code, Some(1), "it is no healthy stack");

    running.ended_by(Signal::TERM);
    let down = health(control.clone());
    assert_eq!((down.code, &*down.stdout), (Some(1), ""));
    let message = down.stderr;
    let (_, address) = control.split_once("://").expect("a URL");
    for word in [address, "--control"] {
        assert!(message.contains(word), "{word} in {message}");
    }
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[tokio::test]
async fn the_banner_shows_working_credentials_for_a_callback_flag() {
    let callback = "http://localhost:4000/signed/in";
    let running = Running::start(&["--callback", callback]);
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
    let mut running = Running::start(&[]);
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
    running.ended_by(Signal::TERM);
    let printed = running.program.output.whole(LIMIT).expect("it has ended");
    assert_eq!(printed[running.banner.len()..].trim(), "");
    let errors = running.program.errors.whole(LIMIT);
    assert_eq!(errors.expect("it has ended").trim(), "");
}

#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux counts them")]
async fn a_sandbox_that_finds_no_room_is_refused_and_none_leaves_a_thread_or_a_descriptor() {
    let running = Running::start_with_descriptors(160);
    let control = Http::at(running.url_of("inspector"));
    make_and_end(&control, 1).await;
    let before = running.usage();
    let mut made = Vec::new();
    let refused = loop {
        let response = control.post("/api/sandboxes").send().await;
        match response.status {
            201 => made.push(response.json()),
            _ => break response,
        }
        assert!(made.len() < 60, "a sandbox needs descriptors");
    };
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("ulimit -n"), "{}", refused.text());
    assert!(
        !made.is_empty(),
        "a stack and a sandbox need fewer than 160"
    );
    for sandbox in made {
        end_sandbox(&control, &sandbox).await;
    }
    make_and_end(&control, 4).await;
    running.waits_for_usage_of(before).await;
}

/// Makes sandboxes one after the other, each with a demo and a started login.
async fn make_and_end(control: &Http, number: usize) {
    for _ in 0..number {
        let body = serde_json::json!({ "consumer": true, "mode": "interactive" });
        let sandbox = control.post("/api/sandboxes").json(&body).send().await;
        assert_eq!(sandbox.status, 201, "{}", sandbox.text());
        let sandbox = sandbox.json();
        let broker = sandbox["broker"].as_str().expect("a URL");
        let backend = Backend::of(broker, &sandbox["projects"][0]);
        let login = backend.start_login("google").await;
        // The browser stays at the provider, with its connections open.
        let google = sandbox["upstreams"]["google"].as_str().expect("a URL");
        let demo = sandbox["consumer"].as_str().expect("a URL");
        let browser = Browser::new().on_page(demo);
        let end = browser.follow(&login.authorization_url).await;
        assert!(end.url.starts_with(google), "{}", end.url);
        end_sandbox(control, &sandbox).await;
    }
}

async fn end_sandbox(control: &Http, sandbox: &serde_json::Value) {
    let path = format!("/api/sandboxes/{}", sandbox["id"].as_str().expect("an id"));
    let ended = control.request(Method::DELETE, path).send().await;
    assert_eq!(ended.status, 204, "{}", ended.text());
}
