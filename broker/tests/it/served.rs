//! The real program, serving on a port of its own until the test is over.

mod browser;

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use crate::command::{Broker, deadline, signal};
use crate::http::world::{Answer, BASE, session_body};
pub(crate) use browser::Browser;

pub(crate) struct Served {
    process: Child,
    address: String,
    log: Log,
    client: reqwest::Client,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if !std::thread::panicking() {
            self.log.rest();
        }
    }
}

impl Served {
    /// Starts it, bound to port 0 by its configuration.
    pub(crate) fn start(mut broker: Broker) -> Self {
        let mut process = broker.0.stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::of(&mut process);
        let address = log.find("where it serves", address_in);
        Self {
            process,
            address,
            log,
            client: reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .unwrap(),
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it has logged a line that says this, and returns it.
    #[track_caller]
    pub(crate) fn logged(&self, says: &str) -> String {
        self.log.says(says)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Tells it to stop, as whoever runs services does.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends it the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        signal(name, self.process_id());
    }

    /// How it ended by itself; nothing, if it had to be killed.
    pub(crate) fn ended(mut self) -> Option<i32> {
        let _in_time = deadline(self.process_id());
        self.process.wait().unwrap().code()
    }

    /// All that it logged until it ended by itself.
    pub(crate) fn ended_saying(mut self) -> String {
        let _in_time = deadline(self.process_id());
        self.process.wait().unwrap();
        self.log.rest()
    }

    /// Kills it. Returns all that it logged.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.log.rest()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::to(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::to(self.request(Method::POST, path).json(body)).await
    }

    /// Asks for Ada's login with the key of this number.
    pub(crate) async fn session(&self, key: u8) -> Answer {
        self.post("/v1/login/session", &session_body(key)).await
    }

    /// Starts Ada's login with the key of this number; the path of its URL.
    pub(crate) async fn login(&self, key: u8) -> String {
        let opened = self.session(key).await;
        assert_eq!(opened.status, 200, "{}", opened.body);
        let url = opened.json()["authorization_url"].clone();
        url.as_str().unwrap().strip_prefix(BASE).unwrap().to_owned()
    }

    pub(crate) fn request(&self, verb: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        self.client.request(verb, url)
    }
}

/// The address in the line, readable or of JSON, that says where it serves.
fn address_in(line: &str) -> Option<String> {
    let marks = ["serving address=", "\"serving\",\"address\":\""];
    let (_, address) = marks.iter().find_map(|mark| line.split_once(mark))?;
    Some(address.split('"').next()?.to_owned())
}

/// The same line, unless it holds what looks like a secret.
#[track_caller]
fn without_secrets(line: String) -> String {
    assert_eq!(testkit::leak_check::suspicious(&line), None, "in {line}");
    line
}

/// What a process writes to standard error, line by line.
struct Log {
    coming: Receiver<String>,
    read: RefCell<Vec<String>>,
}

impl Log {
    fn of(process: &mut Child) -> Self {
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (sender, coming) = channel();
        std::thread::spawn(move || {
            let lines = stderr.lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Self {
            coming,
            read: RefCell::default(),
        }
    }

    /// The first line that says this.
    #[track_caller]
    fn says(&self, this: &str) -> String {
        self.find(this, |line| line.contains(this).then(|| line.to_owned()))
    }

    /// What `found` finds in the first line in which it finds it.
    #[track_caller]
    fn find(&self, what: &str, found: impl Fn(&str) -> Option<String>) -> String {
        let mut read = self.read.borrow_mut();
        loop {
            if let Some(it) = read.iter().find_map(|line| found(line)) {
                return it;
            }
            match self.coming.recv_timeout(Duration::from_secs(20)) {
                Ok(line) => read.push(without_secrets(line)),
                Err(_) => panic!("it never said {what:?}:\n{}", read.join("\n")),
            }
        }
    }

    /// All of it, once the process has ended; that it holds no secret is looked at.
    fn rest(&self) -> String {
        let mut read = self.read.borrow_mut();
        read.extend(self.coming.iter().map(without_secrets));
        read.join("\n")
    }
}
