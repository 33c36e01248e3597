//! A browser without scripts and without a screen: cookies with the rules of `SameSite`,
//! redirects one by one, `Referer` and `Sec-Fetch-*`, links and forms. It keeps everything
//! that it saw, so that secrets can be searched for.
//!
//! A program sends its requests by a [`Transport`] of its own, which counts, records and
//! limits them.

mod cookies;
mod document;
mod form;
mod page;
mod site;
mod visit;

use std::future::Future;

use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use url::Url;

use crate::http::{self, HttpError};
use document::MAX_PAGE_BYTES;

pub use cookies::{Cookie, CookieJar, SameSite};
pub use form::{Button, Clickable, Form, Link};
pub use page::Page;
pub use visit::Visit;

/// The length of a chain of redirects that browsers follow.
const MAX_REDIRECTS: usize = 20;

/// A browser with a profile of its own.
#[derive(Debug, Clone)]
pub struct Browser<T> {
    /// Its cookies.
    pub jar: CookieJar,
    /// Everything that the browser received, oldest first.
    pub seen: Vec<Page>,
    /// Every address that it asked for.
    pub asked: Vec<Url>,
    /// The transport of its requests.
    pub transport: T,
}

/// Sends the requests of a browser, and limits where it may go.
pub trait Transport {
    /// The reason for which a navigation ends early.
    type Error;

    /// Sends one request with these headers and [`Visit::body`], and follows no redirect.
    fn send(
        &self,
        visit: &Visit,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<Page, Self::Error>> + Send;

    /// The error of a navigation that the browser ends by itself.
    fn stop(&self, reason: NavigationError) -> Self::Error;

    /// Whether the browser may ask for this address.
    fn may_ask(&self, url: &Url) -> bool {
        let _ = url;
        true
    }

    /// Whether a script goes to this address rather than to others in its JSON answer.
    fn is_preferred(&self, url: &Url) -> bool {
        let _ = url;
        false
    }
}

/// The reason for which a browser ends a navigation by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NavigationError {
    /// It may not ask for the address with which the navigation begins.
    #[error("the browser may not ask for {0}")]
    Forbidden(Url),
    /// The chain of redirects is too long; at last it led here.
    #[error("the redirects have no end, at last to {0}")]
    EndlessRedirects(Url),
}

/// The end of a navigation.
#[derive(Debug)]
pub enum Arrival {
    /// A page was shown.
    Page(Page),
    /// The address at which the navigation was to stop; it was not asked for.
    Stopped(Visit),
}

/// Sends a browser's request, and reads no more than a page may have.
///
/// # Errors
///
/// If there is no response, or its body ends early.
pub async fn read(request: RequestBuilder) -> Result<Page, HttpError> {
    // One more byte shows that a page is too long.
    let response = http::send(request, MAX_PAGE_BYTES + 1).await?;
    Ok(Page {
        body: response.text(),
        url: response.url,
        status: response.status,
        headers: response.headers,
    })
}

impl<T: Transport> Browser<T> {
    /// A browser with a fresh profile.
    pub fn new(transport: T) -> Self {
        Self {
            jar: CookieJar::default(),
            seen: Vec::new(),
            asked: Vec::new(),
            transport,
        }
    }

    /// Makes one request and follows no redirect.
    ///
    /// # Errors
    ///
    /// If the transport fails.
    pub async fn send(&mut self, visit: &Visit) -> Result<Page, T::Error> {
        self.asked.push(visit.url.clone());
        let headers = visit.headers(&self.jar);
        let page = self.transport.send(visit, headers).await?;
        self.jar.receive(&page.headers, &page.url);
        self.seen.push(page.clone());
        Ok(page)
    }

    /// Navigates and follows redirects to the page at the end.
    ///
    /// # Errors
    ///
    /// If the navigation has no end, or the transport fails.
    pub async fn visit(&mut self, visit: Visit) -> Result<Page, T::Error> {
        match self.visit_until(visit, |_| false).await? {
            Arrival::Page(page) => Ok(page),
            Arrival::Stopped(_) => unreachable!("no address is the end"),
        }
    }

    /// Opens a typed address.
    ///
    /// # Errors
    ///
    /// If the navigation has no end, or the transport fails.
    pub async fn open(&mut self, url: &Url) -> Result<Page, T::Error> {
        self.visit(Visit::typed(url)).await
    }

    /// Navigates and follows redirects, up to an address for which `is_end` holds. The
    /// first address is asked for in any case. A redirect to an address that the browser
    /// may not ask for ends the navigation at the page that has it, and so does a page that
    /// looks again by itself, at an address of this navigation.
    ///
    /// # Errors
    ///
    /// If the first address may not be asked for, the redirects have no end, or the
    /// transport fails.
    pub async fn visit_until(
        &mut self,
        mut visit: Visit,
        is_end: impl Fn(&Url) -> bool,
    ) -> Result<Arrival, T::Error> {
        if !self.transport.may_ask(&visit.url) {
            let reason = NavigationError::Forbidden(visit.url);
            return Err(self.transport.stop(reason));
        }
        let begin = self.asked.len();
        for _ in 0..MAX_REDIRECTS {
            let page = self.send(&visit).await?;
            let Some(next) = visit.after(&page, |url| self.transport.is_preferred(url)) else {
                return Ok(Arrival::Page(page));
            };
            if is_end(&next.url) {
                return Ok(Arrival::Stopped(next));
            }
            let looks_again = !page.is_redirect() && self.asked[begin..].contains(&next.url);
            if looks_again || !self.transport.may_ask(&next.url) {
                return Ok(Arrival::Page(page));
            }
            visit = next;
        }
        let reason = NavigationError::EndlessRedirects(visit.url);
        Err(self.transport.stop(reason))
    }
}
