//! The catalogue: every check with its severity, its law, its consequence and its fix. The
//! texts are in `checks.toml`, the one list of checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use strum::Display;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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

impl Check {
    /// Whether the check concerns this flow.
    pub fn concerns(&self, flow: Flow) -> bool {
        self.flows.is_empty() || self.flows.contains(&flow)
    }

    /// The names of its flows: `clean`.
    pub fn flow_names(&self) -> String {
        let names: Vec<_> = self.flows.iter().map(Flow::to_string).collect();
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

static CHECKS: LazyLock<Vec<Check>> = LazyLock::new(|| rows(include_str!("../checks.toml")));

static ASVS: LazyLock<Vec<AsvsRequirement>> = LazyLock::new(|| rows(include_str!("../asvs.toml")));

/// The rows of a file that is one list.
///
/// # Panics
///
/// If it is not: such files are in the tree, and the tests read them.
pub fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let lists: BTreeMap<String, Vec<T>> = toml::from_str(file).expect("the tests have read it");
    lists.into_values().flatten().collect()
}

/// Every check, in the order of a login.
pub fn checks() -> &'static [Check] {
    &CHECKS
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
    &ASVS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_published_version_says_of_its_checks_never_changes() {
        for version in versions() {
            let known = checks().iter().filter(|it| *it.since <= *version);
            let rows = known.map(|it| {
                let row = (&it.id, it.severity, it.if_broken, it.wait_ms, it.limit_ms);
                serde_json::to_string(&row).unwrap()
            });
            let rows: Vec<_> = rows.collect();
            insta::assert_snapshot!(format!("catalogue_{version}"), rows.join("\n"));
        }
    }

    /// The places of the specification are in a snapshot, because it is no file of the project.
    #[test]
    fn every_law_exists() {
        let threats = include_str!("../../THREATS.md");
        let mut specification = BTreeSet::new();
        for law in checks().iter().flat_map(|check| &check.law) {
            let (source, place) = law.split_once(' ').unwrap();
            let exists = match source {
                "SPEC" => {
                    specification.insert(place);
                    true
                }
                "THREATS" => threats.contains(&format!("\n**{place}** ")),
                "RULE" => contract::rules::Rule::ALL.iter().any(|it| it.id() == place),
                "ASVS" => asvs().iter().any(|it| it.id == place),
                _ => false,
            };
            assert!(exists, "{law}");
        }
        let places: Vec<_> = specification.into_iter().collect();
        insta::assert_snapshot!("specification", places.join("\n"));
    }

    #[test]
    fn the_documents_name_the_number_of_checks() {
        for page in [
            include_str!("../../../README.md"),
            include_str!("../../../docs/EXAMINE.md"),
        ] {
            let words: Vec<_> = page.split_whitespace().collect();
            let named = words.windows(2).filter(|it| it[1].starts_with("checks"));
            let numbers = named.filter_map(|it| it[0].parse::<usize>().ok());
            let numbers: BTreeSet<_> = numbers.collect();
            assert_eq!(numbers, [checks().len()].into());
        }
    }
}
