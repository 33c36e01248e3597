//! The two tables of the relay guard: from a visit to its provenance, and from there
//! to the decision.

use broker::relay::RelayDecision::{Bind, Confirm, PassUnbound};
use broker::relay::{Fetch, Provenance, Referrer, RelayGuard, SelectAccount, Visit};
use contract::Origin;

const STARTS: [&str; 2] = ["https://app.example", "http://localhost:3000"];

fn origins(texts: &[&str]) -> Vec<Origin> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn fetch(site: &str, mode: &str, dest: &str) -> Option<Fetch> {
    let sent = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Some(Fetch {
        site: sent(site),
        mode: sent(mode),
        dest: sent(dest),
    })
}

fn navigation(site: &str) -> Option<Fetch> {
    fetch(site, "navigate", "document")
}

fn page(origin: &str) -> Referrer {
    Referrer::Page(origin.to_owned())
}

#[track_caller]
fn has_provenance(fetch: Option<Fetch>, referrer: Referrer, expected: Provenance) {
    let visit = Visit { fetch, referrer };
    assert_eq!(visit.provenance(&origins(&STARTS)), expected, "{visit:?}");
}

// Threats: X2.
#[test]
fn only_a_top_level_navigation_from_a_start_origin_is_vouched() {
    for start in STARTS {
        for site in ["cross-site", "same-site", "same-origin"] {
            has_provenance(navigation(site), page(start), Provenance::Vouched);
        }
    }
    for other in [
        "https://evil.example",
        "http://app.example",
        "https://app.example:444",
        "https://www.app.example",
        "https://app.example.evil.example",
        "http://localhost",
        "http://localhost:3001",
        "http://127.0.0.1:3000",
        "null",
    ] {
        has_provenance(navigation("cross-site"), page(other), Provenance::Foreign);
    }
}

#[test]
fn any_other_visit_has_its_own_provenance() {
    for (fetch, referrer, expected) in [
        (navigation("none"), Referrer::Absent, Provenance::Typed),
        (navigation("none"), page(STARTS[0]), Provenance::Typed),
        (
            navigation("cross-site"),
            Referrer::Unreadable,
            Provenance::Foreign,
        ),
        (
            navigation("cross-site"),
            Referrer::Absent,
            Provenance::NoReferrer,
        ),
        // A client without fetch metadata is never vouched.
        (None, Referrer::Absent, Provenance::NoMetadata),
        (None, page(STARTS[0]), Provenance::NoMetadata),
        (None, page("https://evil.example"), Provenance::Foreign),
        (navigation(""), page(STARTS[0]), Provenance::NoMetadata),
    ] {
        has_provenance(fetch, referrer, expected);
    }
    for (mode, dest) in [
        ("no-cors", "image"),
        ("navigate", "iframe"),
        ("navigate", "embed"),
        ("cors", "empty"),
        ("navigate", ""),
        ("", "document"),
        ("Navigate", "document"),
    ] {
        let fetch = fetch("cross-site", mode, dest);
        has_provenance(fetch, page(STARTS[0]), Provenance::Embedded);
    }
}

#[test]
fn a_plain_client_sends_no_fetch_metadata_and_no_foreign_referrer() {
    let check = |fetch: Option<Fetch>, referrer: Referrer, expected: bool| {
        let visit = Visit { fetch, referrer };
        let ours = "http://127.0.0.1:8000".parse().unwrap();
        assert_eq!(
            visit.is_plain(&origins(&STARTS), &ours),
            expected,
            "{visit:?}"
        );
    };
    check(None, Referrer::Absent, true);
    check(None, page(STARTS[1]), true);
    check(None, page("http://127.0.0.1:8000"), true);
    check(None, page("https://evil.example"), false);
    check(None, Referrer::Unreadable, false);
    check(navigation("none"), Referrer::Absent, false);
    check(Some(Fetch::default()), Referrer::Absent, false);
}

const ALL: [Provenance; 6] = [
    Provenance::Vouched,
    Provenance::Foreign,
    Provenance::NoReferrer,
    Provenance::Typed,
    Provenance::Embedded,
    Provenance::NoMetadata,
];

// Threats: M3.
#[test]
fn the_guard_the_provenance_and_the_picker_decide_about_the_confirmation() {
    for provenance in ALL {
        let is_vouched = provenance == Provenance::Vouched;
        let auto = if is_vouched { Bind } else { Confirm };
        assert_eq!(RelayGuard::Auto.decide(provenance, false), auto);
        assert_eq!(RelayGuard::Always.decide(provenance, false), Confirm);
        assert_eq!(RelayGuard::Off.decide(provenance, false), Bind);
        assert!(SelectAccount::Always.is_for(provenance));
        assert_eq!(SelectAccount::Unvouched.is_for(provenance), !is_vouched);
    }
    // A local client passes unbound unless the guard always asks.
    let decision = |guard: RelayGuard| guard.decide(Provenance::NoMetadata, true);
    assert_eq!(decision(RelayGuard::Auto), PassUnbound);
    assert_eq!(decision(RelayGuard::Off), PassUnbound);
    assert_eq!(decision(RelayGuard::Always), Confirm);
}

// Threats: M7.
#[test]
fn every_provenance_has_its_own_value_in_the_audit_log() {
    let words: std::collections::HashSet<_> = ALL.map(Provenance::as_str).into();
    assert_eq!(words.len(), ALL.len());
}
