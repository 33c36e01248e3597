//! The examiner's own browser: cookies with the rules of `SameSite`, redirects, `Referer`
//! and `Sec-Fetch-*`, links and forms; no scripts. It keeps everything that it saw, so
//! that secrets can be searched for.

mod cookies;
mod json_answer;
mod page;
mod site;
#[cfg(test)]
pub(crate) mod tests;
mod visit;

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method};
use url::Url;

use crate::transcript::{MAX_REQUESTS, Transcript, path_and_query};
use crate::verdict::{Outcome, Stop};

pub(crate) use cookies::{Cookie, CookieJar, SameSite};
pub(crate) use page::{Control, Form, Page, encode};
pub(crate) use site::{Relation, is_loopback};
pub(crate) use visit::{Arrival, Visit};

use cookies::CookieRequest;
use page::MAX_PAGE_BYTES;

/// The length of a chain of redirects that browsers follow.
const MAX_REDIRECTS: usize = 20;

/// A browser with a profile of its own.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    /// The name in the evidence: `browser A`.
    pub(crate) name: String,
    pub(crate) jar: CookieJar,
    /// Everything that the browser received, oldest first.
    pub(crate) seen: Vec<Page>,
    /// Every address that it asked for.
    pub(crate) asked: Vec<Url>,
    client: Client,
    transcript: Transcript,
    /// Names of parties by their origins, for the evidence.
    parties: Parties,
}

/// The parties of a testbed, by origin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parties(pub(crate) Vec<(String, String)>);

impl Parties {
    /// The party at `url`: `app`, `broker`, `google`; else its origin.
    pub(crate) fn name_of(&self, url: &Url) -> String {
        let origin = url.origin().ascii_serialization();
        let known = self.0.iter().find(|(its, _)| *its == origin);
        known.map_or(origin, |(_, name)| name.clone())
    }

    fn has_host(&self, url: &Url) -> bool {
        let hosts = self
            .0
            .iter()
            .filter_map(|(origin, _)| Url::parse(origin).ok());
        hosts.into_iter().any(|its| its.host() == url.host())
    }
}

impl Browser {
    pub(crate) fn new(
        name: &str,
        client: Client,
        transcript: Transcript,
        parties: Parties,
    ) -> Self {
        Self {
            name: name.to_owned(),
            jar: CookieJar::default(),
            seen: Vec::new(),
            asked: Vec::new(),
            client,
            transcript,
            parties,
        }
    }

    /// Makes one request and follows no redirect.
    pub(crate) async fn send(&mut self, visit: &Visit) -> Outcome<Page> {
        if !self.transcript.may_send() {
            return Err(Stop::harness(format!(
                "a check sends at most {MAX_REQUESTS} requests"
            )));
        }
        let headers = self.headers(visit);
        let mut request = self
            .client
            .request(visit.method.clone(), visit.url.clone())
            .headers(headers);
        if let Some(fields) = &visit.fields {
            request = request
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(encode(fields));
        } else if let Some(json) = &visit.json {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(json.clone());
        }
        self.asked.push(visit.url.clone());
        let party = self.parties.name_of(&visit.url);
        let at = self.transcript.now();
        let asked = format!(
            "{} {}",
            visit.method,
            stack::mask::url(&path_and_query(&visit.url))
        );
        match read(request).await {
            Ok(page) => {
                let location = page.headers.get(LOCATION);
                let location = location.and_then(|it| it.to_str().ok());
                let to = location.map_or(String::new(), |to| self.describe_target(&page, to));
                let what = format!("{asked} \u{2192} {}{to}", page.status);
                self.transcript.add_at(at, &self.name, &party, what);
                match page.excess() {
                    Some(excess) => Err(Stop::not_testable(format!(
                        "the page {} {excess}, and the examiner reads no such page",
                        page.url.path()
                    ))),
                    None => self.receive(page),
                }
            }
            Err(error) => {
                let what = format!("{asked} \u{2192} {error}");
                self.transcript.add_at(at, &self.name, &party, what);
                Err(Stop::not_testable(format!(
                    "{party} did not answer {asked}: {error}"
                )))
            }
        }
    }

    /// The target of a redirect, with its party where that is another one.
    fn describe_target(&self, page: &Page, location: &str) -> String {
        match page.url.join(location) {
            Ok(url) if url.origin() != page.url.origin() => format!(
                " to {} {}",
                self.parties.name_of(&url),
                stack::mask::url(&path_and_query(&url))
            ),
            _ => format!(" to {}", stack::mask::url(location)),
        }
    }

