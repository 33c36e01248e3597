//! The catalogue: every check with its severity, its law, its consequence and its fix. The
//! texts are in `checks.toml`, the one list of checks.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::app::Flow;

/// A check, as the catalogue describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The name: `callback-replay`.
    pub id: String,
    /// The rule in one sentence, without a full stop.
    pub title: String,
    /// The version of the catalogue that it came with: `2026-11`.
    #[serde(default = "first_version")]
    pub since: String,
    /// The weight of the rule.
    pub severity: Severity,
    /// The flows that it concerns; all if none is named.
    pub flows: Vec<Flow>,
    /// The sources of its evidence.
    pub instruments: Vec<Instrument>,
    /// The time that it waits, in milliseconds, if its verdict rests on a wait: timers of
    /// the app cannot be moved.
    pub wait_ms: Option<u64>,
    /// The time within which the app must be done, in milliseconds, if it has a limit.
    pub limit_ms: Option<u64>,
    /// The meaning of a failure for the grade.
    pub if_broken: Effect,
    /// The behaviour of a right app.
    pub expected: String,
    /// The harm that a failure does.
    pub consequence: String,
    /// The sources: `SPEC …`, `THREATS …`, `ASVS …`, `RULE …`.
    pub law: Vec<String>,
    /// The change that mends it.
    pub fix: Fix,
}

/// The weight of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The specification demands it, or an attack works without it.
    Must,
    /// OWASP ASVS 5.0, levels 1 and 2, or the best current practice of OAuth.
    Should,
    /// Good advice.
    Advice,
}

/// A source of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instrument {
    /// The broker's side.
    Broker,
    /// The examiner's own browser.
    Browser,
    /// A real Chromium.
    Chromium,
    /// The stack's clock.
    Clock,
    /// Many requests at once.
    Parallel,
    /// The app's output and log files.
    Log,
}

/// The meaning of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// No attack follows: users or operators suffer, or a further layer of defence is missing.
    Fault,
    /// A stranger gains by it who has a second weakness as well, or does harm without a gain.
    SecondWeakness,
    /// A stranger gains by it with nothing but a page, a link or an address of their own.
    Attack,
}

/// The change that mends a failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// The change in words.
    pub change: String,
    /// The regions of the reference consumers that show it done.
    pub code: Vec<String>,
}

impl Severity {
    /// The name: `must`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Advice => "advice",
        }
    }
}

impl Check {
    /// Whether the check concerns this flow.
    pub fn concerns(&self, flow: Flow) -> bool {
        self.flows.is_empty() || self.flows.contains(&flow)
    }

    /// The names of its flows: `clean`.
    pub fn flow_names(&self) -> String {
        let names: Vec<_> = self.flows.iter().map(|flow| flow.as_str()).collect();
        names.join(" or ")
    }
}

/// A requirement of OWASP ASVS 5.0 that applies to consumers of the service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsvsRequirement {
    /// The number: `7.2.4`.
    pub id: String,
    /// The requirement in a few words.
    pub short: String,
    /// Whether it can be seen from outside.
    pub seen: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    check: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asvs {
    requirement: Vec<AsvsRequirement>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    toml::from_str(include_str!("../checks.toml")).expect("checks.toml is what its test says")
});

static ASVS: LazyLock<Asvs> = LazyLock::new(|| {
    toml::from_str(include_str!("../asvs.toml")).expect("asvs.toml is what its test says")
});

/// Every check, in the order of a login.
pub fn checks() -> &'static [Check] {
    &CATALOGUE.check
}

/// The check with this id.
pub fn check(id: &str) -> Option<&'static Check> {
    checks().iter().find(|check| check.id == id)
}

fn first_version() -> String {
    "2026-11".to_owned()
}

/// The versions of the catalogue, the oldest first. What one has said of a check never changes: a
/// rule that becomes stricter is a new check.
pub fn versions() -> Vec<&'static str> {
    let versions: BTreeSet<_> = checks().iter().map(|check| check.since.as_str()).collect();
    versions.into_iter().collect()
}

/// The version that has every check.
pub fn newest_version() -> &'static str {
    versions().pop().unwrap_or_default()
}

/// The time for which the check `id` waits.
///
/// # Panics
///
/// If the catalogue has no such time, which is a mistake in the check.
pub(crate) fn wait_of(id: &str) -> Duration {
    time_of(id, "wait_ms", |check| check.wait_ms)
}

