//! The two tables of the relay guard: from a visit to its provenance, and from there
//! to the decision.

use broker::relay::{Fetch, Provenance, Referrer, RelayDecision, RelayGuard, SelectAccount, Visit};
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
    has_provenance(
        navigation("cross-site"),
        Referrer::Unreadable,
        Provenance::Foreign,
    );
    has_provenance(
        navigation("cross-site"),
        Referrer::Absent,
        Provenance::NoReferrer,
    );
}

#[test]
fn a_typed_address_is_typed_whatever_the_referrer() {
    has_provenance(navigation("none"), Referrer::Absent, Provenance::Typed);
    has_provenance(navigation("none"), page(STARTS[0]), Provenance::Typed);
}

#[test]
fn a_request_that_is_no_top_level_navigation_is_embedded() {
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
fn a_client_without_fetch_metadata_is_never_vouched() {
    has_provenance(None, Referrer::Absent, Provenance::NoMetadata);
    has_provenance(None, page(STARTS[0]), Provenance::NoMetadata);
    has_provenance(None, page("https://evil.example"), Provenance::Foreign);
    has_provenance(navigation(""), page(STARTS[0]), Provenance::NoMetadata);
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
fn the_projects_guard_and_the_provenance_decide_about_the_confirmation() {
    for provenance in ALL {
        let auto = match provenance {
            Provenance::Vouched => RelayDecision::Bind,
            _ => RelayDecision::Confirm,
        };
        assert_eq!(RelayGuard::Auto.decide(provenance, false), auto);
        assert_eq!(
            RelayGuard::Always.decide(provenance, false),
            RelayDecision::Confirm
        );
        assert_eq!(
            RelayGuard::Off.decide(provenance, false),
            RelayDecision::Bind
        );
    }
}

#[test]
fn a_local_client_passes_unbound_unless_the_guard_always_asks() {
    let decision = |guard: RelayGuard| guard.decide(Provenance::NoMetadata, true);
    assert_eq!(decision(RelayGuard::Auto), RelayDecision::PassUnbound);
    assert_eq!(decision(RelayGuard::Off), RelayDecision::PassUnbound);
    assert_eq!(decision(RelayGuard::Always), RelayDecision::Confirm);
}

#[test]
fn a_project_can_skip_the_account_picker_for_vouched_visits() {
    for provenance in ALL {
        assert!(SelectAccount::Always.is_for(provenance));
        let expected = provenance != Provenance::Vouched;
        assert_eq!(SelectAccount::Unvouched.is_for(provenance), expected);
    }
}

// Threats: M7.
#[test]
fn every_provenance_has_its_own_value_in_the_audit_log() {
    let words: std::collections::HashSet<_> = ALL.map(Provenance::as_str).into();
    assert_eq!(words.len(), ALL.len());
}
