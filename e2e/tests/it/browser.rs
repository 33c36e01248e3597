//! A browser that writes down every step: it keeps cookies as browsers do, follows
//! redirects, inherits fragments, says where it comes from, and never goes where
//! nobody listens.

use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::header::{ACCEPT, COOKIE, ORIGIN, REFERER, SET_COOKIE};
use reqwest::{Client, ClientBuilder, Method, RequestBuilder};
use url::Url;

use crate::jar::{Jar, is_same_site};
use crate::reply::Reply;

/// An origin where nobody listens. A browser that is sent there has arrived.
pub(crate) const NOWHERE: &str = "http://localhost:9";

/// A browser follows no longer chain than this.
const MOST_HOPS: usize = 20;

/// Whether a client tells what browsers tell of their own accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manners {
    /// `Sec-Fetch-*`, `Referer`, `Accept: text/html`.
    OfABrowser,
    /// Nothing: curl, or a test client.
    Plain,
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) referer: Option<String>,
    pub(crate) reply: Reply,
}

/// Where a browser is after following redirects.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// The address it stands at, with its fragment.
    pub(crate) url: String,
    /// What it sees there; nothing, if it stopped before asking.
    pub(crate) reply: Option<Reply>,
}

/// What a form says.
type Fields<'a> = &'a [(&'a str, &'a str)];

/// What a link says, or a form without fields.
const NOTHING: Fields<'_> = &[];

/// Where a navigation begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From<'a> {
    /// A page, by its address.
    Page(&'a str),
    /// Nowhere: the address was typed, or pasted.
    Typed,
}

pub(crate) struct Browser {
    http: Client,
    manners: Manners,
    jar: Mutex<Jar>,
    hops: Mutex<Vec<Hop>>,
}

impl Browser {
    pub(crate) fn new() -> Self {
        Self::with(Manners::OfABrowser)
    }

    /// A client that keeps cookies and follows redirects, and tells nothing.
    pub(crate) fn plain() -> Self {
        Self::with(Manners::Plain)
    }

    /// A browser to which some cookies are Strict, whatever they say.
    pub(crate) fn keeping_in(jar: Jar) -> Self {
        Self {
            jar: Mutex::new(jar),
            ..Self::new()
        }
    }

    /// A browser that reaches servers by a client of the test's choosing.
    #[cfg(feature = "nginx")]
    pub(crate) fn by(http: Client) -> Self {
        Self {
            http,
            ..Self::new()
        }
    }

    fn with(manners: Manners) -> Self {
        Self {
            http: client(),
            manners,
            jar: Mutex::default(),
            hops: Mutex::default(),
        }
    }

    /// Follows a link on the consumer's page, until it arrives.
    pub(crate) async fn follow(&self, url: &str) -> Arrival {
        self.follow_until(url, NOWHERE).await
    }

    /// The same, and stops before an address that begins with `there`.
    pub(crate) async fn follow_until(&self, url: &str, there: &str) -> Arrival {
        let home = format!("{NOWHERE}/");
        self.travel(Method::GET, From::Page(&home), url, NOTHING, there)
            .await
    }

    /// Follows a link on `page`, and goes wherever it leads, but stops before an
    /// address that begins with `there`.
    pub(crate) async fn follow_from(&self, page: &str, url: &str, there: &str) -> Arrival {
        self.travel(Method::GET, From::Page(page), url, NOTHING, there)
            .await
    }

    /// Types an address, and goes wherever it leads.
    pub(crate) async fn type_in(&self, url: &str) -> Arrival {
        self.travel(Method::GET, From::Typed, url, NOTHING, NOWHERE)
            .await
    }

    /// Presses the button of a form on `page`, and goes wherever it leads, but
    /// stops before an address that begins with `there`.
    pub(crate) async fn press_until(&self, page: &str, action: &str, there: &str) -> Arrival {
        self.submit_until(page, action, NOTHING, there).await
    }

    /// The same, of a form with these fields.
    pub(crate) async fn submit_until(
        &self,
        page: &str,
        action: &str,
        fields: Fields<'_>,
        there: &str,
    ) -> Arrival {
        self.travel(Method::POST, From::Page(page), action, fields, there)
            .await
    }

    /// Goes to one address from the consumer's page and no further.
    pub(crate) async fn open(&self, url: &str) -> Reply {
        self.open_with(url, &[]).await
    }

    /// The same, with more headers.
    pub(crate) async fn open_with(&self, url: &str, headers: &[(&str, &str)]) -> Reply {
        let home = format!("{NOWHERE}/");
        self.step(
            &Method::GET,
            url,
            &Provenance::of(From::Page(&home)),
            NOTHING,
            headers,
        )
        .await
    }

    /// Asks for one address without its body.
    pub(crate) async fn look_at(&self, url: &str) -> Reply {
        let home = format!("{NOWHERE}/");
        let provenance = Provenance::of(From::Page(&home));
        self.step(&Method::HEAD, url, &provenance, NOTHING, &[])
            .await
    }

    async fn travel(
        &self,
        method: Method,
        from: From<'_>,
        url: &str,
        fields: Fields<'_>,
        there: &str,
    ) -> Arrival {
        let mut provenance = Provenance::of(from);
        let (mut method, mut url, mut fields) = (method, url.to_owned(), fields);
        for _ in 0..MOST_HOPS {
            if url.starts_with(there) {
                return Arrival { url, reply: None };
            }
            let reply = self.step(&method, &url, &provenance, fields, &[]).await;
            let Some(next) = reply.location().map(|next| resolve(&url, next)) else {
                let reply = Some(reply);
                return Arrival { url, reply };
            };
            assert!(
                [302, 303].contains(&reply.status),
                "a {} would repeat a form's body",
                reply.status
            );
            provenance.goes_through(&url, &reply);
            (method, url, fields) = (Method::GET, next, NOTHING);
        }
        panic!("the redirects never end");
    }

