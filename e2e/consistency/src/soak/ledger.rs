//! What the broker itself says: its log, read line by line as it is written. A line
//! stands before its answer leaves, so whoever was answered is in it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use testkit::leak_check::suspicious;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStderr;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How many answers are remembered by their names.
const MOST_REMEMBERED: usize = 50_000;

/// What was committed for one login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// How often each step was.
    pub(crate) steps: BTreeMap<String, u32>,
    /// How often a provider was asked to exchange a code.
    pub(crate) exchanges: u32,
}

/// The logs of all brokers, one after the other.
#[derive(Clone)]
pub(crate) struct Ledger(Arc<Shared>);

struct Shared {
    book: Mutex<Book>,
    lines: watch::Sender<u64>,
}

#[derive(Default)]
struct Book {
    facts: HashMap<String, Facts>,
    remembered: HashSet<String>,
    oldest_first: VecDeque<String>,
    complaints: Vec<String>,
}

impl Facts {
    /// How often `step` was committed.
    pub(crate) fn count(&self, step: broker::audit::Step) -> u32 {
        self.steps.get(step.name()).copied().unwrap_or_default()
    }
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            book: Mutex::default(),
            lines: watch::Sender::new(0),
        }))
    }

    /// Reads `log` to its end.
    pub(crate) fn follow(&self, log: ChildStderr) -> JoinHandle<()> {
        let ledger = self.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(log).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                ledger.take(&line);
            }
        })
    }

    /// Takes one line in.
    pub(crate) fn take(&self, line: &str) {
        self.book().take(line);
        self.0.lines.send_modify(|lines| *lines += 1);
    }

    /// Waits until all of these answers were read of.
    pub(crate) async fn knows(&self, request_ids: &[String]) {
        let is_known = |_: &u64| {
            let book = self.book();
            request_ids.iter().all(|id| book.remembered.contains(id))
        };
        // It cannot fail: we hold the sender.
        let _ = self.0.lines.subscribe().wait_for(is_known).await;
    }

    /// What was committed for `login`, which nobody will ask for again.
    pub(crate) fn close(&self, login: &str) -> Facts {
        self.book().facts.remove(login).unwrap_or_default()
    }

    /// What must not stand in a log, and does.
    pub(crate) fn complaints(&self) -> Vec<String> {
        std::mem::take(&mut self.book().complaints)
    }

    /// How many lines there were.
    pub(crate) fn lines(&self) -> u64 {
        *self.0.lines.borrow()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn take(&mut self, line: &str) {
        if suspicious(line).is_some() {
            // It is not said which: this is printed.
            self.complaints
                .push("a secret stands in the log".to_owned());
        }
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            self.complaints
                .push("a line of the log is no JSON".to_owned());
            return;
        };
        let fields = &line["fields"];
        if line["target"] == "audit" {
            self.count(fields);
        } else if fields["message"] == "a panic" {
            self.complaints
                .push(format!("a panic at {}", fields["place"]));
        } else if line["level"] == "ERROR" && !is_alarm(fields) {
            self.complaints.push(format!("an error: {fields}"));
        }
    }

    fn count(&mut self, fields: &Value) {
        let text = |name: &str| fields[name].as_str().unwrap_or_default();
        let is_answer = text("to") == "broker";
        if is_answer {
            self.remember(text("request_id"));
        }
        if is_answer && fields["status"] == 500 {
            self.complaints
                .push(format!("500 to {}", fields["operation"]));
        }
        let is_exchange = !is_answer && text("operation") == "POST token";
        let steps = text("steps");
        if steps.is_empty() && !is_exchange {
            return;
        }
        let facts = self.facts.entry(text("login").to_owned()).or_default();
        facts.exchanges += u32::from(is_exchange);
        for step in steps.split(' ').filter(|step| !step.is_empty()) {
            *facts.steps.entry(step.to_owned()).or_default() += 1;
        }
    }

    fn remember(&mut self, request_id: &str) {
        if self.oldest_first.len() == MOST_REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.remembered.remove(&oldest);
        }
        self.oldest_first.push_back(request_id.to_owned());
        self.remembered.insert(request_id.to_owned());
    }
}

/// Wrong secrets that come too often, and a provider that refuses its client, are
/// what alarms are for; we cause both.
fn is_alarm(fields: &Value) -> bool {
    let says = fields["message"].as_str().unwrap_or_default();
    says.starts_with("wrong secrets come too often")
        || says.contains(" refuses our own client_id or client_secret")
}

#[cfg(test)]
mod tests {
    use broker::audit::Step;

    use super::*;
    use crate::client::CLIENT_SECRET;

    #[track_caller]
    fn complains(line: &str, of: &str) {
        let ledger = Ledger::new();
        ledger.take(line);
        let complaints = ledger.complaints();
        assert!(
            complaints.iter().any(|it| it.contains(of)),
            "{complaints:?}"
        );
    }

    fn answered(status: u16, more: &str) -> String {
        format!(
            r#"{{"level":"INFO","target":"audit","fields":{{"request_id":"one","from":"consumer","to":"broker","operation":"POST /v1/token","status":{status},"login":"abc"{more}}}}}"#
        )
    }

    #[test]
    fn what_must_not_stand_in_a_log_is_named() {
        let secret = "0123456789-0123456789_0123456789abcdefABCDE";
        complains(&answered(200, &format!(r#","why":"{secret}""#)), "a secret");
        let known = format!(r#","why":"{CLIENT_SECRET}""#);
        complains(&answered(200, &known), "a secret");
        complains(&answered(500, ""), "500 to \"POST /v1/token\"");
        complains("thread 'main' panicked", "no JSON");
        let panic = r#"{"level":"ERROR","target":"broker::panics","fields":{"message":"a panic","place":"src/x.rs:1:2"}}"#;
        complains(panic, "a panic at \"src/x.rs:1:2\"");
        let error =
            r#"{"level":"ERROR","target":"broker","fields":{"message":"a step was not taken"}}"#;
        complains(error, "an error");
    }

    #[tokio::test]
    async fn an_orderly_log_is_counted_and_not_complained_of() {
        let ledger = Ledger::new();
        ledger.take(&answered(200, r#","steps":"redeemed ended""#));
        ledger.take(&answered(400, ""));
        ledger.take(r#"{"level":"INFO","target":"audit","fields":{"to":"google","operation":"POST token","login":"abc"}}"#);
        ledger.knows(&["one".to_owned()]).await;
        assert_eq!(ledger.complaints(), Vec::<String>::new());
        let facts = ledger.close("abc");
        assert_eq!(facts.count(Step::CodeRedeemed), 1);
        assert_eq!(facts.count(Step::ResultConsumed), 0);
        assert_eq!(facts.exchanges, 1);
        assert_eq!(ledger.close("abc"), Facts::default());
    }
}
