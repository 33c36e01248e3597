//! The judgement of a storm by ground truth: of each login, the calls that reached the broker, and
//! what the broker committed of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Storm;
use super::weather::StormLog;
use crate::calls::operation::{RESULT, TOKEN};
use crate::calls::{Call, describe};
use crate::transcript::TranscriptLine;
use crate::verdict::Outcome;

impl Storm<'_> {
    /// Looks for calls that are sent twice.
    pub(super) async fn judge(&self, log: &StormLog) -> Outcome {
        let mut logins: BTreeMap<String, Vec<Call>> = BTreeMap::new();
        for call in log.calls() {
            if let Some(login) = &call.login {
                logins.entry(login.clone()).or_default().push(call);
            }
        }
        for (login, calls) in logins {
            self.count("logins at the broker");
            if let Some(says) = said_twice(&calls) {
                let path = format!("/api/logins/{login}");
                let truth: Value = self.testbed.control.get(&path).await?;
                let state = truth["state"].as_str().unwrap_or("unknown");
                let mut evidence = lines(&calls);
                let at = evidence.last().map_or(0, |line| line.at);
                let says_broker = format!("the login is {state}");
                evidence.push(TranscriptLine::new(at, "broker", "examiner", says_broker));
                self.report(says, evidence);
            }
        }
        Ok(())
    }
}

/// The value that the calls of one login send twice, in words. A pending result may be asked for again, but nothing
/// whose answer was lost, and no code, ever.
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

/// The calls as evidence, in the order of their time.
fn lines(calls: &[Call]) -> Vec<TranscriptLine> {
    let start = calls.iter().map(|call| call.at).min().unwrap_or_default();
    let at = |call: &Call| u64::try_from(call.at - start).unwrap_or_default();
    let lines = calls
        .iter()
        .map(|call| TranscriptLine::new(at(call), "app", "broker", describe(call)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::operation::SESSION;

    fn call(operation: &str, fault: Option<&str>, rule: Option<&str>) -> Call {
        Call {
            operation: operation.to_owned(),
            fault: fault.map(str::to_owned),
            rule: rule.map(str::to_owned),
            ..Call::default()
        }
    }

    #[test]
    fn only_a_pending_result_may_be_asked_for_again() {
        let lost = Some("lose_response");
        for (calls, is_twice) in [
            (
                vec![
                    call(SESSION, None, None),
                    call(RESULT, None, None),
                    call(RESULT, Some("delay"), None),
                ],
                false,
            ),
            (vec![call(RESULT, lost, None)], false),
            (
                vec![call(RESULT, lost, None), call(RESULT, None, None)],
                true,
            ),
            (
                vec![
                    call(RESULT, None, None),
                    call(RESULT, None, Some("result.once")),
                ],
                true,
            ),
            (
                vec![
                    call(SESSION, lost, None),
                    call(SESSION, None, Some("session_key.fresh")),
                ],
                true,
            ),
            (
                vec![call(TOKEN, Some("refuse"), None), call(TOKEN, None, None)],
                true,
            ),
            (vec![call(TOKEN, lost, None)], false),
        ] {
            assert_eq!(said_twice(&calls).is_some(), is_twice, "{calls:?}");
        }
    }
}
