//! The settings of Rocket's own, which must not configure this program.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reqwest::header::HeaderMap;

/// Each would change or end a program that read it.
const VARIABLES: [(&str, &str); 9] = [
    ("ROCKET_PROFILE", "other"),
    ("ROCKET_ADDRESS", "192.0.2.1"),
    ("ROCKET_PORT", "1"),
    ("ROCKET_WORKERS", "0"),
    ("ROCKET_IDENT", "Rocket"),
    ("ROCKET_LIMITS", "{form=\"1 B\"}"),
    ("ROCKET_TLS", "{certs=\"none.pem\",key=\"none.pem\"}"),
    ("ROCKET_KEEP_ALIVE", "not a number"),
    ("ROCKET_LOG_LEVEL", "debug"),
];

/// The running program, killed at the end of the test.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Demo {
    fn start(change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_consumer-demo"));
        command
            .args(["--client-id", "demo", "--listen", "127.0.0.1:0"])
            .env_clear()
            .env("SIGNIN_CLIENT_SECRET", "hunter2")
            .stderr(Stdio::piped());
        change(&mut command);
        Self(command.spawn().unwrap())
    }

    /// The address that it logs once it listens, and the number of lines before that.
    fn address(&mut self) -> (String, usize) {
        // By reference: the program must keep its standard error.
        let log = BufReader::new(self.0.stderr.as_mut().unwrap());
        let mut lines = log.lines().map_while(Result::ok).enumerate();
        let address = lines.find_map(|(before, line)| {
            let (_, address) = line.split_once("listening address=")?;
            Some((address.to_owned(), before))
        });
        address.expect("it listens")
    }
}

/// The answer of its home page, without what differs every time, and the number of
/// lines that it logged before.
async fn behaviour(mut demo: Demo) -> (u16, HeaderMap, usize) {
    let (address, logged) = demo.address();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let answer = reqwest::get(format!("http://{address}/")).await.unwrap();
    let mut headers = answer.headers().clone();
    headers.remove("date");
    (answer.status().as_u16(), headers, logged)
}

fn folder() -> PathBuf {
    let name = format!("rocket-settings-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn no_setting_of_rockets_changes_the_demo() {
    let plain = behaviour(Demo::start(|_| ())).await;
    let folder = folder();
    let broken = "[default]\naddress = \"192.0.2.1\"\nport = \"none\"\n[broken";
    std::fs::write(folder.join("Rocket.toml"), broken).unwrap();
    let with_settings = Demo::start(|command| {
        command.envs(VARIABLES).current_dir(&folder);
    });
    assert_eq!(behaviour(with_settings).await, plain);
    std::fs::remove_dir_all(folder).unwrap();
}
