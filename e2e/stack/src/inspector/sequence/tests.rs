//! Tests of the rows that the builder makes of events. `logins.txt` has the logins, and a
//! snapshot their diagrams.

use super::*;
use crate::event_log::tests::{Login, events, logins};

/// Every row on a line: `B>K label`, `B~>C` if inferred, `>|` if it breaks off; then its style
/// and the sentence for an audience.
fn drawn(rows: &[Row]) -> Vec<String> {
    let letter = |party| match party {
        Participant::Browser => 'B',
        Participant::Consumer => 'C',
        Participant::Broker => 'K',
        Participant::Provider => 'P',
    };
    let line = |row: &Row| match row {
        Row::Arrow(arrow) => {
            let end = if arrow.arrives { "" } else { "|" };
            let (from, to) = (letter(arrow.from), letter(arrow.to));
            let detail = arrow.detail.iter().map(|it| format!(": {it}"));
            let detail: String = detail.collect();
            let (label, style) = (&arrow.label, arrow.style.class());
            format!(
                "{from}>{end}{to} {label}{detail} [{style}] {}",
                arrow.sentence
            )
        }
        Row::Committed(steps) => format!("+ {}", steps.join(" ")),
        Row::Note(note) => {
            let rule = note.rule.as_deref().unwrap_or_default();
            let (title, said) = (&note.title, note.sentences.join(" "));
            format!("! {title} [{}] {said} {rule}", note.style.class())
        }
        Row::Pause(text) => format!("… {text}"),
        Row::Expiry(expiry) => format!("⌛ {}", expiry.text),
    };
    rows.iter().map(line).collect()
}

#[test]
fn each_login_is_drawn_with_its_unseen_messages_its_faults_and_its_end() {
    let mut shown = String::new();
    for Login {
        title,
        events,
        now_ms,
        body,
    } in logins()
    {
        let rows = drawn(&rows(&events, &body, now_ms));
        shown += &format!("== {title}\n{}\n\n", rows.join("\n"));
    }
    assert!(!shown.contains("answers.\n"), "a sentence says nothing");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_redirect_target_is_read_from_the_answer_if_that_is_kept() {
    struct LeadsBack;
    impl Answers for LeadsBack {
        fn body(&self, _: &str) -> Option<serde_json::Value> {
            None
        }

        fn leads_to_provider(&self, _: &str) -> Option<bool> {
            Some(false)
        }
    }
    let visit = events("visit browser GET /login/{handle} 303");
    let rows = drawn(&rows(&visit, &LeadsBack, 0));
    assert!(rows[2].starts_with("K>B 303 back to the app"), "{rows:?}");
    assert!(rows[3].starts_with("B>C the callback"), "{rows:?}");
}

#[test]
fn an_arrow_keeps_its_id_while_its_call_goes_on() {
    let first = "back broker POST token 200\n";
    let whole = format!("{first}back browser GET /callback/{{provider}} 303");
    let ids = |script: &str| {
        let rows = rows(&events(script), &|_: &str| None, 0).into_iter();
        let ids = rows.filter_map(|row| match row {
            Row::Arrow(arrow) => Some(arrow.id),
            _ => None,
        });
        ids.collect::<Vec<_>>()
    };
    let (early, mut late) = (ids(first), ids(&whole));
    assert!(
        early.iter().all(|id| late.contains(id)),
        "{early:?} {late:?}"
    );
    let count = late.len();
    late.sort();
    late.dedup();
    assert_eq!(late.len(), count);
}
