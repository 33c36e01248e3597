//! The table of exercises, and the files of each app.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use agent::tree::Edit;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use similar::TextDiff;

use crate::app::Flow;
use crate::catalogue::rows;
use crate::fault::Fault;
use crate::report::sources_of;

static EXERCISES: LazyLock<Vec<Exercise>> =
    LazyLock::new(|| rows(include_str!("../../../consumers/exercises.toml")));

/// A language of the apps. Only those whose apps run without being compiled: a verdict must come
/// within seconds of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Language {
    /// Flask.
    Python,
    /// Express.
    Javascript,
}

/// The files of an app, by their paths in its folder.
pub type Files = BTreeMap<&'static str, String>;

/// One exercise, as `e2e/consumers/exercises.toml` explains it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table explains its members")]
pub struct Exercise {
    pub id: String,
    pub title: String,
    pub group: String,
    pub goal: String,
    pub harm: String,
    python: Vec<String>,
    javascript: Vec<String>,
    pub arrow: String,
    pub law: String,
    pub lesson: String,
    pub question: Question,
    #[serde(default)]
    pub wrong: Vec<WrongMend>,
}

/// The question after the mend.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table explains its members")]
pub struct Question {
    pub ask: String,
    pub choices: Vec<String>,
    pub right: usize,
    pub why: String,
}

/// A mend that looks right and is not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the table explains its members")]
pub struct WrongMend {
    pub language: Language,
    pub says: String,
    pub edit: Vec<Edit>,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::Python, Self::Javascript];

    /// The name of its consumer in the table of faults.
    pub fn consumer(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Javascript => "node",
        }
    }

    /// The file that starts an app.
    pub(super) fn start_file(self) -> &'static str {
        match self {
            Self::Python => "app.py",
            Self::Javascript => "app.mjs",
        }
    }

    /// The files of the good consumer, and those that name what it needs.
    pub(super) fn sources(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let folder = format!("e2e/consumers/{}/", self.consumer());
        let sources = sources_of(self.consumer()).iter();
        sources.filter_map(move |file| Some((file.path.strip_prefix(&*folder)?, file.text)))
    }
}

/// Whether all apps share this file, which names what they need.
pub(super) fn is_shared(file: &str) -> bool {
    ["requirements.txt", "package.json", "package-lock.json"].contains(&file)
}

