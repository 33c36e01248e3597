//! An HTTP client that keeps cookies, follows redirects, and stops at the door of
//! the callback.

use cookie_store::CookieStore;
use url::Url;

use super::is_home;
use crate::mask;
use crate::run::{Run, Stop};

/// No honest chain is longer.
const MOST_HOPS: usize = 20;

/// Follows redirects from `start` until they lead home, and says where exactly.
/// A chain that ends at the broker has ended all the same; one that ends anywhere
/// else waits for a person.
pub(super) async fn go(run: &mut Run<'_>, start: &str) -> Result<Option<String>, Stop> {
    let plan = run.plan;
    let (callback, base_url) = (&plan.project.callback, &plan.base_url);
    let mut cookies = CookieStore::default();
    let mut here = start.to_owned();
    for _ in 0..MOST_HOPS {
        if is_home(&here, callback, base_url) {
            return Ok(Some(here));
        }
        let url = Url::parse(&here).map_err(|_| {
            Stop::Blocked("the browser was sent to something that is no URL".into())
        })?;
        let answer = run.http.visit(&here, &header(&cookies, &url)).await;
        let answer = answer
            .map_err(|why| Stop::Harness(format!("the browser at {}: {why}", place(&url))))?;
        for cookie in &answer.cookies {
            // One that is not for this site is dropped, as browsers do.
            let _ = cookies.parse(cookie, &url);
        }
        match answer.location {
            Some(location) if (300..400).contains(&answer.status) => {
                here = resolve(&url, &location)?;
            }
            _ if here.starts_with(base_url.as_str()) => return Ok(Some(here)),
            _ => return Err(Stop::Harness(wants_a_person(&url, answer.status))),
        }
    }
    Err(Stop::Blocked(format!(
        "the browser was redirected {MOST_HOPS} times and did not come home"
    )))
}

fn header(cookies: &CookieStore, url: &Url) -> String {
    let pairs = cookies.get_request_values(url);
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("; ")
}

/// Where `location` leads from `here`: as it was written, if it is absolute. A
/// fragment is inherited where the redirect names none, as browsers do.
fn resolve(here: &Url, location: &str) -> Result<String, Stop> {
    let next = here
        .join(location)
        .map_err(|_| Stop::Blocked("the browser was sent to something that is no URL".into()))?;
    let written = match Url::parse(location) {
        Ok(_) => location.to_owned(),
        Err(_) => next.to_string(),
    };
    Ok(match (here.fragment(), next.fragment()) {
        (Some(inherited), None) if !inherited.is_empty() => format!("{written}#{inherited}"),
        _ => written,
    })
}

fn wants_a_person(url: &Url, status: u16) -> String {
    format!(
        "the browser was left at {}, which answered {status}: for a page that wants a person \
         use --browser person or --browser webdriver",
        place(url)
    )
}

/// An address without its query, which is not for a message.
fn place(url: &Url) -> String {
    let mut place = url.clone();
    place.set_query(None);
    mask::url(place.as_str())
}
