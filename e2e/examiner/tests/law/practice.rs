//! The law of the exercises: the check of a mend that looks right still fails, and says why; the inherited app has an F; and a learner gets through the course. That each app fails its checks as it comes is the
//! law of its fault, and that its solution passes all that of the good consumer.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::control::Control;
use agent::program::{EndsBy, Program};
use agent::time::{Stopwatch, pause};
use examiner::plan::{ChromiumSettings, ExaminationPlan};
use examiner::practice::{Exercise, Language};
use stack::practice::{Practice, PracticeStatus};
use stack::{Stack, StackSettings};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::consumer::{Consumer, Copy, programs, top};
use crate::{PERMITS, chromium_for, examine, plan, red, setting};

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

/// The wrong mend in a line, if its checks pass: it would be right then.
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

/// A course in a folder of its own: the program, with its output.
struct Course {
    program: Program,
    folder: TempDir,
}

impl Course {
    fn start(control: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let mut command = Command::new(programs().join("signin-kit"));
        let python = top().join("target/consumers/python/bin");
        let path = format!(
            "{}:{}",
            python.display(),
            setting("PATH").unwrap_or_default()
        );
        command.args(["practice", "--in", "python", "--control", control]);
        command.env("PATH", path).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let program = Program::start(command, EndsBy::EndOfInput);
        Self {
            program: program.expect("the program starts"),
            folder,
        }
    }

    fn file(&self, file: &str) -> PathBuf {
        self.folder.path().join("practice").join(file)
    }

    /// Waits until the program has said this.
    async fn says(&self, text: &str) {
        let watch = Stopwatch::start();
        loop {
            let said = self.program.output.text();
            if said.contains(text) {
                return;
            }
            assert!(
                watch.elapsed() < Duration::from_secs(120),
                "{text} in {said}"
            );
            pause(Duration::from_millis(20)).await;
        }
    }

    fn key(&mut self, key: &str) {
        self.program.order(key).expect("it reads its keys");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_learner_sees_the_fault_mends_it_and_answers_and_the_stack_shows_it() {
    let stack = Stack::start(StackSettings::for_tests())
        .await
        .expect("a stack starts");
    let control = Control::at(&stack.urls().control).expect("an address");
    let page = async |path: &str| {
        let shown = control.get::<Practice>("/api/practice").await;
        let url = format!("{}{path}", stack.urls().control);
        let page = reqwest::get(url).await.expect("a page").text().await;
        (shown.expect("the exercises"), page.expect("a text"))
    };
    let mut course = Course::start(&stack.urls().control);
    course.says("This is what happens.").await;
    course
        .says("practice/no-name (the call, beside a good one)")
        .await;
    // A hint, a file that is gone, one that does not run, a mend that is none.
    course.key("h");
    course.says("hint 1 of 3").await;
    let (app, good) = (
        course.file("01-no-name/broker.py"),
        "e2e/consumers/python/broker.py",
    );
    let good = fs::read_to_string(top().join(good)).expect("the consumer's file");
    fs::rename(&app, course.file("01-no-name/other.py")).expect("a rename");
    course
        .says("broker.py is not in practice/01-no-name/")
        .await;
    fs::write(&app, format!("def (\n{good}")).expect("a save");
    course.says("SyntaxError").await;
    fs::write(
        &app,
        good.replace(
            "require(isinstance(profile.get(\"emailVerified\"), bool))",
            "require(profile[\"name\"] or profile[\"username\"])",
        ),
    )
    .expect("a save");
    course.says("It still happens.").await;
    let (shown, html) = page("/practice/no-name").await;
    assert_eq!(shown.exercises[0].status, PracticeStatus::Tried);
    assert!(
        html.contains("It still happens.") && html.contains("diagram.svg"),
        "{html}"
    );
    fs::write(&app, &good).expect("a save");
    course.says("One question:").await;
    course.key("1");
    course.says("answer again").await;
    course.key("3");
    course.says("The subject stays with the account.").await;
    course.key("2");
    course.says("Cancel throws you out").await;
    course.key("s");
    course.says("--- app.py").await;
    course.key("q");
    course.says("the same command goes on").await;
    let (shown, html) = page("/practice").await;
    let status = shown.exercises.iter().map(|it| it.status);
    let status: Vec<_> = status.take(3).collect();
    assert_eq!(
        status,
        [
            PracticeStatus::Solved,
            PracticeStatus::Seen,
            PracticeStatus::Open
        ]
    );
    assert!(html.contains("1 of 13 solved"), "{html}");
    let kept = fs::read_to_string(course.file("progress.json")).expect("the progress");
    assert!(
        kept.contains("\"solved\"") && kept.contains("\"hints\": 1"),
        "{kept}"
    );
    stack.stop().await;
}
