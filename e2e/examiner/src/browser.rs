//! The examiner's browser: the agent's, whose requests are limited, recorded as evidence,
//! and stay on this machine or with the parties of a testbed.

use agent::browser::{NavigationError, Transport, read};
use agent::http::HttpError;
use agent::url::path_and_query;
use reqwest::Client;
use reqwest::header::{HeaderMap, LOCATION};
use url::Url;

use crate::transcript::{MAX_REQUESTS, Transcript};
use crate::verdict::{Outcome, Stop};

pub(crate) use agent::browser::{Arrival, Clickable, Cookie, Form, Page, SameSite, Visit};
pub(crate) use agent::url::{encode, is_loopback, origin};

/// A browser of an examination.
pub(crate) type Browser = agent::browser::Browser<RecordedRequests>;

/// Sends the requests of one browser, and records them in the transcript of a trial.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequests {
    /// The name in the evidence: `browser A`.
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) transcript: Transcript,
    /// Names of parties by their origins, for the evidence.
    pub(crate) parties: Parties,
}

/// The parties of a testbed, by origin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parties(pub(crate) Vec<(String, String)>);

impl Parties {
    /// The party at `url`: `app`, `broker`, `google`; else its origin.
    pub(crate) fn name_of(&self, url: &Url) -> String {
        let origin = origin(url);
        let known = self.0.iter().find(|(its, _)| *its == origin);
        known.map_or(origin, |(_, name)| name.clone())
    }

    fn has_host(&self, url: &Url) -> bool {
        let origins = self.0.iter();
        let mut known = origins.flat_map(|(origin, _)| Url::parse(origin));
        known.any(|its| its.host() == url.host())
    }
}

impl Transport for RecordedRequests {
    type Error = Stop;

    async fn send(&self, visit: &Visit, headers: HeaderMap) -> Outcome<Page> {
        if !self.transcript.may_send() {
            return Err(Stop::harness(format!(
                "a check sends at most {MAX_REQUESTS} requests"
            )));
        }
        let request = visit.request(&self.client, visit.address(), headers);
        let request = request.header("user-agent", "Mozilla/5.0 (examiner)");
        let at = self.transcript.now();
        let answer = read(request).await;
        let asked = format!("{} {}", visit.method, shown(&visit.url));
        let party = self.parties.name_of(&visit.url);
        let seen = self.describe(&answer);
        let what = format!("{asked} \u{2192} {seen}");
        self.transcript.add_at(at, &self.name, &party, what);
        let page = answer
            .map_err(|_| Stop::not_testable(format!("{party} did not answer {asked}: {seen}")))?;
        match page.excess() {
            Some(excess) => Err(Stop::not_testable(format!(
                "the page {} {excess}, and the examiner reads no such page",
                page.url.path()
            ))),
            None => Ok(page),
        }
    }

    fn stop(&self, reason: NavigationError) -> Stop {
        Stop::not_testable(match reason {
            NavigationError::Forbidden(url) => format!(
                "the app leads to {}, which is not on this machine and is not asked",
                origin(&url)
            ),
            NavigationError::EndlessRedirects(url) => format!(
                "the {} redirects without an end, at last to {}",
                self.parties.name_of(&url),
                url.path()
            ),
        })
    }

    /// Whether a request stays on this machine, or with a party.
    fn may_ask(&self, url: &Url) -> bool {
        is_loopback(url) || self.parties.has_host(url)
    }

    fn is_preferred(&self, url: &Url) -> bool {
        self.parties.name_of(url) == "broker"
    }
}

impl RecordedRequests {
    /// The answer in the transcript; the target of a redirect with its party, where that is
    /// another one.
    fn describe(&self, answer: &Result<Page, HttpError>) -> String {
        let page = match answer {
            Ok(page) => page,
            Err(error) => return error.kind().to_owned(),
        };
        let Some(Ok(location)) = page.headers.get(LOCATION).map(|it| it.to_str()) else {
            return page.status.to_string();
        };
        let target = match page.url.join(location) {
            Ok(url) if url.origin() != page.url.origin() => {
                format!("{} {}", self.parties.name_of(&url), shown(&url))
            }
            _ => stack::mask::url(location),
        };
        format!("{} to {target}", page.status)
    }
}

/// The part of an address that a request names, without secrets.
fn shown(url: &Url) -> String {
    stack::mask::url(&path_and_query(url))
}

/// The way of a browser over redirects.
#[cfg(test)]
pub(crate) mod tests {
    use agent::http::{Reach, builder};
    use wiremock::matchers::any;
    use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

    use super::*;

    /// A site, and its start page.
    async fn site(answer: impl Respond + 'static) -> (MockServer, Url) {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let start = server.uri().parse().unwrap();
        (server, start)
    }

    /// A site that answers a path with the status line and headers that `answer` returns.
    pub(crate) async fn answering(answer: fn(&str) -> &'static str) -> (MockServer, Url) {
        let answer = move |request: &Request| {
            let mut lines = answer(request.url.path()).split("\r\n");
            let status = lines.next().and_then(|it| it.get(..3)?.parse::<u16>().ok());
            let headers = lines.filter_map(|line| line.split_once(": "));
            ResponseTemplate::new(status.unwrap()).append_headers(headers)
        };
        site(answer).await
    }

    /// A browser of no examination.
    pub(crate) fn plain_browser() -> Browser {
        Browser::new(RecordedRequests {
            name: "browser".to_owned(),
            client: builder(Reach::Loopback).build().unwrap(),
            transcript: Transcript::start(),
            parties: Parties::default(),
        })
    }

    /// A page of an app.
    pub(crate) fn page(status: u16, header: (&'static str, &str), body: &str) -> Page {
        let (name, value) = header;
        Page {
            url: Url::parse("http://localhost:5000/").unwrap(),
            status,
            headers: [(name.parse().unwrap(), value.parse().unwrap())]
                .into_iter()
                .collect(),
            body: body.to_owned(),
        }
    }

    /// A page of HTML.
    pub(crate) fn html(body: &str) -> Page {
        page(200, ("content-type", "text/html"), body)
    }

    #[tokio::test]
    async fn a_browser_stops_before_a_host_that_is_no_party_and_not_on_this_machine() {
        let mut browser = plain_browser();
        let redirect = |_: &str| "303 See Other\r\nLocation: https://accounts.google.invalid/auth";
        let (_server, start) = answering(redirect).await;
        let page = browser.open(&start).await.unwrap();
        assert_eq!((page.status, browser.asked.len()), (303, 1));
        let elsewhere = Url::parse("https://accounts.google.invalid/").unwrap();
        let stop = browser.open(&elsewhere).await.unwrap_err();
        assert!(stop.actual.contains("not on this machine"), "{stop:?}");
    }

    #[tokio::test]
    async fn a_page_that_looks_again_by_itself_is_shown() {
        let body = "<meta http-equiv=refresh content='1;url=/again'>";
        let answer = ResponseTemplate::new(200).set_body_raw(body, "text/html");
        let (_server, start) = site(answer).await;
        let page = plain_browser().open(&start).await.unwrap();
        assert_eq!(page.url.path(), "/again");
    }
}
