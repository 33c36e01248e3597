//! The exercises in the stack that mirrors them.

use reqwest::Method;
use serde_json::{Value, json};
use stack::practice::{Practice, PracticeExercise};

use super::super::exercise::Exercise;
use super::Session;

impl Session {
    /// Shows the exercises to the stack, if one runs; again, if it has forgotten them.
    pub(super) async fn mirror(&mut self, is_renewal: bool) {
        let path = "/api/practice";
        if is_renewal && self.control.get::<Value>(path).await.is_ok() {
            return;
        }
        let practice = json!(self.practice());
        let posted = self.control.call(Method::POST, path, Some(&practice)).await;
        self.is_mirrored = posted.is_ok();
    }

    /// The exercises, as the stack and the list show them.
    pub(super) fn practice(&self) -> Practice {
        let exercises = Exercise::all().iter().map(|it| {
            let entry = self.progress.of(&it.id);
            PracticeExercise {
                id: it.id.clone(),
                title: it.title.clone(),
                group: it.group.clone(),
                goal: it.goal.clone(),
                harm: it.harm.clone(),
                lesson: it.lesson.clone(),
                status: entry.status,
                tries: entry.tries,
                seconds: entry.seconds,
                hints: self.hints_of(it),
                run: self.run.clone().filter(|_| it.id == self.exercise().id),
            }
        });
        Practice {
            language: self.folder.language.to_string(),
            folder: self.folder.name.display().to_string(),
            current: Some(self.exercise().id.clone()),
            exercises: exercises.collect(),
        }
    }
}
