//! The law of the exercises: each mend that looks right is told why it is not, by the check that
//! still fails; and the inherited app has an F. That each app fails its checks as it comes is the
//! law of its fault, and that its solution passes all that of the good consumer.

use examiner::plan::{ChromiumSettings, ExaminationPlan};
use examiner::practice::{Exercise, Language};
use tokio::task::JoinSet;

use crate::consumer::{Consumer, Copy};
use crate::{PERMITS, chromium_for, examine, plan, red};

/// The least number of mends that look right, in each language of an exercise.
const WRONG_MENDS: usize = 2;

/// The plan of judging the app of an exercise, as the course does.
fn plan_of(exercise: &Exercise, language: Language, copy: &Copy) -> ExaminationPlan {
    let chromium = exercise.faults(language).into_iter().map(chromium_for);
    let mut shown = chromium.filter(|it| *it == ChromiumSettings::Hidden);
    let mut plan = plan(copy, shown.next().unwrap_or(ChromiumSettings::Off));
    plan.only = exercise.checks(language);
    plan.flow = exercise.flow(language);
    plan
}

/// What is wrong with a wrong mend: it passes, or anything else than its checks fails.
async fn difference(exercise: &'static Exercise, place: usize) -> Option<String> {
    let wrong = &exercise.wrong[place];
    let edits = [&exercise.edits(wrong.language)[..], &wrong.edit].concat();
    let consumer = Consumer::named(wrong.language.consumer());
    let copy = Copy::with_edits(consumer, &exercise.id, &edits);
    let permit = PERMITS.acquire().await;
    let report = examine(&copy, plan_of(exercise, wrong.language, &copy)).await;
    drop(permit);
    red(&report)
        .is_empty()
        .then(|| format!("{} in {}: {}", exercise.id, wrong.language, wrong.says))
}

async fn each_wrong_mend_still_fails(language: Language) {
    let mut running = JoinSet::new();
    for exercise in &Exercise::all()[..12] {
        let wrong = exercise.wrong.iter().enumerate();
        let places: Vec<_> = wrong.filter(|(_, it)| it.language == language).collect();
        assert!(places.len() >= WRONG_MENDS, "{} in {language}", exercise.id);
        for (place, _) in places {
            running.spawn(difference(exercise, place));
        }
    }
    let passed: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    assert!(passed.is_empty(), "they pass:\n{}", passed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_mend_in_python_still_fails() {
    each_wrong_mend_still_fails(Language::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_mend_in_javascript_still_fails() {
    each_wrong_mend_still_fails(Language::Javascript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inherited_app_has_an_f_and_every_one_of_its_faults_shows() {
    let exercise = Exercise::all().last().expect("there are exercises");
    for language in Language::ALL {
        let consumer = Consumer::named(language.consumer());
        let copy = Copy::with_edits(consumer, &exercise.id, &exercise.edits(language));
        let report = examine(&copy, plan_of(exercise, language, &copy)).await;
        assert_eq!(report.title(), "Grade F", "{language}");
        let failed: Vec<_> = red(&report).into_iter().map(|(id, _)| id).collect();
        for fault in exercise.faults(language) {
            let shows = fault.fails.iter().any(|id| failed.contains(id));
            assert!(shows, "{} in {language}: {failed:?}", fault.id);
        }
    }
}