impl Exercise {
    /// Every exercise, in the order of the course.
    pub fn all() -> &'static [Self] {
        &EXERCISES
    }

    /// The faults of its app.
    ///
    /// # Panics
    ///
    /// If the table of faults has no such name, which a test excludes.
    pub fn faults(&self, language: Language) -> Vec<&'static Fault> {
        let ids = match language {
            Language::Python => &self.python,
            Language::Javascript => &self.javascript,
        };
        let named = |id: &String| Fault::named(id).unwrap_or_else(|| panic!("no fault {id}"));
        ids.iter().map(named).collect()
    }

    /// The checks that its app fails.
    pub fn checks(&self, language: Language) -> Vec<String> {
        let faults = self.faults(language).into_iter();
        let mut checks: Vec<_> = faults.flat_map(|it| it.fails.clone()).collect();
        checks.sort();
        checks.dedup();
        checks
    }

    /// The flow in which the faults show, if it is one.
    pub fn flow(&self, language: Language) -> Option<Flow> {
        let faults = self.faults(language);
        let flow = faults.first()?.flow();
        faults.iter().all(|it| it.flow() == flow).then_some(flow)
    }

    /// The changes that break the good consumer.
    pub fn edits(&self, language: Language) -> Vec<Edit> {
        let faults = self.faults(language).into_iter();
        faults.flat_map(|it| it.edit.clone()).collect()
    }

    /// The files of the broken app.
    ///
    /// # Errors
    ///
    /// If a change does not fit.
    pub(super) fn broken(&self, language: Language) -> Result<Files, String> {
        let own = language.sources().filter(|(file, _)| !is_shared(file));
        let mut files: Files = own.map(|(file, text)| (file, text.to_owned())).collect();
        for edit in self.edits(language) {
            let text = files.get_mut(&*edit.file);
            let text = text.ok_or_else(|| format!("there is no {}", edit.file))?;
            *text = edit.apply(text)?;
        }
        Ok(files)
    }

    /// The lines to change, as places: `app.py, lines 3 to 9`.
    pub(super) fn places(&self, language: Language) -> Result<Vec<String>, String> {
        let mut places = Vec::new();
        for (file, broken, good) in self.changed(language)? {
            let diff = TextDiff::from_lines(&*broken, good);
            for group in diff.grouped_ops(0) {
                let lines = group.iter().map(similar::DiffOp::old_range);
                let (first, last) = (
                    lines.clone().map(|it| it.start + 1).min().unwrap_or(1),
                    lines.map(|it| it.end).max().unwrap_or(1),
                );
                places.push(match last {
                    last if last < first => format!("{file}, after line {last}"),
                    last if last == first => format!("{file}, line {first}"),
                    last => format!("{file}, lines {first} to {last}"),
                });
            }
        }
        Ok(places)
    }

    /// The solution, as a diff of the app as it came.
    pub(super) fn solution(&self, language: Language) -> Result<String, String> {
        let diffs = self.changed(language)?.into_iter();
        let diffs = diffs.map(|(file, broken, good)| {
            let diff = TextDiff::from_lines(&*broken, good);
            let mut unified = diff.unified_diff();
            unified.context_radius(2).header(file, file).to_string()
        });
        Ok(diffs.collect())
    }

    /// The files that differ: broken and good.
    fn changed(
        &self,
        language: Language,
    ) -> Result<Vec<(&'static str, String, &'static str)>, String> {
        let mut broken = self.broken(language)?;
        let sources = language.sources();
        let changed = sources.filter_map(|(file, good)| {
            let broken = broken.remove(file).filter(|it| it != good)?;
            Some((file, broken, good))
        });
        Ok(changed.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::check;

    #[test]
    fn every_app_can_be_made_and_has_a_place_and_a_solution() {
        for exercise in Exercise::all() {
            for language in Language::ALL {
                let (id, faults) = (&exercise.id, exercise.faults(language));
                assert!(
                    faults.iter().all(|it| it.consumer == language.consumer()),
                    "{id}"
                );
                assert!(
                    exercise
                        .checks(language)
                        .iter()
                        .all(|id| check(id).is_some())
                );
                assert!(!exercise.places(language).unwrap().is_empty(), "{id}");
                let solution = exercise.solution(language).unwrap();
                let added = solution.lines().filter(|it| it.starts_with(['+', '-']));
                assert!(added.count() >= 3, "{id}: {solution}");
            }
        }
    }

    /// A hint sends the learner to a place, and does not write the mend.
    #[test]
    fn the_first_two_hints_have_no_identifier_of_the_solution() {
        for exercise in Exercise::all() {
            let hints = format!("{} {}", exercise.arrow, exercise.law);
            for language in Language::ALL {
                let solution = exercise.solution(language).unwrap();
                let changed = solution.lines().filter(|it| it.starts_with(['+', '-']));
                let names: BTreeSet<_> = changed.flat_map(identifiers).collect();
                let named: Vec<_> = identifiers(&hints)
                    .filter(|it| names.contains(it))
                    .collect();
                assert_eq!(named, Vec::<&str>::new(), "{}", exercise.id);
            }
        }
    }

    /// The names of code in a text: words of prose are none.
    fn identifiers(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| {
            let mut inner = word.chars().skip(1);
            word.len() > 2 && inner.any(|c| c == '_' || c.is_uppercase() || c.is_numeric())
        })
    }

    #[test]
    fn a_question_has_one_right_answer_and_each_app_wrong_mends_that_fit() {
        for exercise in Exercise::all() {
            let Question { choices, right, .. } = &exercise.question;
            assert!((1..=choices.len()).contains(right), "{}", exercise.id);
            for wrong in &exercise.wrong {
                let mut files = exercise.broken(wrong.language).unwrap();
                for edit in &wrong.edit {
                    let text = files.get_mut(&*edit.file).expect("the file of the edit");
                    *text = edit.apply(text).unwrap();
                }
            }
        }
    }
}
