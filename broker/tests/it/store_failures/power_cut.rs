//! A power cut. It ends the broker and loses everything that was written and not synced,
//! which survives if a process is only killed.

use std::path::PathBuf;
use std::process::Command;

use agent::time::within;
use rocket::futures::StreamExt as _;
use rocket::futures::stream::FuturesUnordered;
use serde_json::json;

use crate::fake_provider::{FakeProvider, TOKEN};
use crate::installation::{Installation, Scratch};
use crate::process::{BrokerCommand, BrokerProcess, LIMIT};
use crate::test_broker::{
    CALLBACK, adas_profile, authorize_path, back_path, key, parameter, token_body,
};

#[tokio::test]
async fn the_disk_of_these_tests_loses_unsynced_data() {
    let machine = Machine::new().await;
    let write = |name: &str, conversion: &str| {
        let mut program = Command::new("dd");
        program
            .args(["if=/dev/zero", "bs=1", "count=3", "status=none"])
            .arg(format!("of={}", machine.folder().join(name).display()))
            .args((!conversion.is_empty()).then(|| format!("conv={conversion}")));
        assert!(machine.with_disk(program).status().unwrap().success());
    };
    write("lost", "");
    write("synced", "fsync");
    write("synced_data", "fdatasync");
    assert_eq!(machine.disk.read_all("lost"), []);
    for name in ["synced", "synced_data"] {
        let kept = (name.to_owned(), vec![0; 3]);
        assert!(machine.disk.read_all(name).contains(&kept), "{name}");
    }
}

// Threats: L8.
#[tokio::test]
async fn a_clean_login_survives_a_power_cut_after_every_step() {
    let machine = Machine::new().await;
    machine.github.permit(1);

    let served = machine.start();
    let path = machine.synced(served.login(1)).await;
    let served = machine.cut_power(served);
    let pending = json!({ "status": "pending" });
    served.result(&key(1)).await.is_json(200, &pending);
    served.session(1).await.is_refusal(400);

    let ada = served.browser();
    let away = machine.synced(ada.get(&path)).await;
    assert_eq!(away.status, 303, "{away:?}");
    let served = machine.cut_power(served);
    let other = served.browser();
    assert_eq!(
        other.get(&path).await.status,
        410,
        "it is bound to Ada's browser"
    );

    let back = back_path(&away, "code=upstream-code");
    let ada = ada.moved_to(&served.http);
    ada.get(&back).await.redirects_to(CALLBACK);
    let served = machine.cut_power(served);
    let ada = ada.moved_to(&served.http);
    ada.get(&back).await.redirects_to(CALLBACK);
    assert_eq!(machine.github.calls_to(TOKEN).len(), 1);

    let profile = json!({ "status": "succeeded", "profile": adas_profile() });
    served.result(&key(1)).await.is_json(200, &profile);
    let served = machine.cut_power(served);
    served.result(&key(1)).await.is_refusal(400);
}

// Threats: L8, CVE-2026-9802.
#[tokio::test]
async fn a_legacy_login_survives_a_power_cut_after_every_step() {
    let machine = Machine::new().await;
    machine.github.permit(2);
    let mut served = machine.start();
    for (calls, end) in (1..).zip(["revoked", "redeemed twice"]) {
        let ada = served.browser();
        let away = ada.get(&authorize_path()).await;
        let back = back_path(&away, "code=upstream-code");
        let home = ada.get(&back).await;
        let code = parameter(home.location().unwrap(), "code").unwrap();
        served = machine.cut_power(served);
        let again = ada.moved_to(&served.http).get(&back).await;
        assert_eq!(again.status, 400, "{again:?}");
        assert_eq!(machine.github.calls_to(TOKEN).len(), calls);

        let token = served.post("/v1/token", &token_body(&code)).await;
        assert_eq!(token.status, 200, "{token:?}");
        let token = token.json()["access_token"].as_str().unwrap().to_owned();
        served = machine.cut_power(served);
        let read = served.profile(&token).await;
        read.is_json(200, &adas_profile());

        if end == "revoked" {
            served.revoke(&token).await.is_json(200, &json!({}));
        } else {
            let replay = served.post("/v1/token", &token_body(&code)).await;
            replay.is_refusal(400);
        }
        served = machine.cut_power(served);
        let read = served.profile(&token).await;
        assert_eq!(read.status, 401, "{end}: {read:?}");
    }
}

// Threats: L8.
#[tokio::test]
async fn every_acknowledged_step_among_unfinished_ones_survives_a_power_cut() {
    const GRANTS: usize = 24;
    let machine = Machine::new().await;
    machine.github.permit(GRANTS);
    let served = machine.start();
    let mut codes = Vec::new();
    for _ in 0..GRANTS {
        let home = served.coming_back("code=upstream-code").await.send().await;
        codes.push(parameter(home.location().unwrap(), "code").unwrap());
    }
    let redeem = async |code: &String| served.post("/v1/token", &token_body(code)).await;
    let mut redemptions: FuturesUnordered<_> = codes.iter().map(redeem).collect();
    let mut acknowledged = Vec::new();
    while acknowledged.len() < GRANTS / 2 {
        let token = redemptions.next().await.unwrap().json();
        acknowledged.push(token["access_token"].as_str().unwrap().to_owned());
    }
    // The others are not sent yet, or in the middle of a commit.
    drop(redemptions);
    let served = machine.cut_power(served);
    for token in acknowledged {
        let read = served.profile(&token).await;
        read.is_json(200, &adas_profile());
    }
}

const FORGETFUL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/store_failures/forgetful.c"
);

/// A machine with a disk that keeps synced data only.
struct Machine {
    installation: Installation,
    github: FakeProvider,
    library: PathBuf,
    disk: Scratch,
}

impl Machine {
    async fn new() -> Self {
        let installation = Installation::new();
        let library = installation.scratch.file("forgetful.so");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([library.as_os_str(), FORGETFUL.as_ref()])
            .status()
            .expect("a C compiler, which builds SQLite, too");
        assert!(built.success());
        Self {
            github: FakeProvider::start_slow_github().await,
            installation,
            library,
            disk: Scratch::new(),
        }
    }

    /// Makes the files that `program` writes to the machine's folder files on the disk.
    fn with_disk(&self, mut program: Command) -> Command {
        program
            .env("LD_PRELOAD", &self.library)
            .env("FORGETFUL_FOLDER", self.folder())
            .env("FORGETFUL_DISK", self.disk.file("."));
        program
    }

    fn folder(&self) -> PathBuf {
        self.installation.scratch.file(".").canonicalize().unwrap()
    }

    /// Starts the broker on the files of the disk.
    fn start(&self) -> BrokerProcess {
        let BrokerCommand(program) = self.installation.serve_at(&self.github);
        BrokerProcess::start(BrokerCommand(self.with_disk(program)))
    }

    /// Takes a step that is on disk a moment after its answer, and waits for that.
    async fn synced<T>(&self, step: impl Future<Output = T>) -> T {
        let before = self.disk.read_all("broker.db");
        let answer = step.await;
        let synced = async {
            while self.disk.read_all("broker.db") == before {
                tokio::task::yield_now().await;
            }
        };
        within(LIMIT, synced).await.expect("it comes to disk");
        answer
    }

    /// Cuts the power and starts the broker again, without the data that it had not
    /// synced.
    fn cut_power(&self, served: BrokerProcess) -> BrokerProcess {
        served.kill();
        self.installation.scratch.remove_all("broker.db");
        for (name, bytes) in self.disk.read_all("broker.db") {
            std::fs::write(self.installation.scratch.file(&name), bytes).unwrap();
        }
        self.start()
    }
}
