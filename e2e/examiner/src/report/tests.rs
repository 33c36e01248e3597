//! Reports of made-up results: `snapshots` has two of them in every format, and the conclusions
//! from more.

use std::fmt::Write as _;

use strum::VariantArray as _;

use super::{OlderReport, Origin, Report};
use crate::ExaminationPlan;
use crate::app::{Flow, Step};
use crate::catalogue::{self, Check, Effect, Severity};
use crate::learn::PreflightStep;
use crate::plan::Hints;
use crate::result::{CheckResult, Grade};
use crate::share::Share;
use crate::transcript::TranscriptLine;
use crate::verdict::{Stop, Verdict};

fn check(id: &str) -> &'static Check {
    catalogue::check(id).expect("a check of the catalogue")
}

fn result(check: &'static Check, verdict: Verdict) -> CheckResult {
    let stop = Stop {
        verdict,
        ..Stop::fail(format!("the observation of {}", check.id))
    };
    let outcome = match verdict {
        Verdict::Pass => Ok(()),
        _ => Err(stop),
    };
    CheckResult::new(
        check,
        outcome,
        None,
        vec![line("app", "GET / \u{2192} 200")],
    )
}

fn line(to: &str, what: &str) -> TranscriptLine {
    TranscriptLine::new(12, "browser A", to, what)
}

/// A report of an app that is started by `python app.py`.
fn report(results: Vec<CheckResult>) -> Report {
    Report {
        target: "http://localhost:5000/".to_owned(),
        flow: "both",
        origin: Origin {
            version: "0.1.0",
            commit: Some("55c539b1a2b3"),
            catalogue: catalogue::newest_version().to_owned(),
            examined: "an app that the examiner started",
            files: Some((12, "4f".repeat(32))),
            at: "2026-11-27T18:05:00Z".to_owned(),
        },
        compared: None,
        preflight: vec![PreflightStep::new("reachable", "it answers")],
        results,
        expected: Vec::new(),
        good: vec![(
            Flow::Clean,
            vec![line("app", "GET /callback \u{2192} 303 to /")],
        )],
        hides_fix: false,
        command: vec!["python".to_owned(), "app.py".to_owned()],
        flags: Vec::new(),
    }
}

pub(crate) fn report_of(verdicts: &[(&str, Verdict)]) -> Report {
    let results = verdicts.iter();
    let results = results.map(|(id, verdict)| result(check(id), *verdict));
    report(results.collect())
}

/// A text with which an app attacks what prints it.
const HOSTILE: &str =
    "GET /<script>alert(1)</script>\"'&|`![x](http://evil.example)\u{1b}[2J\u{202e} \u{2192} 200";

