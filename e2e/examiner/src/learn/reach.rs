//! The app's first answers: whether it may be examined, and its start page.

use crate::browser::{Browser, Page, is_loopback};
use crate::control::origin;
use crate::world::World;

/// Another machine must say that it may be examined.
pub(super) async fn permitted(world: &World, browser: &mut Browser) -> Result<(), String> {
    if is_loopback(&world.start) {
        return Ok(());
    }
    let permission = world
        .at("/.well-known/examine-permission")
        .map_err(|stop| stop.actual)?;
    match browser.open(&permission).await {
        Ok(page) if page.status == 200 => Ok(()),
        _ => Err(format!(
            "{} does not allow an examination: it has to answer GET {} with status 200",
            origin(&world.start),
            permission.path()
        )),
    }
}

/// The start page, if there is an app at all.
pub(super) async fn start_page(world: &World, browser: &mut Browser) -> Result<Page, String> {
    let start = &world.start;
    let page = browser.open(start).await.map_err(|_| {
        format!("no app answers at {start}: start it, or give its command after -- and the examiner starts it")
    })?;
    if page.status >= 400 {
        return Err(format!(
            "{start} answers with status {}: give the page on which a visitor chooses to sign in, and mend the app if this is it",
            page.status
        ));
    }
    if !world.is_app(&page.url) {
        return Err(format!(
            "{start} leads to {}: give the app's own address as the start page",
            origin(&page.url)
        ));
    }
    Ok(page)
}
