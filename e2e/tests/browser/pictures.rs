//! The pictures of the README. Each run takes them, and `just pictures` publishes them in
//! `docs/pictures`: there the stack is at its usual addresses, as in the README.

use std::path::{Path, PathBuf};

use serde_json::json;
use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackClock, StackSettings};
use thirtyfour::WebDriver;
use thirtyfour::error::WebDriverResult;

use crate::chromium;
use crate::inspector_page::InspectorPage;
use crate::user::{Flow, User, picture_path};

/// The limit for a picture in the repository.
const MAX_BYTES: u64 = 150_000;

/// The time in the pictures: they look alike each time.
const NOW_MS: i64 = 1_790_000_000_000;

const READS: &str = "Consumer to Broker: POST /v1/login/result";

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_has_pictures_of_a_profile_a_login_and_a_lost_answer() {
    let stack = Stack::start(settings()).await.unwrap();
    let (users, inspectors) = (open().await, open().await);
    let outcome = async {
        let user = User::at(&users, &stack);
        let inspector = InspectorPage::at(&inspectors, &stack.urls().control).await?;
        shows_profile(&users, &user).await?;
        shows_login(&inspectors, &inspector).await?;
        stack.reset().await.unwrap();
        let read = "POST /v1/login/result".parse().unwrap();
        stack
            .faults()
            .arm(FaultInjection::next(read, Fault::LoseResponse));
        shows_lost_answer(&inspectors, &inspector, &user).await
    };
    chromium::close_after(&inspectors, outcome).await;
    let _ = users.quit().await;
}

async fn open() -> WebDriver {
    chromium::open_with(&["--hide-scrollbars"]).await
}

/// Sets the size of the window, in CSS pixels; a picture of it is smaller by a fifth.
async fn has_window(browser: &WebDriver, width: u32, height: u32) -> WebDriverResult<()> {
    let metrics = json!({
        "width": width, "height": height, "deviceScaleFactor": 0.8, "mobile": false,
    });
    let set = "Emulation.setDeviceMetricsOverride";
    browser.cdp().send_raw(set, metrics).await.map(drop)
}

async fn shows_profile(browser: &WebDriver, user: &User<'_>) -> WebDriverResult<()> {
    has_window(browser, 1000, 680).await?;
    signs_in(user).await?;
    user.is_signed_in_as("Ada Lovelace").await?;
    takes(browser, "profile").await
}

async fn shows_login(browser: &WebDriver, inspector: &InspectorPage<'_>) -> WebDriverResult<()> {
    has_window(browser, 1240, 860).await?;
    inspector.sees_arrow(READS, "plain").await?;
    inspector.clicks_arrow(READS).await?;
    inspector.sees("#exchange", "[masked").await?;
    takes(browser, "inspector").await
}

async fn shows_lost_answer(
    browser: &WebDriver,
    inspector: &InspectorPage<'_>,
    user: &User<'_>,
) -> WebDriverResult<()> {
    inspector.opens("/").await?;
    has_window(browser, 1160, 1240).await?;
    signs_in(user).await?;
    let stored = "The broker had already stored: The outcome was read";
    inspector.sees("#sequence .text", stored).await?;
    inspector.sees_no("#exchange").await?;
    let scroll = "document.querySelector('#sequence').scrollIntoView(true);";
    browser.execute(scroll, Vec::new()).await?;
    takes(browser, "lost-answer").await
}

async fn signs_in(user: &User<'_>) -> WebDriverResult<()> {
    user.opens_the_demo().await?;
    user.starts(Flow::Clean, "google").await?;
    user.chooses("ada").await
}

/// Takes a picture, and publishes it if that is asked for.
async fn takes(browser: &WebDriver, name: &str) -> WebDriverResult<()> {
    let taken = picture_path(&format!("readme-{name}"));
    browser.screenshot(&taken).await?;
    let bytes = std::fs::metadata(&taken).unwrap().len();
    assert!(bytes < MAX_BYTES, "{name}: {bytes} bytes");
    if let Some(folder) = published() {
        std::fs::copy(&taken, folder.join(format!("{name}.png"))).unwrap();
    }
    Ok(())
}

/// A stack with users who choose, and a clock that stands still.
fn settings() -> StackSettings {
    let settings = StackSettings {
        automatic: false,
        clock: StackClock::frozen_at(NOW_MS),
        ..StackSettings::for_tests()
    };
    if published().is_none() {
        return settings;
    }
    StackSettings {
        consumer: "localhost:3000".parse().unwrap(),
        broker: "127.0.0.1:8000".parse().unwrap(),
        control: "127.0.0.1:8010".parse().unwrap(),
        google: "127.0.0.1:8020".parse().unwrap(),
        github: "127.0.0.1:8030".parse().unwrap(),
        ..settings
    }
}

/// The folder of the published pictures, if they are to be published.
#[expect(
    clippy::disallowed_methods,
    reason = "the command that publishes says so in the environment"
)]
fn published() -> Option<PathBuf> {
    std::env::var_os("PUBLISH_PICTURES")?;
    Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures"))
}
