//! The judgement of a storm by ground truth: of each login, the calls that reached the broker, and
//! what the broker committed of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Storm;
use super::weather::StormLog;
use crate::calls::operation::{RESULT, TOKEN};
use crate::calls::{self, Call};
use crate::transcript::TranscriptLine;
use crate::verdict::Outcome;

impl Storm<'_> {
    /// Looks for calls that are sent twice.
    pub(super) async fn judge(&self, log: StormLog) -> Outcome {
        let mut logins: BTreeMap<_, Vec<Call>> = BTreeMap::new();
        let calls = calls::from_events(log.events).into_iter();
        for mut call in calls.filter(calls::is_by_app) {
            if let Some(login) = call.login.take() {
                logins.entry(login).or_default().push(call);
            }
        }
        for (login, calls) in logins {
            self.count("logins at the broker");
            let Some(says) = said_twice(&calls) else {
                continue;
            };
            let path = format!("/api/logins/{login}");
            let truth: Value = self.testbed.control.get(&path).await?;
            let state = truth["state"].as_str().unwrap_or("unknown");
            self.report(says, evidence(&calls, state));
        }
        Ok(())
    }
}

/// The value that the calls of one login send twice, in words. A pending result may be asked for
/// again, but nothing whose answer was lost, and no code, ever.
fn said_twice(calls: &[Call]) -> Option<&'static str> {
    let of = |operation: &'static str| calls.iter().filter(move |it| it.operation == operation);
    let is_lost = |call: &Call| call.fault.as_deref().is_some_and(|it| it != "delay");
    let reads: Vec<_> = of(RESULT).collect();
    let after_loss = reads.iter().skip_while(|it| !is_lost(it)).count();
    let is_refused = |rule: &str| calls.iter().any(|it| it.rule.as_deref() == Some(rule));
    if of(TOKEN).count() > 1 {
        Some("the app sent one code twice")
    } else if after_loss > 1 {
        Some("the app read a result again whose answer was lost")
    } else if is_refused("result.once") {
        Some("the app read a result that had been read")
    } else if is_refused("session_key.fresh") {
        Some("the app sent one session key twice")
    } else {
        None
    }
}

/// The calls of one login, and then its state at the broker.
fn evidence(calls: &[Call], state: &str) -> Vec<TranscriptLine> {
    let start = calls.iter().map(|call| call.at).min().unwrap_or_default();
    let line = |call: &Call, from, to, what| {
        let at = u64::try_from(call.at - start).unwrap_or_default();
        TranscriptLine::new(at, from, to, what)
    };
    let lines = calls.iter();
    let lines = lines.map(|it| line(it, "app", "broker", calls::describe(it)));
    let says = format!("the login is {state}");
    let last = calls.last().map(|it| line(it, "broker", "examiner", says));
    lines.chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of a login, each with its fault, and with its rule in brackets if the broker
    /// refused it; then what is said of them.
    const LOGINS: &str = "
session, result, result delay |
result lose_response |
token lose_response |
result lose_response, result | the app read a result again whose answer was lost
result, result (result.once) | the app read a result that had been read
session lose_response, session (session_key.fresh) | the app sent one session key twice
token refuse, token | the app sent one code twice
";

    fn call(text: &str) -> Call {
        let (operation, how) = text.split_once(' ').unwrap_or((text, ""));
        let rule = how.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
        let fault = Some(how).filter(|it| rule.is_none() && !it.is_empty());
        Call {
            operation: match operation {
                "token" => TOKEN.to_owned(),
                _ => format!("POST /v1/login/{operation}"),
            },
            fault: fault.map(str::to_owned),
            rule: rule.map(str::to_owned),
            ..Call::default()
        }
    }

    #[test]
    fn only_a_pending_result_may_be_asked_for_again() {
        for line in LOGINS.trim().lines() {
            let (calls, says) = line.split_once('|').unwrap();
            let calls: Vec<_> = calls.trim().split(", ").map(call).collect();
            assert_eq!(said_twice(&calls).unwrap_or(""), says.trim(), "{line}");
        }
    }
}
