//! The broker's program, which serves on a port of its own until the test is over.

mod log;

use std::process::{Child, Stdio};

use reqwest::Method;
use serde_json::Value;
use testkit::http::{Http, Request, Response};

use crate::command::{BrokerCommand, deadline, signal};
use crate::test_broker::{BASE, Browser, authorization_path, checked_http, session_body};
use log::Log;

/// A running program. It is killed when this is dropped.
pub(crate) struct BrokerProcess {
    process: Child,
    address: String,
    log: Log,
    http: Http,
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if !std::thread::panicking() {
            self.log.rest();
        }
    }
}

impl BrokerProcess {
    /// Starts a program whose configuration binds it to port 0.
    pub(crate) fn start(mut command: BrokerCommand) -> Self {
        let mut process = command.0.stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::of(&mut process);
        let address = log.find("its address", address_in);
        Self {
            process,
            http: checked_http(BASE, &address),
            address,
            log,
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for a line of the log that contains `text`, and returns it.
    #[track_caller]
    pub(crate) fn logged(&self, text: &str) -> String {
        self.log
            .find(text, |line| line.contains(text).then(|| line.to_owned()))
    }

    /// The address at which it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends the signal by which service managers stop a program.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        signal(name, self.process_id());
    }

    /// Waits until it ends by itself, and returns the exit status; none if it had to be
    /// killed.
    pub(crate) fn ended(mut self) -> Option<i32> {
        let _in_time = deadline(self.process_id());
        self.process.wait().unwrap().code()
    }

    /// Waits until it ends by itself, and returns its whole log.
    pub(crate) fn log_when_ended(mut self) -> String {
        let _in_time = deadline(self.process_id());
        self.process.wait().unwrap();
        self.log.rest()
    }

    /// Kills it, and returns its whole log.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.log.rest()
    }

    /// A browser on a page of the consumer.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(&self.http)
    }

    /// A client of this broker.
    pub(crate) fn http(&self) -> &Http {
        &self.http
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.http.get(path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.http.post(path).json(body).send().await
    }

    /// Requests Ada's login with key `n`.
    pub(crate) async fn session(&self, n: u8) -> Response {
        self.post("/v1/login/session", &session_body(n)).await
    }

    /// Starts Ada's login with key `n`, and returns the path of its URL.
    pub(crate) async fn login(&self, n: u8) -> String {
        authorization_path(&self.session(n).await, BASE)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> Request {
        self.http.request(method, path)
    }
}

/// The address in the line, readable or JSON, that announces that it serves.
fn address_in(line: &str) -> Option<String> {
    let marks = ["Ctrl-C stops address=", "\"address\":\""];
    let (_, address) = marks.iter().find_map(|mark| line.split_once(mark))?;
    Some(address.split('"').next()?.to_owned())
}