    async fn step(
        &self,
        method: &Method,
        url: &str,
        provenance: &Provenance,
        fields: Fields<'_>,
        headers: &[(&str, &str)],
    ) -> Reply {
        let mut request = self.http.request(method.clone(), url);
        if !fields.is_empty() {
            request = request.form(fields);
        }
        let cookies = locked(&self.jar).header(provenance.initiator.as_ref(), method, &parsed(url));
        if !cookies.is_empty() {
            request = request.header(COOKIE, cookies);
        }
        if self.manners == Manners::OfABrowser {
            request = provenance.tell(request, method, url);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("an answer");
        let reply = Reply::read(method, response).await.expect("a whole answer");
        self.keep_cookies(url, &reply);
        let referer = (self.manners == Manners::OfABrowser).then(|| provenance.referer.clone());
        locked(&self.hops).push(Hop {
            method: method.clone(),
            url: url.to_owned(),
            referer: referer.flatten(),
            reply: reply.clone(),
        });
        reply
    }

    /// Every step so far.
    pub(crate) fn hops(&self) -> Vec<Hop> {
        locked(&self.hops).clone()
    }

    /// The last step to an address that begins with `url`.
    #[track_caller]
    pub(crate) fn last_hop_to(&self, url: &str) -> Hop {
        let hops = self.hops();
        let hop = hops.into_iter().rev().find(|hop| hop.url.starts_with(url));
        hop.unwrap_or_else(|| panic!("it never went to {url}"))
    }

    /// How many cookies it holds for the host of `url`.
    pub(crate) fn count_cookies(&self, url: &str) -> usize {
        locked(&self.jar).count(&parsed(url))
    }

    /// Another browser with a copy of all cookies.
    pub(crate) fn with_the_same_cookies(&self) -> Self {
        Self {
            jar: Mutex::new(locked(&self.jar).clone()),
            ..Self::with(self.manners)
        }
    }

    /// Changes the value of every cookie.
    pub(crate) fn change_cookies(&self, change: impl Fn(&str) -> String) {
        locked(&self.jar).change(change);
    }

    /// Forgets all cookies.
    pub(crate) fn clear_cookies(&self) {
        locked(&self.jar).clear();
    }

    fn keep_cookies(&self, url: &str, reply: &Reply) {
        for cookie in reply.headers.get_all(SET_COOKIE) {
            let cookie = cookie.to_str().expect("our cookies are ASCII");
            locked(&self.jar).keep(&parsed(url), cookie);
        }
    }
}

/// What a browser knows of where a navigation began, and of the way since.
struct Provenance {
    initiator: Option<Url>,
    referer: Option<String>,
    site: &'static str,
}

impl Provenance {
    fn of(from: From<'_>) -> Self {
        let initiator = match from {
            From::Page(page) => Some(parsed(page)),
            From::Typed => None,
        };
        Self {
            // Across origins a browser names the origin alone, by default.
            referer: initiator
                .as_ref()
                .map(|page| format!("{}/", page.origin().ascii_serialization())),
            initiator,
            site: "same-origin",
        }
    }

    /// A redirect may forbid naming the page, and taints the site for good.
    fn goes_through(&mut self, url: &str, reply: &Reply) {
        self.site = self.site_at(url);
        if reply.header("referrer-policy") == Some("no-referrer") {
            self.referer = None;
        }
    }

    fn site_at(&self, url: &str) -> &'static str {
        let Some(initiator) = &self.initiator else {
            return "none";
        };
        let url = parsed(url);
        if self.site == "cross-site" || !is_same_site(initiator, &url) {
            "cross-site"
        } else if self.site == "same-site" || initiator.origin() != url.origin() {
            "same-site"
        } else {
            "same-origin"
        }
    }

    fn tell(&self, request: RequestBuilder, method: &Method, url: &str) -> RequestBuilder {
        let mut request = request
            .header(ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
            .header("Sec-Fetch-Dest", "document")
            .header("Sec-Fetch-Mode", "navigate")
            .header("Sec-Fetch-User", "?1")
            .header("Sec-Fetch-Site", self.site_at(url));
        if let Some(referer) = &self.referer {
            request = request.header(REFERER, referer);
        }
        match &self.initiator {
            Some(page) if method == Method::POST => {
                request.header(ORIGIN, page.origin().ascii_serialization())
            }
            _ => request,
        }
    }
}

/// An HTTP client that does one thing at a time, and all by itself.
pub(crate) fn client() -> Client {
    // Nothing here speaks TLS; reading the machine's certificates takes long.
    let client = plain_client().tls_certs_only([]).build();
    client.expect("a client")
}

/// The same, before it knows whom to trust.
pub(crate) fn plain_client() -> ClientBuilder {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
}

/// Where `location` leads from `url`. A fragment is inherited where the redirect
/// names none.
fn resolve(url: &str, location: &str) -> String {
    let here = parsed(url);
    let mut next = here.join(location).expect("an address");
    if let (None, Some(fragment)) = (next.fragment(), here.fragment()) {
        next.set_fragment(Some(fragment));
        return next.into();
    }
    if next.fragment() == Some("") {
        // An empty one stops the inheritance and leaves nothing behind.
        next.set_fragment(None);
        return next.into();
    }
    // Not through the URL parser: an exact address is compared byte by byte.
    match Url::parse(location) {
        Ok(_) => location.to_owned(),
        Err(_) => next.into(),
    }
}

fn parsed(url: &str) -> Url {
    Url::parse(url).expect("an address")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
