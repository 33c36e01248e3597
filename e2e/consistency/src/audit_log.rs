//! The brokers' own log, read line by line as it is written. A line is written before its
//! answer leaves, so that every operation with an answer is in the log.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, PipeReader, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use testkit::leak_check::suspicious;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use checker::history::AuditRecord;

/// The number of answers whose ids are remembered.
const MAX_REMEMBERED: usize = 50_000;

/// The logs of all brokers.
#[derive(Clone)]
pub(crate) struct AuditLog(Arc<Shared>);

struct Shared {
    entries: Mutex<Entries>,
    /// The folder in which every line is kept.
    folder: Option<PathBuf>,
    lines: watch::Sender<u64>,
}

#[derive(Default)]
struct Entries {
    logins: HashMap<String, AuditRecord>,
    exchanges: BTreeMap<(String, Option<u64>), u64>,
    remembered: HashMap<String, Logged>,
    oldest_first: VecDeque<String>,
    errors: Vec<String>,
}

/// The line of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) status: u16,
    /// The steps that were committed.
    pub(crate) steps: String,
    /// The id of the rule that refused it; empty if there is none.
    pub(crate) rule: String,
}

impl AuditLog {
    /// No lines yet. Those to come are kept in `folder`, if there is one.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self(Arc::new(Shared {
            entries: Mutex::default(),
            folder,
            lines: watch::Sender::new(0),
        }))
    }

    /// Reads the log of a broker to its end. A broker that writes faster waits, so that no line
    /// is lost.
    pub(crate) fn follow(&self, broker: usize, log: PipeReader) -> io::Result<JoinHandle<()>> {
        let reader = self.clone();
        let kept = self.0.folder.as_ref().map(|folder| {
            fs::create_dir_all(folder)?;
            let path = folder.join(format!("broker-{broker}.log"));
            File::options().create(true).append(true).open(path)
        });
        let mut kept = kept.transpose()?;
        Ok(tokio::task::spawn_blocking(move || {
            let lines = BufReader::new(log).split(b'\n');
            for line in lines.map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                reader.read(&line);
                if let Some(Err(error)) = kept.as_mut().map(|file| writeln!(file, "{line}")) {
                    let error = format!("a line of the log cannot be kept: {error}");
                    reader.0.entries.lock().errors.push(error);
                }
            }
        }))
    }

    /// Reads one line.
    fn read(&self, line: &str) {
        self.0.entries.lock().read(line);
        self.0.lines.send_modify(|lines| *lines += 1);
    }

    /// Waits until all of these answers were read.
    pub(crate) async fn wait_for(&self, request_ids: &[String]) {
        for id in request_ids {
            self.answer(id).await;
        }
    }

    /// Waits until the answer to a request was read.
    pub(crate) async fn answer(&self, request_id: &str) -> Option<Logged> {
        let logged = || self.0.entries.lock().remembered.get(request_id).cloned();
        // It cannot fail: we hold the sender.
        let _ = self
            .0
            .lines
            .subscribe()
            .wait_for(|_| logged().is_some())
            .await;
        logged()
    }

    /// Takes the record of a login out of the log.
    pub(crate) fn take(&self, login: &str) -> AuditRecord {
        let mut entries = self.0.entries.lock();
        entries.logins.remove(login).unwrap_or_default()
    }

    /// The codes that were exchanged in all, by provider and status; none, where there
    /// was no answer.
    pub(crate) fn exchanges(&self) -> BTreeMap<(String, Option<u64>), u64> {
        self.0.entries.lock().exchanges.clone()
    }

    /// Takes the forbidden lines that were logged since the last call.
    pub(crate) fn take_errors(&self) -> Vec<String> {
        std::mem::take(&mut self.0.entries.lock().errors)
    }

    /// The number of lines.
    pub(crate) fn lines(&self) -> u64 {
        *self.0.lines.borrow()
    }
}

