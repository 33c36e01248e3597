//! The number of mutants that the tests notice, and the published figures.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A path from the top of the tree, where `just` starts every command.
const SCORES: &str = "e2e/mutants/scores.json";

/// The result of one set of mutants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Score {
    /// Every how many-th mutant of the set was tried.
    #[serde(default = "all", skip_serializing_if = "is_all")]
    pub(crate) every: usize,
    /// The number that some test caught.
    pub(crate) caught: usize,
    /// The names of those that no test caught.
    pub(crate) survivors: Vec<String>,
}

impl Score {
    /// Reads the lists that cargo-mutants wrote to `folder`.
    ///
    /// # Errors
    ///
    /// If one is missing, or there were no mutants at all: then cargo-mutants did not
    /// run.
    pub(crate) fn of_cargo_mutants(folder: &Path, every: usize) -> io::Result<Self> {
        let lines = |name: &str| -> io::Result<Vec<String>> {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        let score = Self {
            every,
            caught: lines("caught.txt")?.len() + lines("timeout.txt")?.len(),
            survivors: lines("missed.txt")?
                .iter()
                .map(|it| unnumbered(it))
                .collect(),
        };
        match score.all() {
            0 => Err(io::Error::other("cargo-mutants tried no mutant")),
            _ => Ok(score),
        }
    }

    fn all(&self) -> usize {
        self.caught + self.survivors.len()
    }

    /// Whether the share of caught mutants is below that of `published`.
    fn is_below(&self, published: &Self) -> bool {
        self.caught * published.all() < published.caught * self.all()
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (caught, all) = (self.caught, self.all());
        let percent = 100.0 * caught as f64 / all.max(1) as f64;
        write!(f, "{caught} of {all} mutants caught ({percent:.1} %)")?;
        if is_all(&self.every) {
            return Ok(());
        }
        write!(f, ", of every {}th one", self.every)
    }
}

/// Every mutant, unless something else is said.
fn all() -> usize {
    1
}

fn is_all(every: &usize) -> bool {
    *every == all()
}

/// The name of a mutant without line and column, which change with every edit.
fn unnumbered(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(change)) => format!("{file}:{change}"),
        _ => line.to_owned(),
    }
}

/// The published scores, by the name of their set.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Scores(BTreeMap<String, Score>);

impl Scores {
    /// Reads the published scores.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(crate) fn read() -> io::Result<Self> {
        let text = std::fs::read_to_string(SCORES)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Writes `score` as the published one of `name`.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn publish(&mut self, name: &str, score: Score) -> io::Result<()> {
        self.0.insert(name.to_owned(), score);
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(SCORES, text + "\n")
    }

    /// Compares `score` with the published one of `name`.
    ///
    /// # Errors
    ///
    /// If it is lower, with the mutants that survive anew; or none is published.
    pub(crate) fn compare(&self, name: &str, score: &Score) -> Result<(), String> {
        let published = self.0.get(name).ok_or_else(|| {
            format!("no score of {name} is published: run it once with --publish")
        })?;
        if score.every != published.every {
            return Err(format!(
                "{name}: {score}, and the published score is of every {}th mutant: use the same sample",
                published.every
            ));
        }
        if !score.is_below(published) {
            return Ok(());
        }
        let new = score.survivors.iter();
        let new: Vec<_> = new
            .filter(|it| !published.survivors.contains(it))
            .map(String::as_str)
            .collect();
        Err(format!(
            "{name}: {score}, and {published} is published. New survivors: {}",
            new.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(caught: usize, survivors: &[&str]) -> Score {
        Score {
            every: 1,
            caught,
            survivors: survivors.iter().map(|&it| it.to_owned()).collect(),
        }
    }

    fn published(score: Score) -> Scores {
        Scores(BTreeMap::from([("store".to_owned(), score)]))
    }

    #[test]
    fn a_lower_score_is_refused_with_the_new_survivors() {
        let scores = published(score(9, &["old"]));
        let error = scores.compare("store", &score(8, &["old", "new"]));
        let error = error.expect_err("8 of 10 is less than 9 of 10");
        assert!(error.ends_with("New survivors: new"), "{error}");
    }

    #[test]
    fn the_same_share_of_more_mutants_is_accepted() {
        let scores = published(score(9, &["old"]));
        assert_eq!(scores.compare("store", &score(18, &["old", "new"])), Ok(()));
    }

    #[test]
    fn only_scores_of_the_same_set_and_sample_are_compared() {
        let scores = published(score(9, &[]));
        assert!(scores.compare("contract", &score(9, &[])).is_err());
        let sample = Score {
            every: 10,
            ..score(9, &[])
        };
        assert!(scores.compare("store", &sample).is_err());
    }

    #[test]
    fn a_run_of_cargo_mutants_without_mutants_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = || Score::of_cargo_mutants(folder.path(), 1);
        assert!(read().is_err(), "there are no lists");
        for list in ["caught.txt", "timeout.txt", "missed.txt"] {
            std::fs::write(folder.path().join(list), "").expect("a list");
        }
        assert!(read().is_err(), "the lists are empty");
        std::fs::write(
            folder.path().join("missed.txt"),
            "broker/src/a.rs:3:5: replace a with b\n",
        )
        .expect("a list");
        let expected = score(0, &["broker/src/a.rs: replace a with b"]);
        assert_eq!(read().expect("a score"), expected);
    }
}
