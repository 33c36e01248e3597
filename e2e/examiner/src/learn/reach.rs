//! The app's first answers: whether it may be examined, and its start page.

use url::Url;

use crate::browser::{Browser, Page, Visit, is_loopback, origin};
use crate::random;
use crate::testbed::Testbed;

/// Another machine must say that it may be examined.
pub(super) async fn permitted(testbed: &Testbed, browser: &mut Browser) -> Result<(), String> {
    if is_loopback(&testbed.start) {
        return Ok(());
    }
    let permission = testbed
        .at("/.well-known/examine-permission")
        .map_err(|stop| stop.actual)?;
    if permits(browser, &permission).await {
        return Ok(());
    }
    Err(format!(
        "{} does not allow an examination: it has to answer GET {} with status 200 by itself, and an unknown path beside it with another status",
        origin(&testbed.start),
        permission.path()
    ))
}

/// Whether the host allows an examination at this very address. One that answers with 200
/// to everything has not been asked.
async fn permits(browser: &mut Browser, permission: &Url) -> bool {
    let status = async |browser: &mut Browser, url: &Url| {
        let page = browser.send(&Visit::typed(url)).await;
        page.map_or(0, |it| it.status)
    };
    let Ok(unknown) = permission.join(&format!("examine-{}", random::letters())) else {
        return false;
    };
    status(browser, permission).await == 200 && status(browser, &unknown).await != 200
}

/// The start page, if there is an app at all.
pub(super) async fn start_page(testbed: &Testbed, browser: &mut Browser) -> Result<Page, String> {
    let start = &testbed.start;
    let page = browser.open(start).await.map_err(|stop| {
        format!("no app answers at {start} ({}): start it, or give its command after -- and the examiner starts it", stop.actual)
    })?;
    if page.status >= 400 {
        return Err(format!(
            "{start} answers with status {}: give the page on which a visitor chooses to sign in, and mend the app if this is it",
            page.status
        ));
    }
    if !testbed.is_app(&page.url) {
        return Err(format!(
            "{start} leads to {}: give the app's own address as the start page",
            origin(&page.url)
        ));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::{answering, plain_browser};

    fn at(origin: &Url) -> Url {
        origin.join("/.well-known/examine-permission").unwrap()
    }

    #[tokio::test]
    async fn a_host_permits_an_examination_only_at_that_very_address() {
        let mut browser = plain_browser();
        let answer = |path: &str| match path {
            "/.well-known/examine-permission" => "200 OK".to_owned(),
            _ => "404 Not Found".to_owned(),
        };
        assert!(permits(&mut browser, &at(&answering(answer).await)).await);
        let catch_all = answering(|_: &str| "200 OK".to_owned()).await;
        assert!(!permits(&mut browser, &at(&catch_all)).await);
        let redirect = |path: &str| match path {
            "/.well-known/examine-permission" => "303 See Other\r\nLocation: /home".to_owned(),
            "/home" => "200 OK".to_owned(),
            _ => "404 Not Found".to_owned(),
        };
        assert!(!permits(&mut browser, &at(&answering(redirect).await)).await);
    }
}
