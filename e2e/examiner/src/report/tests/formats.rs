//! The formats of a report: JSON's schema, hostile texts, masks, the width of a terminal.

use serde_json::{Value, json};

use super::*;

const HOSTILE: &str =
    "GET /<script>alert(1)</script>\"'&|`![x](http://evil.example)\u{1b}[2J\u{202e} \u{2192} 200";

/// Every format of a report, by its name.
pub(super) fn formats(report: &Report) -> [(&'static str, String); 5] {
    [
        ("text", report.text()),
        ("json", report.json()),
        ("html", report.html()),
        ("junit", report.junit()),
        ("markdown", report.markdown()),
    ]
}

/// A report in which the app chose every text that it can choose.
fn hostile() -> Report {
    let mut hostile = result(check("callback-replay"), Verdict::Fail);
    hostile.actual = HOSTILE.to_owned();
    hostile.evidence = vec![line(HOSTILE)];
    hostile.evidence[0].to = HOSTILE.to_owned();
    let mut skipped = result(check("pkce"), Verdict::NotApplicable);
    skipped.actual = HOSTILE.to_owned();
    let mut report = report(vec![hostile, skipped]);
    report.preflight[0].says = HOSTILE.to_owned();
    report.good[0].1[0].what = HOSTILE.to_owned();
    report.printable()
}

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    let mut keys: Vec<_> = object.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn sorted<const N: usize>(mut keys: [&str; N]) -> [&str; N] {
    keys.sort_unstable();
    keys
}

#[test]
fn json_has_exactly_the_members_of_schema_1() {
    let mut report = report_of(&[("callback-replay", Verdict::Fail)]);
    report.results[0].evidence[0].is_wrong = true;
    let parsed: Value = serde_json::from_str(&report.json()).expect("JSON");
    let top = ["schema", "target", "flow", "grade", "checks", "preflight"];
    assert_eq!(keys(&parsed), sorted(top));
    assert_eq!(parsed["schema"], 1);
    assert_eq!(parsed["grade"], "C");
    assert_eq!(parsed["flow"], "both");
    let check = &parsed["checks"][0];
    let members = [
        "id",
        "title",
        "severity",
        "verdict",
        "expected",
        "actual",
        "consequence",
        "fix",
        "law",
        "evidence",
        "repeat",
    ];
    assert_eq!(keys(check), sorted(members));
    assert_eq!(check["severity"], "must");
    assert_eq!(check["verdict"], "FAIL");
    assert_eq!(keys(&check["fix"]), ["javascript", "python", "rust"]);
    let evidence =
        json!({"at": 12, "from": "browser A", "to": "app", "what": "GET / \u{2192} 200"});
    assert_eq!(check["evidence"], json!([evidence]));
    assert_eq!(
        parsed["preflight"],
        json!([{"step": "reachable", "says": "it answers"}])
    );
}

#[test]
fn an_a_plus_is_written_with_its_plus() {
    let report = report_of(&[("pkce", Verdict::Pass)]);
    for (format, text) in [
        ("json", report.json()),
        ("html", report.html()),
        ("text", report.text()),
    ] {
        assert!(text.contains("A+"), "{format}");
    }
}

#[test]
fn markup_in_a_text_of_the_app_stays_text_in_html_and_xml() {
    let report = hostile();
    for text in [report.html(), report.junit()] {
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("&#60;script&#62;"), "{text}");
    }
}

#[test]
fn markup_in_a_text_of_the_app_stays_text_in_markdown() {
    let markdown = hostile().markdown();
    // In its code block the evidence is as it is; everywhere else it is escaped.
    let (before, block) = markdown
        .split_once("```text\n")
        .expect("a block of evidence");
    let (_, after) = block.split_once("```\n").expect("its end");
    for text in [before, after] {
        assert!(
            !text.contains("<script") && !text.contains("![x]("),
            "{text}"
        );
    }
}

#[test]
fn a_table_of_markdown_keeps_its_columns_whatever_a_text_contains() {
    let markdown = hostile().markdown();
    let rows = markdown
        .lines()
        .filter(|it| it.starts_with("| `callback-replay`"));
    let columns: Vec<_> = rows
        .map(|row| row.replace("\\|", "").matches('|').count())
        .collect();
    assert_eq!(columns, [5]);
}

#[test]
fn no_control_character_of_an_app_reaches_a_report() {
    for (format, text) in formats(&hostile()) {
        let wrong = text
            .chars()
            .find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(wrong, None, "{format}");
    }
}

