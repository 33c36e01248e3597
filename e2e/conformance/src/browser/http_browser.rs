//! An HTTP client that keeps cookies, follows redirects, and stops before the
//! callback.

use cookie_store::CookieStore;
use reqwest::Method;
use url::Url;

use super::navigation::Navigation;
use crate::address;
use crate::error::Stop;
use crate::http::{Http, RawResponse};
use crate::mask;

/// The number of redirects after which a chain is taken for endless.
const MAX_REDIRECTS: usize = 20;

/// A browser made of an HTTP client, with its own cookies.
#[derive(Debug, Default)]
pub(crate) struct HttpBrowser {
    cookies: CookieStore,
    /// Each Set-Cookie, with the address that sent it.
    set_cookies: Vec<(String, String)>,
}

/// The end of a chain of redirects.
#[derive(Debug)]
pub(crate) struct End {
    /// The last address, byte for byte.
    pub(crate) url: String,
    /// The response there; none if the browser stopped before the address.
    pub(crate) response: Option<RawResponse>,
}

/// Follows redirects until they lead to the consumer, and returns the last address. A
/// chain that ends at the broker has ended all the same; one that ends anywhere else
/// needs a user.
pub(super) async fn navigate(http: &mut Http, navigation: Navigation<'_>) -> Result<String, Stop> {
    let mut browser = HttpBrowser::default();
    let is_at_consumer = |url: &str| navigation.is_at_consumer(url);
    let end = browser.follow(http, navigation.url, is_at_consumer).await?;
    match end.response {
        Some(response) if !end.url.starts_with(navigation.base_url) => {
            Err(Stop::Harness(needs_user(&end.url, response.status)))
        }
        _ => Ok(end.url),
    }
}

impl HttpBrowser {
    /// Follows redirects from `start`, and stops before an address that `is_end`.
    pub(crate) async fn follow(
        &mut self,
        http: &mut Http,
        start: &str,
        mut is_end: impl FnMut(&str) -> bool,
    ) -> Result<End, Stop> {
        let mut url = start.to_owned();
        for _ in 0..MAX_REDIRECTS {
            if is_end(&url) {
                return Ok(End {
                    url,
                    response: None,
                });
            }
            let response = self.open(http, Method::GET, &url).await?;
            match &response.location {
                Some(location) if (300..400).contains(&response.status) => {
                    url = resolve(&parse(&url)?, location)?;
                }
                _ => {
                    let response = Some(response);
                    return Ok(End { url, response });
                }
            }
        }
        Err(Stop::Blocked(format!(
            "the browser was redirected {MAX_REDIRECTS} times and did not come back"
        )))
    }

    /// Opens one address and keeps its cookies.
    pub(crate) async fn open(
        &mut self,
        http: &mut Http,
        method: Method,
        url: &str,
    ) -> Result<RawResponse, Stop> {
        let here = parse(url)?;
        let cookies = self.cookie_header(&here);
        let response = http.navigate(method, url, &cookies).await;
        let response = response.map_err(|error| {
            let at = without_query(&here);
            Stop::Harness(format!("the browser at {at}: {error}"))
        })?;
        for cookie in &response.cookies {
            // A cookie that is not for this site is dropped, as browsers do.
            let _ = self.cookies.parse(cookie, &here);
            self.set_cookies.push((url.to_owned(), cookie.clone()));
        }
        Ok(response)
    }

    /// The values of Set-Cookie that came from the origin of `server`.
    pub(crate) fn cookies_set_by(&self, server: &str) -> impl Iterator<Item = &String> {
        let is_its = move |url: &str| address::is_same_origin(url, server);
        self.set_cookies
            .iter()
            .filter_map(move |(url, cookie)| is_its(url).then_some(cookie))
    }

    fn cookie_header(&self, url: &Url) -> String {
        let pairs = self.cookies.get_request_values(url);
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }
}

fn parse(url: &str) -> Result<Url, Stop> {
    Url::parse(url).map_err(|_| no_url())
}

/// The target of a redirect: as it was written, if it is absolute. A fragment is
/// inherited where the redirect has none, as browsers do.
fn resolve(here: &Url, location: &str) -> Result<String, Stop> {
    let next = here.join(location).map_err(|_| no_url())?;
    let written = match Url::parse(location) {
        Ok(_) => location.to_owned(),
        Err(_) => next.to_string(),
    };
    Ok(match (here.fragment(), next.fragment()) {
        (Some(inherited), None) if !inherited.is_empty() => format!("{written}#{inherited}"),
        _ => written,
    })
}

fn no_url() -> Stop {
    Stop::Blocked("the browser was redirected to something that is no URL".into())
}

fn needs_user(url: &str, status: u16) -> String {
    let page = url.split('?').next().unwrap_or_default();
    format!(
        "the browser was left at {}, which answered {status}: for a page that needs a user \
         use --browser person or --browser webdriver",
        mask::url(page)
    )
}

/// An address for an error message, which must not contain the query.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    mask::url(url.as_str())
}