    fn receive(&mut self, page: Page) -> Outcome<Page> {
        for line in page.headers.get_all("set-cookie") {
            let line = String::from_utf8_lossy(line.as_bytes());
            if let Some(cookie) = Cookie::parse(&line, &page.url) {
                self.jar.store(cookie);
            }
        }
        self.seen.push(page.clone());
        Ok(page)
    }

    /// Navigates and follows redirects to the page at the end.
    pub(crate) async fn visit(&mut self, visit: Visit) -> Outcome<Page> {
        match self.visit_until(visit, |_| false).await? {
            Arrival::Page(page) => Ok(page),
            Arrival::Stopped(visit) => {
                Err(Stop::harness(format!("stopped at {}", visit.url.path())))
            }
        }
    }

    /// Opens a typed address.
    pub(crate) async fn open(&mut self, url: &Url) -> Outcome<Page> {
        self.visit(Visit::typed(url)).await
    }

    /// Whether a request stays on this machine, or with a party.
    fn may_ask(&self, url: &Url) -> bool {
        is_loopback(url) || self.parties.has_host(url)
    }

    /// Navigates and follows redirects, up to an address for which `is_end` holds. The
    /// first address is asked for in any case. A redirect to another machine ends the
    /// navigation at the page that has it.
    pub(crate) async fn visit_until(
        &mut self,
        mut visit: Visit,
        is_end: impl Fn(&Url) -> bool,
    ) -> Outcome<Arrival> {
        if !self.may_ask(&visit.url) {
            let origin = visit.url.origin().ascii_serialization();
            return Err(Stop::not_testable(format!(
                "the app leads to {origin}, which is not on this machine and is not asked"
            )));
        }
        for _ in 0..MAX_REDIRECTS {
            let page = self.send(&visit).await?;
            let Some(next) = visit.after(&page, &self.parties) else {
                return Ok(Arrival::Page(page));
            };
            if is_end(&next.url) {
                return Ok(Arrival::Stopped(next));
            }
            if !self.may_ask(&next.url) {
                return Ok(Arrival::Page(page));
            }
            visit = next;
        }
        let party = self.parties.name_of(&visit.url);
        let path = visit.url.path();
        Err(Stop::not_testable(format!(
            "the {party} redirects without an end, at last to {path}"
        )))
    }

    fn headers(&self, visit: &Visit) -> HeaderMap {
        let relation = visit.relation();
        let mut headers = HeaderMap::new();
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        set("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        set("user-agent", "Mozilla/5.0 (examiner)");
        set("sec-fetch-site", relation.as_str());
        set("sec-fetch-dest", visit.destination);
        let is_document = visit.destination == "document";
        set(
            "sec-fetch-mode",
            if is_document { "navigate" } else { "no-cors" },
        );
        if is_document && relation != Relation::CrossSite {
            set("sec-fetch-user", "?1");
        }
        if let Some((page, policy)) = &visit.from {
            if let Some(referer) = site::referer(page, policy, &visit.url) {
                set("referer", &referer);
            }
            if visit.method == Method::POST {
                let hides = policy == "no-referrer";
                let origin = page.origin().ascii_serialization();
                set("origin", if hides { "null" } else { &origin });
            }
        }
        let is_visit = is_document && (visit.method == Method::GET || visit.method == Method::HEAD);
        let request = CookieRequest {
            url: &visit.url,
            relation,
            is_document,
            is_visit,
        };
        if let Some(cookies) = self.jar.header(request)
            && let Ok(value) = HeaderValue::from_str(&cookies)
        {
            headers.insert(COOKIE, value);
        }
        for (name, value) in &visit.headers {
            if value.is_empty() {
                headers.remove(*name);
            // As bytes: a cookie may have a name beyond ASCII.
            } else if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        headers
    }
}

async fn read(request: reqwest::RequestBuilder) -> Result<Page, String> {
    let describe = |error: reqwest::Error| match error {
        _ if error.is_timeout() => "no answer in time".to_owned(),
        _ if error.is_connect() => "no connection".to_owned(),
        _ => "the connection broke off".to_owned(),
    };
    let mut response = request.send().await.map_err(describe)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(describe)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_PAGE_BYTES {
            break;
        }
    }
    Ok(Page {
        url: response.url().clone(),
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}