#[test]
fn a_masked_secret_stays_masked_in_every_format() {
    let key = crate::random::secret();
    let transcript = crate::transcript::Transcript::start();
    let address = format!("/callback?code={key}");
    transcript.add(
        "browser A",
        "app",
        format!("GET {} \u{2192} 303", stack::mask::url(&address)),
    );
    let mut result = result(check("callback-replay"), Verdict::Fail);
    result.evidence = transcript.lines();
    for (format, text) in formats(&report(vec![result])) {
        assert!(!text.contains(&key), "{format}");
        let has_evidence = !matches!(format, "text" | "junit");
        assert_eq!(text.contains("[masked"), has_evidence, "{format}");
    }
}

#[test]
fn a_page_fetches_nothing_and_has_no_script() {
    let html = hostile().html();
    for fetches in [
        "src=",
        "<script",
        "@import",
        "url(",
        "<link rel=\"stylesheet\"",
    ] {
        assert!(!html.contains(fetches), "{fetches}");
    }
    assert_eq!(html.matches("<link").count(), 1);
    assert!(html.contains(r#"<link rel="icon" href="data:,">"#));
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn a_page_shows_a_failed_run_beside_the_good_one_with_the_wrong_arrow_in_red() {
    let mut report = report_of(&[("callback-replay", Verdict::Fail), ("pkce", Verdict::Pass)]);
    report.results[0].evidence[0].is_wrong = true;
    let html = report.html();
    assert_eq!(html.matches("<svg").count(), 2);
    assert_eq!(html.matches("class=\"step refused\"").count(), 1);
    assert!(html.contains("A good sign-in"));
}

#[test]
fn every_id_of_a_page_occurs_once_and_every_label_has_its_input() {
    let all = catalogue::checks()
        .iter()
        .map(|it| result(it, Verdict::Fail));
    let html = report(all.collect()).html();
    let after = |mark: &str| -> Vec<String> {
        let parts = html.split(mark).skip(1);
        parts
            .map(|it| it.split('"').next().unwrap_or_default().to_owned())
            .collect()
    };
    let mut ids = after(" id=\"");
    let wanted = [
        after(" for=\""),
        after("aria-labelledby=\""),
        after("href=\"#"),
    ]
    .concat();
    for id in wanted {
        assert!(ids.contains(&id), "{id}");
    }
    let number = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), number);
}

#[test]
fn a_terminal_of_100_columns_wraps_nothing_but_code_and_commands() {
    let all = catalogue::checks()
        .iter()
        .map(|it| result(it, Verdict::Fail));
    let all = all.chain(
        catalogue::checks()
            .iter()
            .map(|it| result(it, Verdict::Pass)),
    );
    let text = report(all.collect()).text();
    let long = |line: &&str| line.chars().count() > 100;
    let wrong: Vec<_> = text
        .lines()
        .filter(long)
        .filter(|line| !line.starts_with("  repeat") && !line.starts_with("    "))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let passes = text.lines().filter(|it| it.starts_with("PASS ")).count();
    assert_eq!(passes, catalogue::checks().len());
}

#[test]
fn a_known_failure_is_skipped_by_a_ci() {
    let mut report = report_of(&[
        ("callback-replay", Verdict::Fail),
        ("pkce", Verdict::Harness),
    ]);
    let head = |report: &Report| {
        let junit = report.junit();
        junit.lines().nth(1).unwrap_or_default().to_owned()
    };
    assert!(head(&report).ends_with(r#"tests="2" failures="1" errors="1" skipped="0">"#));
    report.expected = vec!["callback-replay".to_owned()];
    assert!(head(&report).ends_with(r#"tests="2" failures="0" errors="1" skipped="1">"#));
}

#[test]
fn the_shared_names_are_printed_once_beside_a_fix() {
    let report = report_of(&[
        ("callback-replay", Verdict::Fail),
        ("state-checked", Verdict::Fail),
    ]);
    let meaning = "the login that this browser began, once";
    for (format, text) in [
        ("text", report.text()),
        ("html", report.html()),
        ("markdown", report.markdown()),
    ] {
        assert_eq!(text.matches(meaning).count(), 1, "{format}");
    }
    let clean = report_of(&[("pkce", Verdict::Pass)]);
    assert!(!clean.html().contains(meaning) && !clean.markdown().contains(meaning));
}
