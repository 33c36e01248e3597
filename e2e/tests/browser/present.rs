//! The presenter's view in a real browser.

use testkit::http::Http;
use thirtyfour::Key;
use thirtyfour::error::WebDriverResult;

use crate::lesson_page::{Student, play};
use crate::user::Flow;

/// Signs in as Ada by the first lesson, and opens the presenter's view from there.
async fn presents(student: &Student<'_>) -> WebDriverResult<()> {
    student.begins("first-sign-in").await?;
    student.opens_the_demo_of(1).await?;
    student.user.starts(Flow::Clean, "google").await?;
    student.user.chooses("ada").await?;
    student.user.is_signed_in_as("Ada Lovelace").await?;
    student.returns().await?;
    student.completes(3).await?;
    student.clicks("a[href^='/present/']").await?;
    student.sees("nav", "Arrow 1 of").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_presented_arrow_by_arrow_by_the_keyboard() {
    play(async |_stack, student| {
        presents(student).await?;
        student.sees(".large", "presses the sign-in button").await?;
        assert_eq!(student.count(".stage .step").await?, 1);
        student.presses_key(Key::Right).await?;
        student.sees("nav", "Arrow 2 of").await?;
        student.sees(".large", "registers a login").await?;
        assert_eq!(student.count(".stage .step").await?, 2);
        student
            .sees(".sentence", "Stored: A login is pending.")
            .await?;
        student.presses_key(Key::Right).await?;
        student
            .sees(".large", "returns the address for the browser")
            .await?;
        student.takes_picture("present-3").await?;
        student.presses_key(Key::Left).await?;
        student.sees("nav", "Arrow 2 of").await?;
        student.presses_key(Key::Left).await?;
        student.presses_key(Key::Left).await?;
        student.sees("nav", "Arrow 1 of").await?;
        let mut arrows = 1;
        while student.count("#after").await? == 1 {
            student.presses_key(Key::Right).await?;
            arrows += 1;
            student.sees("nav", &format!("Arrow {arrows} of")).await?;
            student.finds(".large:not(:empty)").await?;
        }
        student.sees(".large", "the only time").await?;
        student.takes_picture("present-last").await?;
        student.presses_key(Key::Escape).await?;
        student
            .sees("#sequence-title", "Clean callback with Google")
            .await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_the_links_lead_from_arrow_to_arrow() {
    play(async |_stack, student| {
        presents(student).await?;
        student.user.disables_scripts().await?;
        student.clicks("#after").await?;
        student.sees("nav", "Arrow 2 of").await?;
        student.clicks("#before").await?;
        student.sees("nav", "Arrow 1 of").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_arrow_that_is_not_there_and_a_login_that_is_gone_are_explained() {
    play(async |stack, student| {
        presents(student).await?;
        let here = student.user.address().await?;
        let page = here.split(['?', '#']).next().unwrap().to_owned();
        student.user.opens(&format!("{page}?arrow=99")).await?;
        student.sees(".problem", "no such arrow").await?;
        student.sees(".large", "the only time").await?;
        student.user.opens(&format!("{page}?arrow=none")).await?;
        student.sees("nav", "Arrow 1 of").await?;
        let control = Http::at(&stack.urls().control);
        assert_eq!(control.post("/api/reset").send().await.status, 204);
        student.user.opens(&page).await?;
        student.sees("h1", "This login is unknown").await?;
        student.sees(".problem", "removed by a reset").await?;
        student.clicks("#leave").await?;
        student.sees("#sequence-title", "No login yet").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_presentation_fits_every_screen() {
    play(async |_stack, student| {
        presents(student).await?;
        for width in [320, 390, 1280, 1920] {
            student.has_screen(width).await?;
            let picture = format!("present-{width}");
            student.user.sees_no_sideways_scroll(&picture).await?;
        }
        student.user.prefers_dark_colours().await?;
        student.takes_picture("present-dark").await
    })
    .await;
}
