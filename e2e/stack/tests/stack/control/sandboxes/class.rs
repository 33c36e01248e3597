//! A class: a sandbox for each learner, and the wall of everybody's ticks.

use reqwest::Method;
use serde_json::{Value, json};
use stack::StackSettings;
use testkit::browser::{Browser, UNSERVED};
use testkit::http::{Http, Response};

use crate::control::{get, post, refuses};
use crate::test_stack::TestStack;

async fn start_class(stack: &TestStack, learners: u32) -> Response {
    post(stack, "/api/classes", json!({ "learners": learners })).await
}

async fn class(stack: &TestStack) -> Value {
    get(stack, "/api/classes").await.json()
}

#[tokio::test]
async fn each_learner_has_lessons_and_a_demo_and_the_wall_has_their_ticks() {
    let stack = TestStack::start().await;
    let started = start_class(&stack, 2).await;
    assert_eq!(started.status, 201, "{}", started.text());
    assert_eq!(started.json(), class(&stack).await);
    let wall = get(&stack, "/class").await;
    for learner in started.json().as_array().expect("a list") {
        let address = learner["address"].as_str().expect("a URL");
        assert!(wall.text().contains(&format!("href=\"{address}\"")));
        assert_eq!(Http::new().get(address).send().await.status, 200);
    }

    // The second learner goes through the first lesson.
    let sandbox = get(&stack, "/api/sandboxes/s2").await.json();
    let [control, demo] = ["control", "consumer"].map(|it| sandbox[it].as_str().expect("a URL"));
    let opened = Http::at(control).get("/lessons/first-sign-in").send().await;
    let lesson = opened.header("location").expect("its page");
    let google = Http::at(control).request(Method::PUT, "/api/upstreams/google");
    google.json(&json!({ "mode": "automatic" })).send().await;
    let (home, start) = (format!("{demo}/"), format!("{demo}/login/google"));
    Browser::new().press_until(&home, &start, UNSERVED).await;
    let ticks = async |path: &str, learner: usize| {
        Http::at(control).get(path).send().await;
        class(&stack).await[learner]["lessons"][0].clone()
    };
    // The last step is a question, which an answer in the address settles.
    let two = json!({ "done": 2, "of": 3 });
    assert_eq!(ticks(lesson, 1).await, two);
    assert_eq!(ticks(lesson, 0).await["done"], 0);
    // Neither a reset nor a lesson that begins again takes it away.
    Http::at(control).post("/api/reset").send().await;
    assert_eq!(ticks(lesson, 1).await, two);
    // The exercises come from the program that judges them.
    let exercises = json!([{ "id": "cancel", "title": "", "group": "", "goal": "", "harm": "", "lesson": "", "status": "solved", "tries": 1, "seconds": 1, "hints": [] }]);
    let practice = json!({ "language": "python", "folder": "practice", "exercises": exercises });
    let kept = Http::at(control).post("/api/practice").json(&practice);
    assert_eq!(kept.send().await.status, 204);
    let solved = class(&stack).await[1]["exercises"].clone();
    assert_eq!(solved, json!({ "done": 1, "of": 1 }));
    let wall = get(&stack, "/class").await;
    assert!(wall.text().contains("2<span aria-hidden=\"true\">/"));

    // A third learner comes late; then the class ends, and another counts from 1.
    assert_eq!(start_class(&stack, 1).await.json()[2]["learner"], 3);
    let ended = stack.control(Method::DELETE, "/api/classes", None).await;
    assert_eq!(ended.status, 204);
    get(&stack, "/api/sandboxes").await.is(200, "[]");
    assert_eq!(start_class(&stack, 1).await.json()[0]["learner"], 1);
}

#[tokio::test]
async fn a_class_without_room_says_how_many_have_a_sandbox_and_keeps_them() {
    let settings = StackSettings {
        max_sandboxes: 3,
        ..StackSettings::for_tests()
    };
    let stack = TestStack::start_with(settings).await;
    post(&stack, "/api/sandboxes", json!({})).await;
    refuses(&start_class(&stack, 4).await, 400, "1 to 3");
    let words = "2 of 3 learners have a sandbox now: 3 sandboxes run";
    refuses(&start_class(&stack, 3).await, 429, words);
    assert_eq!(class(&stack).await.as_array().map(Vec::len), Some(2));
}
