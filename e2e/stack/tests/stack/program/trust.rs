//! The commands in the banner with which clients trust the certificate authority: each
//! client accepts the stack with its command, and refuses it without.
//!
//! Needs curl, Python, Node, Java, certutil and Chromium: `just test-trust` installs them.

use std::process::Command;
use std::time::Duration;

use agent::program::{Completed, output_within};

use super::running::Running;

/// The time in which a client answers: Chromium and Java start slowly.
const LIMIT: Duration = Duration::from_secs(120);

/// A stack with TLS, and a home folder for its clients.
struct TrustTest {
    running: Running,
    home: tempfile::TempDir,
}

impl TrustTest {
    fn start() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        // A path that a shell would take for two words.
        let ca = home.path().join("the ca.pem");
        let ca = format!("--ca-file={}", ca.display());
        Self {
            running: Running::start(&["--https", &ca]),
            home,
        }
    }

    /// The commands that the banner has for `client`.
    fn commands(&self, client: &str) -> Vec<&str> {
        let label = format!("    {client:<11} ");
        let lines = self.running.banner.lines();
        let mut lines = lines.skip_while(|line| !line.starts_with(&label));
        let first = lines
            .next()
            .unwrap_or_else(|| panic!("no line for {client}"));
        let more = lines.take_while(|line| line.starts_with(&" ".repeat(16)));
        [first]
            .into_iter()
            .chain(more)
            .map(|line| line[16..].trim())
            .collect()
    }

    /// The URL of the control address.
    fn url(&self) -> String {
        format!("{}/api/stack", self.running.url_of("inspector"))
    }

    /// Runs a script in the home folder.
    fn shell(&self, script: &str) -> Completed {
        let mut shell = Command::new("bash");
        shell
            .args(["-euc", script])
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("URL", self.url())
            .env_remove("SSL_CERT_FILE")
            .env_remove("NODE_EXTRA_CA_CERTS")
            .env_remove("REQUESTS_CA_BUNDLE")
            .env_remove("JAVA_TOOL_OPTIONS");
        output_within(shell, LIMIT).expect("there is a shell")
    }

    /// Asserts that `client` refuses the stack for its certificate, with `message`, and
    /// reads the answer of the control address after the banner's commands for `label`.
    fn check(&self, label: &str, client: &str, message: &str) {
        let refused = self.shell(client);
        let errors = refused.stderr;
        assert!(!refused.stdout.contains("upstreams"), "{label}");
        assert!(errors.contains(message), "{label}: {errors}");

        let script = format!("{}\n{client}", self.commands(label).join("\n"));
        let Completed {
            code,
            stdout: answer,
            stderr: errors,
        } = self.shell(&script);
        assert_eq!(code, Some(0), "{label}: {errors}");
        assert!(answer.contains("upstreams"), "{label}: {answer}{errors}");
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.home.path().join(name), text).expect("a file");
    }
}

#[test]
fn curl_trusts_the_stack_by_its_command_in_the_banner() {
    let test = TrustTest::start();
    let [command] = test.commands("curl")[..] else {
        panic!("one command");
    };
    let accepted = test.shell(command);
    let answer = accepted.stdout;
    assert!(answer.contains("upstreams"), "{answer}");

    let refused = test.shell(&format!("curl {}", test.url()));
    assert_eq!(refused.code, Some(60), "the peer is not authenticated");
}

#[test]
fn each_client_trusts_the_stack_by_its_commands_in_the_banner_and_not_without() {
    let test = TrustTest::start();
    test.write(
        "Client.java",
        r#"
        import java.net.URI;
        import java.net.http.*;
        public class Client {
            public static void main(String[] arguments) throws Exception {
                var request = HttpRequest.newBuilder(URI.create(System.getenv("URL"))).build();
                var client = HttpClient.newHttpClient();
                System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
            }
        }"#,
    );
    for (label, client, message) in [
        (
            "Python",
            r#"python3 -c 'import os, urllib.request as u; print(u.urlopen(os.environ["URL"]).read())'"#,
            "CERTIFICATE_VERIFY_FAILED",
        ),
        (
            "Node",
            "node -e 'fetch(process.env.URL).then(it => it.text()).then(console.log)'",
            "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        ),
        (
            "Java",
            "java Client.java",
            "unable to find valid certification path",
        ),
        // It prints the page, or its own page about the error.
        (
            "Chromium",
            "chromium --headless=new --no-sandbox --disable-dev-shm-usage --disable-gpu \
             --user-data-dir=profile --dump-dom $URL",
            "net_error -202",
        ),
    ] {
        test.check(label, client, message);
    }
}

#[test]
fn the_authority_of_a_later_start_takes_the_place_of_an_earlier_one() {
    let (earlier, test) = (TrustTest::start(), TrustTest::start());
    for label in ["Java", "Chromium"] {
        for commands in [earlier.commands(label), test.commands(label)] {
            let trusted = test.shell(&commands.join("\n"));
            assert_eq!(trusted.code, Some(0), "{label}: {}", trusted.stderr);
        }
    }
    let [command] = earlier.commands("curl")[..] else {
        panic!("one command");
    };
    let command = command.replace(&earlier.url(), &test.url());
    let refused = test.shell(&command);
    assert_eq!(refused.code, Some(60), "it trusts the earlier alone");
}
