//! Reports of made-up results, in every format: `snapshots` has two of them whole.

use super::{OlderReport, Origin, Report, grade};
use crate::app::Flow;
use crate::catalogue::{self, Check, Effect, Severity};
use crate::learn::PreflightStep;
use crate::result::{CheckResult, Grade};
use crate::transcript::TranscriptLine;
use crate::verdict::Verdict;

fn check(id: &str) -> &'static Check {
    catalogue::check(id).expect("a check of the catalogue")
}

fn result(check: &'static Check, verdict: Verdict) -> CheckResult {
    CheckResult {
        check,
        verdict,
        actual: format!("The observation of {}.", check.id),
        flow: None,
        is_takeover: false,
        is_server_error: false,
        is_end_of_app: false,
        evidence: vec![line("GET / \u{2192} 200")],
    }
}

fn line(what: &str) -> TranscriptLine {
    TranscriptLine::new(12, "browser A", "app", what)
}

/// A report of an app that is started by `python app.py`.
fn report(results: Vec<CheckResult>) -> Report {
    let report = Report {
        target: "http://localhost:5000/".to_owned(),
        flow: "both",
        grade: Grade::of(&results),
        origin: origin(),
        compared: None,
        preflight: vec![PreflightStep {
            step: "reachable",
            says: "it answers".to_owned(),
        }],
        results,
        expected: Vec::new(),
        good: vec![(Flow::Clean, vec![line("GET /callback \u{2192} 303 to /")])],
        command: vec!["python".to_owned(), "app.py".to_owned()],
        flags: Vec::new(),
    };
    report.printable()
}

fn origin() -> Origin {
    Origin {
        version: "0.1.0",
        commit: Some("55c539b1a2b3"),
        catalogue: catalogue::newest_version().to_owned(),
        examined: "an app that the examiner started",
        files: Some((12, "4f".repeat(32))),
        at: "2026-11-27T18:05:00Z".to_owned(),
    }
}

pub(crate) fn report_of(verdicts: &[(&str, Verdict)]) -> Report {
    let results = verdicts
        .iter()
        .map(|(id, verdict)| result(check(id), *verdict));
    report(results.collect())
}

/// A text with which an app attacks what prints it.
const HOSTILE: &str =
    "GET /<script>alert(1)</script>\"'&|`![x](http://evil.example)\u{1b}[2J\u{202e} \u{2192} 200";

/// A report with every verdict, a takeover and a known failure, in which the app chose
/// every text that it can choose.
fn failing() -> Report {
    let verdicts = [
        ("cookie-attributes", Verdict::Fail),
        ("binding-required", Verdict::NotTestable),
        ("callback-replay", Verdict::Fail),
        ("key-fresh", Verdict::Harness),
        ("state-checked", Verdict::Fail),
        ("pending-bounded", Verdict::Pass),
        ("pkce", Verdict::NotApplicable),
        ("relay", Verdict::NotTested),
    ];
    let mut report = report_of(&verdicts);
    report.expected = vec!["cookie-attributes".to_owned()];
    let replay = &mut report.results[2];
    replay.flow = Some(Flow::Legacy);
    HOSTILE.clone_into(&mut replay.actual);
    replay.evidence = vec![line(HOSTILE)];
    replay.evidence[0].is_wrong = true;
    HOSTILE.clone_into(&mut replay.evidence[0].to);
    report.results[4].is_takeover = true;
    HOSTILE.clone_into(&mut report.results[6].actual);
    HOSTILE.clone_into(&mut report.preflight[0].says);
    HOSTILE.clone_into(&mut report.good[0].1[0].what);
    report.grade = Grade::of(&report.results);
    report.printable()
}