/// The time within which the app must be done in the check `id`.
///
/// # Panics
///
/// If the catalogue has no such time, which is a mistake in the check.
pub(crate) fn limit_of(id: &str) -> Duration {
    time_of(id, "limit_ms", |check| check.limit_ms)
}

fn time_of(id: &str, key: &str, member: fn(&Check) -> Option<u64>) -> Duration {
    let time = check(id).and_then(member);
    Duration::from_millis(time.unwrap_or_else(|| panic!("{id} has no {key} in checks.toml")))
}

/// The requirements of ASVS that apply to consumers.
pub fn asvs() -> &'static [AsvsRequirement] {
    &ASVS.requirement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_that_ask_for_a_time_have_one_and_no_other() {
        let waits = [
            "start-same-site",
            "pending-bounded",
            "result-after-browser",
            "sign-out-same-site",
        ];
        let limits = ["time-limit", "sign-out-server"];
        assert!(waits.map(wait_of).iter().all(|wait| !wait.is_zero()));
        assert!(limits.map(limit_of).iter().all(|limit| !limit.is_zero()));
        let timed = checks().iter();
        let timed = timed.filter(|it| it.wait_ms.is_some() || it.limit_ms.is_some());
        assert_eq!(timed.count(), waits.len() + limits.len());
    }

    /// The sections of the specification that a law may name, each with the number of its rules.
    const SECTIONS: [(&str, usize); 16] = [
        ("What the service does", 8),
        ("LoginSessionRequest", 0),
        ("LoginSessionResponse", 0),
        ("LoginResult", 0),
        ("Profile", 0),
        ("Transaction", 0),
        ("States and transitions", 0),
        ("POST /v1/login/session", 4),
        ("POST /v1/login/result", 5),
        ("GET /authorize", 0),
        ("POST /v1/token", 0),
        ("GET /v1/profile", 0),
        ("POST /v1/revoke", 0),
        ("Authentication", 3),
        ("Errors", 7),
        ("Limits", 0),
    ];

    /// Whether there is such a law: `SPEC Errors, 2`, `SPEC Authentication, rule 1`, `THREATS C4`.
    fn exists(law: &str) -> bool {
        let (source, place) = law.split_once(' ').unwrap_or_default();
        match source {
            "SPEC" => SECTIONS.iter().any(|(section, rules)| {
                let is_rule = |rule: usize| {
                    place == format!("{section}, {rule}")
                        || place == format!("{section}, rule {rule}")
                };
                place == *section || (1..=*rules).any(is_rule)
            }),
            "THREATS" => include_str!("../../THREATS.md").contains(&format!("\n**{place}** ")),
            "RULE" => contract::rules::Rule::ALL.iter().any(|it| it.id() == place),
            "ASVS" => asvs().iter().any(|it| it.id == place),
            _ => false,
        }
    }

    #[test]
    fn what_a_published_version_says_of_its_checks_never_changes() {
        for version in versions() {
            let known = checks().iter().filter(|it| *it.since <= *version);
            let rows: Vec<_> = known
                .map(|it| (&it.id, it.severity, it.if_broken))
                .collect();
            let rows = rows.iter().map(|row| serde_json::to_string(row).unwrap());
            let rows: Vec<_> = rows.collect();
            insta::assert_snapshot!(format!("catalogue_{version}"), rows.join("\n"));
        }
    }

    #[test]
    fn every_law_exists() {
        let laws = checks().iter().flat_map(|check| &check.law);
        let unknown: Vec<_> = laws.filter(|law| !exists(law)).collect();
        assert_eq!(unknown, Vec::<&String>::new());
        for law in [
            "SPEC Errors, 8",
            "SPEC Profile, 1",
            "THREATS C99",
            "RULE x",
            "ASVS 99",
            "C4",
        ] {
            assert!(!exists(law), "{law}");
        }
    }

    #[test]
    fn the_readmes_name_the_number_of_checks() {
        for readme in [
            include_str!("../../../README.md"),
            include_str!("../../README.md"),
        ] {
            let words: Vec<_> = readme.split_whitespace().collect();
            let numbers = words
                .windows(2)
                .filter(|pair| pair[1].starts_with("checks"));
            let numbers: Vec<usize> = numbers.filter_map(|pair| pair[0].parse().ok()).collect();
            assert!(!numbers.is_empty());
            assert!(
                numbers.iter().all(|it| *it == checks().len()),
                "{numbers:?}"
            );
        }
    }
}