/// A report with every verdict, a takeover, a known failure and one that passes, in which the app
/// chose every text that it can choose.
fn failing() -> Report {
    let mut report = report_of(&[
        ("cookie-attributes", Verdict::Fail),
        ("binding-required", Verdict::NotTestable),
        ("callback-replay", Verdict::Fail),
        ("key-fresh", Verdict::Harness),
        ("state-checked", Verdict::Fail),
        ("pending-bounded", Verdict::Pass),
        ("pkce", Verdict::NotApplicable),
        ("relay", Verdict::NotTested),
    ]);
    report.expected = ["cookie-attributes", "pending-bounded"]
        .map(str::to_owned)
        .into();
    let hostile = |id, stop, flow| {
        let mut evidence = line(HOSTILE, HOSTILE);
        evidence.is_wrong = true;
        CheckResult::new(check(id), Err(stop), flow, vec![evidence])
    };
    report.results[2] = hostile("callback-replay", Stop::fail(HOSTILE), Some(Flow::Legacy));
    report.results[4].is_takeover = true;
    report.results[6] = hostile("pkce", Stop::not_applicable(HOSTILE), None);
    report.preflight = vec![PreflightStep::new("reachable", HOSTILE)];
    report.good[0].1 = vec![line("app", HOSTILE)];
    "http://localhost:5000/``b`".clone_into(&mut report.target);
    report
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

type Format = fn(&Report) -> String;

const FORMATS: [(&str, Format); 6] = [
    ("text", Report::text),
    ("json", Report::json),
    ("html", Report::html),
    ("junit", Report::junit),
    ("markdown", Report::markdown),
    ("badge", Report::badge),
];

#[test]
fn a_report_for_those_who_practise_has_no_mend_in_any_format() {
    let report = Report {
        hides_fix: true,
        ..report_of(&[("callback-replay", Verdict::Fail)])
    };
    let change = &check("callback-replay").fix.change;
    for (format, write) in FORMATS {
        let text = write(&report);
        let has_mend = text.contains(change) || text.contains("e2e/consumers/");
        assert!(!has_mend, "{format}: {text}");
    }
}

#[test]
fn every_format_is_as_published_and_a_text_of_the_app_is_never_markup() {
    let good = report_of(&[("pkce", Verdict::Pass)]);
    for (name, report) in [("failing", failing()), ("good", good)] {
        for (format, write) in FORMATS {
            let text = write(&report);
            let is_wrong = |it: &char| (it.is_control() && *it != '\n') || *it == '\u{202e}';
            assert_eq!(text.chars().find(is_wrong), None, "{name} {format}");
            // The style sheet says nothing about a report, and fetches nothing.
            let (before, rest) = text.split_once("<style>").unwrap_or((&text, ""));
            let (style, after) = rest.split_once("</style>").unwrap_or_default();
            assert!(!style.contains("@import") && !style.contains("url("));
            let shown = without_sources(&format!("{before}{after}"));
            insta::assert_snapshot!(format!("{name}-{format}"), shown);
        }
    }
}

#[test]
fn the_grade_follows_the_effect_of_a_failure_and_then_its_severity() {
    let mut grades = String::new();
    for severity in [Severity::Must, Severity::Should, Severity::Advice] {
        for if_broken in [Effect::Attack, Effect::SecondWeakness, Effect::Fault] {
            let changed = Check {
                severity,
                if_broken,
                ..check("pkce").clone()
            };
            let changed: &Check = Box::leak(Box::new(changed));
            let row = Verdict::VARIANTS.iter().map(|&verdict| {
                let grade = Grade::of(&[
                    result(check("pkce"), Verdict::Pass),
                    result(changed, verdict),
                ]);
                format!("{verdict} {}", grade.map_or("none", Grade::into))
            });
            let row: Vec<_> = row.collect();
            let _ = writeln!(grades, "{severity:?} {if_broken:?}: {}", row.join(", "));
        }
    }
    insta::assert_snapshot!("grades", grades);
}

/// What a report says on the whole, and what it means for an exit status and a build server.
fn conclusion(report: &Report) -> String {
    let (title, meaning, is_good) = (report.title(), report.meaning(), report.is_good());
    let first = report.fix_first().map_or("nothing", |it| &it.check.id);
    let junit = report.junit();
    let (_, counts) = junit.lines().nth(1).unwrap().split_once(" tests=").unwrap();
    format!("  {title}. {meaning}\n  good: {is_good}; fix first: {first}; tests={counts}\n")
}

#[test]
fn a_report_concludes_from_what_was_tried_and_counts_and_forgives_known_failures() {
    use Verdict::{Fail, Harness, NotTested, Pass};
    let (relay, pkce, fresh) = (("relay", NotTested), ("pkce", Pass), ("key-fresh", Harness));
    let (replay, cookie) = (("callback-replay", Fail), ("cookie-attributes", Fail));
    let mut shown = String::new();
    for (verdicts, known) in [
        (&[relay][..], ""),
        (&[relay, pkce, fresh], ""),
        (&[pkce], ""),
        (&[pkce], "pkce"),
        (&[("frame", Fail)], ""),
        (&[replay, cookie], ""),
        (&[replay, cookie], "callback-replay"),
        (&[replay], "callback-replay"),
    ] {
        let mut report = report_of(verdicts);
        report.expected = vec![known.to_owned()];
        let _ = writeln!(
            shown,
            "{verdicts:?}, known: {known:?}\n{}",
            conclusion(&report)
        );
    }
    let all = catalogue::checks().iter();
    let mut whole = report(all.map(|check| result(check, Pass)).collect());
    let _ = writeln!(shown, "every check passes\n{}", conclusion(&whole));
    whole.preflight = vec![PreflightStep::new("untried", "a button")];
    let _ = writeln!(shown, "and a button was not tried\n{}", conclusion(&whole));
    insta::assert_snapshot!("conclusions", shown);
}

#[test]
fn a_check_that_came_after_the_catalogue_is_reported_and_does_not_count() {
    let newer = Check {
        since: "2027-01".to_owned(),
        ..check("callback-replay").clone()
    };
    let newer = result(Box::leak(Box::new(newer)), Verdict::Fail);
    let mut shown = String::new();
    for catalogue in ["2026-11", "2027-01"] {
        let older = result(check("pkce"), Verdict::Pass);
        for results in [vec![older, newer.clone()], vec![newer.clone()]] {
            let mut report = report(results);
            catalogue.clone_into(&mut report.origin.catalogue);
            let text = report.text();
            let found = text.lines().find(|it| it.starts_with("FAIL")).unwrap();
            let _ = writeln!(shown, "{catalogue}: {found}\n{}", conclusion(&report));
        }
    }
    insta::assert_snapshot!("newer-checks", shown);
}

#[test]
fn a_comparison_names_what_became_better_and_worse_and_worse_is_no_success() {
    use Verdict::{Fail, NotTested, Pass};
    let older = report_of(&[("pkce", Fail), ("key-fresh", Pass), ("relay", NotTested)]).json();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.json");
    std::fs::write(&file, older.replace("\"relay\"", "\"no-such-check\"")).unwrap();
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
fn a_repeated_check_replaces_its_older_result() {
    use Verdict::{Fail, Pass};
    let old = report_of(&[("key-fresh", Pass), ("state-checked", Fail)]);
    let both = old.updated(report_of(&[("state-checked", Pass)]));
    let results = both.results.iter();
    let verdicts: Vec<_> = results.map(|it| (&*it.check.id, it.verdict)).collect();
    assert_eq!(verdicts, [("key-fresh", Pass), ("state-checked", Pass)]);
}

#[test]
fn the_command_to_repeat_a_check_survives_a_shell_and_keeps_the_flags_of_the_plan() {
    let mut report = report_of(&[]);
    "http://localhost:5000/?a=1&b=2".clone_into(&mut report.target);
    report.command = ["sh", "-c", "echo 'a b'; $X", ""].map(str::to_owned).into();
    let start = "just examine 'http://localhost:5000/?a=1&b=2'";
    let expected = format!("{start} --only pkce -- sh -c 'echo '\\''a b'\\''; $X' ''");
    assert_eq!(report.repeat("pkce"), expected);
    report.command.clear();
    let post = Step::Request {
        method: "POST".to_owned(),
        path: "/login".to_owned(),
        body: String::new(),
    };
    let plan = ExaminationPlan {
        control: "http://127.0.0.1:9010".to_owned(),
        hints: Hints {
            whoami: Some("/me".to_owned()),
            sign_in: vec![("google".to_owned(), post)],
            sign_out: Some(Step::Css("#out".to_owned())),
        },
        share: Some(Share {
            env: [("DB".to_owned(), "{folder}/db".to_owned())].into(),
            command: ["store", "{port}"].map(str::to_owned).into(),
        }),
        flow: Some(Flow::Clean),
        ..ExaminationPlan::new("http://localhost:5000/".parse().unwrap())
    };
    report.flags = plan.flags();
    let expected = format!(
        "{start} --control http://127.0.0.1:9010 --whoami /me --sign-in 'google=POST /login' --sign-out 'css:#out' --share 'DB={{folder}}/db' --share-command 'store {{port}}' --flow clean --only pkce"
    );
    assert_eq!(report.repeat("pkce"), expected);
}