/// Every format of a report, by its name.
fn formats(report: &Report) -> [(&'static str, String); 6] {
    [
        ("text", report.text()),
        ("json", report.json()),
        ("html", report.html()),
        ("junit", report.junit()),
        ("markdown", report.markdown()),
        ("badge", report.badge()),
    ]
}

/// A report without the lines of the reference consumers, which change with them. The names of
/// their files stay.
fn without_sources(report: &str) -> String {
    let mut is_source = false;
    let kept = report.lines().filter(|line| {
        let names_file = [" e2e/consumers/", " consumer-demo/"].iter();
        let names_file = { names_file }.any(|folder| line.contains(folder));
        if line.trim_start().starts_with("\"code\": ") {
            return false;
        }
        let ends = line.starts_with("```") || line.starts_with("(In ");
        is_source = (is_source || names_file) && !ends && !line.contains("</code>");
        !is_source || names_file
    });
    kept.map(|line| line.to_owned() + "\n").collect()
}

#[test]
fn every_format_is_as_published_and_a_text_of_the_app_is_never_markup() {
    let reports = [
        ("failing", failing()),
        ("good", report_of(&[("pkce", Verdict::Pass)])),
    ];
    for (name, report) in reports {
        for (format, text) in formats(&report) {
            let is_wrong = |it: &char| (it.is_control() && *it != '\n') || *it == '\u{202e}';
            assert_eq!(text.chars().find(is_wrong), None, "{name} {format}");
            // The style of the page says nothing about a report.
            let shown = text.split_once("</style>").map_or(&*text, |(_, it)| it);
            insta::assert_snapshot!(format!("{name}-{format}"), without_sources(shown));
        }
    }
}

#[test]
fn a_page_fetches_nothing_and_has_no_script() {
    let html = without_sources(&failing().html());
    for fetches in ["src=", "<script", "@import", "url("] {
        assert!(!html.contains(fetches), "{fetches}");
    }
    assert_eq!(html.matches("<link").count(), 1);
    assert!(html.contains(r#"<link rel="icon" href="data:,">"#));
    assert!(html.contains("default-src 'none'"));
}

/// A report of every check of the catalogue.
fn report_of_all(verdict: Verdict) -> Report {
    let checks = catalogue::checks().iter();
    report(checks.map(|it| result(it, verdict)).collect())
}

#[test]
fn every_id_of_a_page_occurs_once_and_every_label_has_its_input() {
    let html = report_of_all(Verdict::Fail).html();
    let after = |mark: &str| -> Vec<String> {
        let parts = html.split(mark).skip(1);
        let values = parts.map(|it| it.split('"').next().unwrap_or_default().to_owned());
        values.collect()
    };
    let mut ids = after(" id=\"");
    for mark in [" for=\"", "aria-labelledby=\"", "href=\"#"] {
        assert!(after(mark).iter().all(|id| ids.contains(id)), "{mark}");
    }
    let number = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), number);
}

#[test]
fn a_terminal_of_100_columns_wraps_nothing_but_code_and_commands() {
    for verdict in [Verdict::Fail, Verdict::Pass] {
        for line in report_of_all(verdict).text().lines() {
            let is_copied = line.starts_with("  repeat") || line.starts_with("    ");
            assert!(is_copied || line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn the_grade_follows_the_effect_of_a_failure_and_then_its_severity() {
    use Effect::{Attack, Fault, SecondWeakness};
    use Severity::{Advice, Must, Should};
    use Verdict::{Fail, Harness, NotApplicable, NotTestable, NotTested, Pass};
    let pkce = check("pkce");
    let grade_of = |verdict, if_broken, severity| {
        let check = Check {
            severity,
            if_broken,
            ..pkce.clone()
        };
        let check = Box::leak(Box::new(check));
        Grade::of(&[result(pkce, Pass), result(check, verdict)])
    };
    for severity in [Must, Should, Advice] {
        for if_broken in [Fault, SecondWeakness, Attack] {
            let broken = match (if_broken, severity) {
                (Attack, _) => Grade::C,
                (SecondWeakness, _) | (Fault, Must) => Grade::B,
                _ => Grade::A,
            };
            for (verdict, grade) in [
                (Fail, broken),
                (NotTestable, broken),
                (Pass, Grade::APlus),
                (NotApplicable, Grade::APlus),
                (NotTested, Grade::A),
                (Harness, Grade::A),
            ] {
                let context = format!("{verdict:?} {severity:?} {if_broken:?}");
                assert_eq!(grade_of(verdict, if_broken, severity), grade, "{context}");
            }
        }
    }
    assert_eq!(Grade::of(&[]), Grade::C);
    let untried = ["untried", "controls"].map(|step| {
        let says = String::new();
        grade(&[result(pkce, Pass)], &[PreflightStep { step, says }])
    });
    assert_eq!(untried, [Grade::A, Grade::APlus]);
    assert_eq!(failing().grade, Grade::F, "of a takeover");
}

#[test]
fn the_meaning_of_a_grade_claims_nothing_that_was_not_tried() {
    let all = catalogue::checks().len();
    let relay = ("relay", Verdict::NotTested);
    let (pkce, fresh) = (("pkce", Verdict::Pass), ("key-fresh", Verdict::Harness));
    for (verdicts, meaning) in [
        (
            &[relay][..],
            "Nothing was tried. The grade leaves out the one check that was not tested.",
        ),
        (
            &[relay, pkce, fresh],
            "Everything that was tried passes. The grade leaves out the 2 checks that were not tested.",
        ),
        (&[pkce], "Everything passes."),
    ] {
        let run = format!(
            "This examination ran {} of the {all} checks.",
            verdicts.len()
        );
        assert_eq!(report_of(verdicts).meaning(), format!("{meaning} {run}"));
    }
}

#[test]
fn a_known_failure_is_forgiven_and_fixed_last_until_it_passes() {
    use Verdict::{Fail, Harness, Pass};
    let (replay, cookie) = (("callback-replay", Fail), ("cookie-attributes", Fail));
    for (verdicts, known, is_good, first) in [
        (&[replay, cookie][..], "", false, "callback-replay"),
        (
            &[replay, cookie],
            "callback-replay",
            true,
            "cookie-attributes",
        ),
        (&[replay], "callback-replay", true, "callback-replay"),
        (&[("pkce", Pass), ("key-fresh", Pass)], "", true, ""),
        (&[("pkce", Pass), ("key-fresh", Pass)], "pkce", false, ""),
        (&[("key-fresh", Harness), ("pkce", Pass)], "", true, ""),
    ] {
        let mut report = report_of(verdicts);
        report.expected = vec![known.to_owned()];
        assert_eq!(report.is_good(), is_good, "{verdicts:?} {known}");
        let fix_first = report.fix_first().map_or("", |it| &it.check.id);
        assert_eq!(fix_first, first, "{verdicts:?} {known}");
        let is_named = report.text().contains("passes: remove it from `expect`.");
        assert_eq!(is_named, known == "pkce", "{verdicts:?} {known}");
        let failures = verdicts
            .iter()
            .filter(|(id, it)| (*it == Fail) != (*id == known));
        let failures = format!("failures=\"{}\"", failures.count());
        assert!(report.junit().contains(&failures), "{verdicts:?} {known}");
    }
}

#[test]
fn a_check_that_came_after_the_catalogue_is_reported_and_does_not_count() {
    let newer = Check {
        since: "2027-01".to_owned(),
        ..check("callback-replay").clone()
    };
    let newer = result(Box::leak(Box::new(newer)), Verdict::Fail);
    let of = |catalogue: &str| {
        let mut report = report(vec![result(check("pkce"), Verdict::Pass), newer.clone()]);
        catalogue.clone_into(&mut report.origin.catalogue);
        report.grade = report.graded();
        report
    };
    let (pinned, current) = (of("2026-11"), of("2027-01"));
    assert_eq!((pinned.grade, current.grade), (Grade::APlus, Grade::C));
    assert!(pinned.is_good() && !current.is_good());
    let says = "FAIL callback-replay (must, since 2027-01, does not count)";
    assert!(pinned.text().contains(says), "{}", pinned.text());
    let says = "It leaves out 1 that came after the catalogue 2026-11.";
    assert!(pinned.meaning().contains(says), "{}", pinned.meaning());
    assert!(pinned.junit().contains("failures=\"0\""));
}

#[test]
fn a_comparison_names_what_became_better_and_worse_and_worse_is_no_success() {
    use Verdict::{Fail, NotTested, Pass};
    let older = report_of(&[("pkce", Fail), ("key-fresh", Pass), ("relay", NotTested)]).json();
    let older = older.replace("\"relay\"", "\"no-such-check\"");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.json");
    std::fs::write(&file, older).unwrap();
    let older = OlderReport::read(&file).unwrap();
    let newer = report_of(&[("pkce", Pass), ("key-fresh", NotTested), ("frame", Pass)]);
    assert!(newer.is_good());
    let worse = newer.compared_with(&older);
    assert!(!worse.is_good());
    let text = worse.text();
    let (_, compared) = text.split_once("Compared").unwrap();
    insta::assert_snapshot!("compared-text", compared);
    assert!(worse.markdown().contains(compared), "in Markdown as well");
    let same = report_of(&[("pkce", Pass)]).compared_with(&older);
    assert!(same.is_good(), "what did not run is no loss");
}

#[test]
fn a_repeated_check_replaces_its_older_result_and_the_grade_follows() {
    let old = report_of(&[
        ("key-fresh", Verdict::Pass),
        ("state-checked", Verdict::Fail),
    ]);
    let both = old.updated(report_of(&[("state-checked", Verdict::Pass)]));
    let results = both.results.iter();
    let verdicts: Vec<_> = results.map(|it| (&*it.check.id, it.verdict)).collect();
    let expected = [
        ("key-fresh", Verdict::Pass),
        ("state-checked", Verdict::Pass),
    ];
    assert_eq!(verdicts, expected);
    assert_eq!(both.grade, Grade::APlus);
}

#[test]
fn the_command_to_repeat_a_check_survives_a_shell_and_keeps_the_flags_of_the_plan() {
    let mut report = report_of(&[("pkce", Verdict::Pass)]);
    let start = "just examine http://localhost:5000/";
    let words = ["sh", "-c", "echo 'a b'; $X", ""].map(str::to_owned);
    report.command = words.to_vec();
    assert_eq!(
        report.repeat("pkce"),
        format!("{start} --only pkce -- sh -c 'echo '\\''a b'\\''; $X' ''")
    );
    report.command.clear();
    let mut plan = crate::ExaminationPlan::new("http://localhost:5000/".parse().unwrap());
    "http://127.0.0.1:9010".clone_into(&mut plan.control);
    plan.hints.whoami = Some("/me".to_owned());
    plan.hints.sign_out = Some(crate::app::Step::Css("#out".to_owned()));
    let request = crate::app::Step::Request {
        method: "POST".to_owned(),
        path: "/login".to_owned(),
        body: String::new(),
    };
    plan.hints.sign_in = vec![("google".to_owned(), request)];
    let env = [("DB".to_owned(), "{folder}/db".to_owned())].into();
    let command = ["store", "{port}"].map(str::to_owned).to_vec();
    plan.share = Some(crate::share::Share { env, command });
    plan.flow = Some(Flow::Clean);
    report.flags = plan.flags();
    assert_eq!(
        report.repeat("pkce"),
        format!(
            "{start} --control http://127.0.0.1:9010 --whoami /me --sign-in 'google=POST /login' --sign-out 'css:#out' --share 'DB={{folder}}/db' --share-command 'store {{port}}' --flow clean --only pkce"
        )
    );
    report.flags.clear();
    "http://localhost:5000/?a=1&b=2".clone_into(&mut report.target);
    assert_eq!(
        report.repeat("pkce"),
        "just examine 'http://localhost:5000/?a=1&b=2' --only pkce"
    );
}
