//! An orderly log is explained, also that of two brokers; each planted break is found, and
//! named with its lines; and what a log cannot know is no break.

use serde_json::json;

use super::*;

/// The lines of a login: second, operation, status, and the steps or the rule.
const CLEAN: [&str; 11] = [
    "0 session 200 opened",
    "1 {handle} 303 bound",
    "2 {handle} 410 handle.one_browser",
    "3 result 200",
    "10 exchange 200",
    "10 {provider} 303 upstream_login_consumed,completed",
    "12 {provider} 303 upstream_login.once",
    "14 result 200 result_consumed",
    "16 result 400 result.once",
    "18 session 400 session_key.fresh",
    "601 session 200 opened",
];
const LEGACY: [&str; 9] = [
    "0 authorize 303",
    "10 exchange 200",
    "10 {provider} 303 upstream_login_consumed,code_issued",
    "12 {provider} 400 upstream_login.once",
    "14 token 200 code_redeemed",
    "16 profile 200",
    "18 revoke 200 token_revoked",
    "20 profile 401 bearer.ended",
    "22 token 400 code.once",
];

/// The lines of an orderly login before a planted one, that line, and what is wrong with it.
const BREAKS: &str = include_str!("tests/breaks.txt");

/// The line of a request that took 100 ms.
fn line(login: &str, row: &str) -> String {
    let words: Vec<_> = row.split(' ').collect();
    let (to, operation) = match words[1] {
        "exchange" => ("github", "POST token".to_owned()),
        route => ("broker", format!("POST /v1/{route}")),
    };
    let second: i64 = words[0].parse().unwrap();
    let mut fields = json!({
        "at_ms": 1_800_000_000_000 + second * 1_000, "took_ms": 100,
        "to": to, "operation": operation, "status": words[2].parse::<u16>().unwrap(), "login": login,
    });
    for what in &words[3..] {
        let said = if what.contains('.') { "rule" } else { "steps" };
        fields[said] = what.replace(',', " ").into();
    }
    json!({ "target": "audit", "fields": fields }).to_string()
}

/// A log with a line long before these and a line long after, of no login.
fn log(rows: &[&str]) -> String {
    let lines = rows.iter().map(|row| line("login", row));
    let [before, after] = ["-5000 profile 401", "9000 profile 401"].map(|row| line("", row));
    let lines: Vec<_> = [before].into_iter().chain(lines).chain([after]).collect();
    lines.join("\n")
}

fn verified(logs: &[String]) -> Report {
    let named = logs.iter().map(|log| ("a log".to_owned(), log.as_bytes()));
    verify(named.collect(), 0).unwrap()
}

#[test]
fn an_orderly_log_is_proven_also_that_of_two_brokers() {
    for (rows, kind) in [(&CLEAN[..], "results"), (&LEGACY[..], "codes")] {
        let of_broker = |it| rows.iter().skip(it).step_by(2).copied().collect::<Vec<_>>();
        for logs in [
            vec![log(rows)],
            vec![log(&of_broker(0)), log(&of_broker(1))],
        ] {
            let report = verified(&logs);
            assert_eq!((report.broken, report.findings.len()), (0, 0), "{report}");
            assert_eq!(report.used_once[kind], 1, "{report}");
        }
    }
}

#[test]
fn each_planted_break_is_found_with_its_line() {
    for row in BREAKS.lines() {
        let [before, planted, sentence] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let (flow, before) = before.split_once(' ').unwrap();
        let before: usize = before.parse().unwrap();
        let rows = if flow == "clean" { &CLEAN[..] } else { &LEGACY };
        let report = verified(&[log(&[&rows[..before], &[planted]].concat())]);
        assert_eq!(report.broken, 1, "{planted}\n{report}");
        let Finding { verdict, lines, .. } = &report.findings[0];
        let (line, verdict) = ((before + 2).to_string(), verdict.to_string());
        assert!(verdict.contains(sentence), "{sentence}\n{report}");
        assert!(verdict.contains(&format!("line {line}: ")), "{report}");
        assert_eq!(lines.last(), Some(&line), "{report}");
    }
}

#[test]
fn what_a_missing_line_may_explain_is_undecided_and_what_none_explains_is_broken() {
    let callback = line("login", CLEAN[5]);
    let serving = r#"{"target":"broker::cli::serve","fields":{"message":"Serving"}}"#;
    let cut = log(&CLEAN[5..]).split_once('\n').unwrap().1.to_owned();
    let killed = log(&CLEAN).replace(&callback, serving);
    let torn = log(&CLEAN).replace(&callback, "{\"target\":");
    for (log, why) in [
        (cut, "its beginning may be missing"),
        (killed, "a broker started meanwhile"),
        (torn, "a line cannot be read"),
    ] {
        let report = verified(&[log]);
        assert_eq!(
            (report.broken, report.undecided.get(why)),
            (0, Some(&1)),
            "{report}"
        );
    }
    let twice = [&CLEAN[..10], &["20 result 200 result_consumed"]].concat();
    let twice = verified(&[log(&twice).replace(&callback, serving)]);
    assert_eq!(twice.broken, 1, "{twice}");
    // Without the restart no line is missing.
    let lost = verified(&[log(&CLEAN).replace(&callback, &line("", "11 profile 401"))]);
    assert_eq!(lost.broken, 1, "{lost}");
}

#[test]
fn only_the_logins_under_way_are_kept() {
    let mut verifier = Verifier::default();
    for second in 0..3_000 {
        let rows = [
            format!("{second} session 200 opened"),
            format!("{second} result 200"),
        ];
        let lines = rows.map(|row| line(&second.to_string(), &row)).join("\n");
        let mut source = Source::new(String::new(), lines.as_bytes());
        for _ in 0..3 {
            verifier.advance(&mut source).unwrap();
        }
        assert!(verifier.live.len() < 2_300);
    }
    verifier.sweep(i64::MAX);
    assert_eq!(verifier.report.logins, 3_000);
}