impl Entries {
    fn read(&mut self, line: &str) {
        if suspicious(line).is_some() {
            // Not which: this is printed.
            self.errors.push("a secret is in the log".to_owned());
        }
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            self.errors.push("a line of the log is no JSON".to_owned());
            return;
        };
        let fields = &line["fields"];
        if line["target"] == "audit" {
            self.count(fields);
        } else if fields["message"] == "a panic" {
            self.errors
                .push(format!("a panic at {}", fields["location"]));
        } else if line["level"] == "ERROR" && !is_alarm(fields) {
            self.errors.push(format!("an error: {fields}"));
        }
    }

    fn count(&mut self, fields: &Value) {
        let text = |name: &str| fields[name].as_str().unwrap_or_default();
        let is_answer = text("to") == "broker";
        if is_answer {
            let logged = Logged {
                status: u16::try_from(fields["status"].as_u64().unwrap_or_default())
                    .unwrap_or_default(),
                steps: text("steps").to_owned(),
                rule: text("rule").to_owned(),
            };
            self.remember(text("request_id"), logged);
        }
        if is_answer && fields["status"] == 500 {
            self.errors.push(format!("500 to {}", fields["operation"]));
        }
        let is_exchange = !is_answer && text("operation") == "POST token";
        let steps = text("steps");
        if steps.is_empty() && !is_exchange {
            return;
        }
        let record = self.logins.entry(text("login").to_owned()).or_default();
        record.exchanges += u32::from(is_exchange);
        if is_exchange {
            let kind = (text("to").to_owned(), fields["status"].as_u64());
            *self.exchanges.entry(kind).or_default() += 1;
        }
        for step in steps.split(' ').filter(|step| !step.is_empty()) {
            *record.steps.entry(step.to_owned()).or_default() += 1;
        }
    }

    fn remember(&mut self, request_id: &str, logged: Logged) {
        if self.oldest_first.len() == MAX_REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.remembered.remove(&oldest);
        }
        self.oldest_first.push_back(request_id.to_owned());
        self.remembered.insert(request_id.to_owned(), logged);
    }
}

/// Whether it is an alarm that the run causes itself: wrong secrets that come too often,
/// and a provider that refuses its client.
fn is_alarm(fields: &Value) -> bool {
    let message = fields["message"].as_str().unwrap_or_default();
    message.starts_with("wrong secrets come too often")
        || message.contains(" refuses our own client_id or client_secret")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::CLIENT_SECRET;
    use checker::model::Commit;

    #[track_caller]
    fn assert_error(line: &str, about: &str) {
        let log = AuditLog::new(None);
        log.read(line);
        let errors = log.take_errors();
        assert!(errors.iter().any(|it| it.contains(about)), "{errors:?}");
    }

    fn answered(status: u16, more: &str) -> String {
        format!(
            r#"{{"level":"INFO","target":"audit","fields":{{"request_id":"one","from":"consumer","to":"broker","operation":"POST /v1/token","status":{status},"login":"abc"{more}}}}}"#
        )
    }

    #[test]
    fn a_forbidden_line_of_a_log_is_named() {
        let secret = "0123456789-0123456789_0123456789abcdefABCDE";
        assert_error(&answered(200, &format!(r#","why":"{secret}""#)), "a secret");
        let known = format!(r#","why":"{CLIENT_SECRET}""#);
        assert_error(&answered(200, &known), "a secret");
        assert_error(&answered(500, ""), "500 to \"POST /v1/token\"");
        assert_error("thread 'main' panicked", "no JSON");
        let panic = r#"{"level":"ERROR","target":"broker::panics","fields":{"message":"a panic","location":"src/x.rs:1:2"}}"#;
        assert_error(panic, "a panic at \"src/x.rs:1:2\"");
        let error =
            r#"{"level":"ERROR","target":"broker","fields":{"message":"a step was not taken"}}"#;
        assert_error(error, "an error");
    }

    #[tokio::test]
    async fn an_orderly_log_is_counted_without_an_error() {
        let log = AuditLog::new(None);
        log.read(&answered(200, r#","steps":"code_redeemed token_revoked""#));
        log.read(&answered(400, ""));
        log.read(r#"{"level":"INFO","target":"audit","fields":{"to":"google","operation":"POST token","login":"abc"}}"#);
        log.wait_for(&["one".to_owned()]).await;
        assert_eq!(log.take_errors(), Vec::<String>::new());
        assert_eq!(log.exchanges().values().sum::<u64>(), 1);
        let record = log.take("abc");
        assert_eq!(record.count(Commit::CodeRedeemed), 1);
        assert_eq!(record.count(Commit::ResultConsumed), 0);
        assert_eq!(record.exchanges, 1);
        assert_eq!(log.take("abc"), AuditRecord::default());
    }
}
