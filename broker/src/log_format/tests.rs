use std::io;
use std::sync::{Arc, Mutex};

use super::*;
use crate::audit::{AuditLog, Party, Step};
use crate::model::{LoginId, UnixMs};
use crate::relay::Provenance;
use contract::{Provider, Rule};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines that `work` writes, without their times.
fn logged(work: impl FnOnce()) -> Vec<String> {
    let written = Written::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .event_format(ReadableFormat::WITH_TIME)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, work);
    let bytes = written.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    let time = "00:52:24 ".len();
    for line in text.lines() {
        assert!(line.chars().count() <= MAX_WIDTH, "{line}");
    }
    text.lines().map(|line| line[time..].to_owned()).collect()
}

fn event(rule: Option<Rule>) -> audit::Event {
    audit::Event {
        at: UnixMs(0),
        request_id: "3kV9xQ2mZp7LrT8a".to_owned(),
        from: Party::Browser,
        to: Party::Broker,
        operation: "POST /login/{handle}/continue".to_owned(),
        status: Some(303),
        project: Some("prj_vVYj6OIq3VqvLcPsC0FIbw".parse().unwrap()),
        provider: Some(Provider::Google),
        login: Some(LoginId::of_state(
            &"kJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq8"
                .parse()
                .unwrap(),
        )),
        same_traits: None,
        provenance: Some(Provenance::Foreign),
        rule,
        why: rule.map(|_| "the provider's answer has no expiry"),
        took: None,
        steps: vec![Step::UpstreamLoginConsumed, Step::Completed],
    }
}

#[test]
fn a_call_is_one_line() {
    let lines = logged(|| AuditLog::new().record(&event(None)));
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    let call = " browser → broker POST /login/…/continue  303 \
        upstream login consumed, completed (foreign)";
    assert!(line.ends_with(call), "{line}");
}

#[test]
fn a_refusal_says_below_what_happened_and_where_it_is_shown() {
    // An overload has one alarm, and no line for each request.
    let logged_rules = Rule::ALL.iter().filter(|it| **it != Rule::BrokerOverload);
    for rule in logged_rules {
        let audit = AuditLog::new().with_pages_at("http://127.0.0.1:8010".to_owned());
        let lines = logged(|| audit.record(&event(Some(*rule))));
        let login = event(None).login.unwrap();
        let page = format!("http://127.0.0.1:8010/logins/{}", login.as_str());
        let below: Vec<_> = lines[1..].iter().map(|line| line.trim_start()).collect();
        let below = below.join(" ");
        for part in [
            rule.id(),
            rule.happened(),
            "request=3kV9xQ2mZp7LrT8a",
            &page,
        ] {
            assert!(below.contains(part), "{part} in {below}");
        }
    }
}

#[test]
fn a_long_message_goes_on_below_and_a_field_cannot_break_its_line() {
    let lines = logged(|| {
        let value = "two\nlines \u{1b}[31m";
        tracing::warn!(value, number = 7, "{}", "word ".repeat(40).trim_end());
    });
    assert!(lines.len() > 1, "{lines:?}");
    assert!(lines[0].starts_with("WARN         word word"), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("             word"), "{lines:?}");
    assert!(
        last.ends_with("value=\"two lines \u{fffd}[31m\" number=7"),
        "{lines:?}"
    );
}
