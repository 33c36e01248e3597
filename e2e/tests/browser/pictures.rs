//! The pictures of the README. Each run takes them, and `just pictures` publishes them in
//! `docs/pictures`: there the stack is at its usual addresses, as in the README.

use std::path::{Path, PathBuf};

use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackClock, StackSettings};
use thirtyfour::error::WebDriverResult;

use crate::inspector::READS;
use crate::user::{Flow, User, picture_path};
use crate::{close_after, interactive, open_with};

/// The limit for a picture in the repository.
const MAX_BYTES: u64 = 150_000;

/// The time in the pictures: they look alike each time.
const NOW_MS: i64 = 1_790_000_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_has_pictures_of_a_profile_a_login_and_a_lost_answer() {
    let stack = Stack::start(settings()).await.unwrap();
    let open = || open_with(&["--hide-scrollbars"]);
    let (users, inspectors) = (open().await, open().await);
    let outcome = async {
        let user = User::at(&users, &stack);
        let inspector = User::at(&inspectors, &stack);
        inspector.opens_the_inspector().await?;
        shows_profile(&user).await?;
        shows_login(&inspector).await?;
        stack.reset().await.unwrap();
        let read = "POST /v1/login/result".parse().unwrap();
        stack
            .faults()
            .arm(FaultInjection::next(read, Fault::LoseResponse));
        shows_lost_answer(&inspector, &user).await
    };
    close_after(&inspectors, outcome).await;
    let _ = users.quit().await;
}

async fn shows_profile(user: &User<'_>) -> WebDriverResult<()> {
    user.has_a_scaled_window((1000, 680), 0.8).await?;
    user.signs_in(Flow::Clean, "google").await?;
    takes(user, "profile").await
}

async fn shows_login(inspector: &User<'_>) -> WebDriverResult<()> {
    inspector.has_a_scaled_window((1240, 860), 0.8).await?;
    inspector.sees_arrow(READS, "plain").await?;
    inspector.clicks_arrow(READS).await?;
    inspector.sees("#exchange", "[masked").await?;
    takes(inspector, "inspector").await
}

/// Leaves of the page the last six arrows of the diagram, under the heads of its lifelines;
/// returns how high they are in a window of 820 pixels.
const LAST_ARROWS: &str = include_str!("scripts/last_arrows.js");

async fn shows_lost_answer(inspector: &User<'_>, user: &User<'_>) -> WebDriverResult<()> {
    inspector.opens_control("/").await?;
    inspector.has_a_scaled_window((1160, 1240), 0.8).await?;
    user.goes_to(Flow::Clean, "google").await?;
    user.chooses("ada").await?;
    let lost = "The broker answers and its commit stands";
    inspector.sees("#verdict .faulted", lost).await?;
    inspector.sees_no("#exchange").await?;
    let height = inspector.runs(LAST_ARROWS).await?.as_u64().unwrap();
    inspector.has_a_scaled_window((820, height), 1.75).await?;
    takes(inspector, "lost-answer").await
}

/// Takes a picture, and publishes it if that is asked for.
async fn takes(user: &User<'_>, name: &str) -> WebDriverResult<()> {
    let name_of_all = format!("readme-{name}");
    user.takes_picture(&name_of_all).await?;
    let taken = picture_path(&name_of_all);
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
        clock: StackClock::frozen_at(NOW_MS),
        ..interactive()
    };
    if published().is_none() {
        return settings;
    }
    StackSettings {
        consumer: "localhost:3000".parse().unwrap(),
        broker: "127.0.0.1:8000".parse().unwrap(),
        control: Some("127.0.0.1:8010".parse().unwrap()),
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
