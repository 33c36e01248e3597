//! A request of a browser, and the one that its answer leads to.

use reqwest::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, RequestBuilder};
use url::{ParseError, Url};

use super::cookies::{CookieJar, CookieRequest};
use super::form::Clickable;
use super::page::{Page, is_redirect, joined};
use super::site::{self, Relation};
use crate::url::encode;

/// A request that a page, or the address bar, makes.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// The address as a redirect wrote it: parsed, it is [`Visit::url`], and may have other
    /// bytes.
    written: Option<String>,
    /// The fields of a form that is posted.
    pub fields: Option<Vec<(String, String)>>,
    /// The page that makes the request, with its referrer policy; none for the address bar.
    pub from: Option<(Url, String)>,
    /// The farthest from that page that the redirects have led so far.
    led_over: Relation,
    /// The value of `Sec-Fetch-Dest`: `document`, `image`.
    pub destination: &'static str,
    /// Whether a script makes the request, and goes where a JSON answer leads.
    pub is_by_script: bool,
    /// The JSON that a script sends in place of fields.
    pub json: Option<String>,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

impl Visit {
    /// An address that is typed.
    pub fn typed(url: &Url) -> Self {
        Self {
            method: Method::GET,
            url: url.clone(),
            written: None,
            fields: None,
            from: None,
            led_over: Relation::None,
            destination: "document",
            is_by_script: false,
            json: None,
            headers: Vec::new(),
        }
    }

    /// A press of a link or button of `page`.
    pub fn press(page: &Page, control: &Clickable) -> Self {
        match control {
            Clickable::Link(link) => Self::followed(page, &link.target),
            Clickable::Button(form, index) => {
                let (url, fields) = form.press(*index);
                let mut visit = Self::followed(page, &url).with_method(form.method.clone());
                if form.method == Method::POST {
                    visit.fields = Some(fields);
                } else {
                    visit.url.set_query(Some(&encode(&fields)));
                }
                visit
            }
        }
    }

    fn followed(page: &Page, url: &Url) -> Self {
        Self {
            from: Some((page.url.clone(), page.referrer_policy())),
            ..Self::typed(url)
        }
    }

    /// An address that is typed, with the bytes of `address`.
    ///
    /// # Errors
    ///
    /// If it is no address.
    pub fn written(address: &str) -> Result<Self, ParseError> {
        Ok(Self {
            written: Some(address.to_owned()),
            ..Self::typed(&Url::parse(address)?)
        })
    }

    /// The same request, made by `page`, which has no referrer policy.
    pub fn by_page_of(self, page: &Url) -> Self {
        Self {
            from: Some((page.clone(), String::new())),
            led_over: Relation::None,
            ..self
        }
    }

    /// The same request, as if its address had been typed: no page has led to it.
    pub fn as_typed(self) -> Self {
        Self {
            from: None,
            led_over: Relation::None,
            ..self
        }
    }

    /// The same request with another method.
    pub fn with_method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// With a further header, or another value of one; without it if the value is empty.
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The address, byte for byte as the redirect to it wrote it.
    pub fn address(&self) -> &str {
        let written = self.written.as_deref();
        let written = written.filter(|it| Url::parse(it).is_ok_and(|url| url == self.url));
        written.unwrap_or(self.url.as_str())
    }

    /// The request of `client` with these headers, and the body. It goes to `address`, which is
    /// [`Visit::address`] unless the server listens elsewhere.
    pub fn request(&self, client: &Client, address: &str, headers: HeaderMap) -> RequestBuilder {
        let request = client.request(self.method.clone(), address);
        let request = request.headers(headers);
        match self.body() {
            Some((_, body)) => request.body(body),
            None => request,
        }
    }

    /// The headers that a browser with these cookies sends, and those of the body.
    pub fn headers(&self, jar: &CookieJar) -> HeaderMap {
        let relation = self.relation();
        let mut headers = HeaderMap::new();
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        let is_document = self.destination == "document";
        let mode = if is_document { "navigate" } else { "no-cors" };
        set("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        set("sec-fetch-site", relation.max(self.led_over).as_str());
        set("sec-fetch-dest", self.destination);
        set("sec-fetch-mode", mode);
        if is_document && relation != Relation::CrossSite {
            set("sec-fetch-user", "?1");
        }
        if let Some((page, policy)) = &self.from {
            if let Some(referer) = site::referer(page, policy, &self.url) {
                set("referer", &referer);
            }
            if self.method == Method::POST {
                let hides = policy == "no-referrer";
                let origin = page.origin().ascii_serialization();
                set("origin", if hides { "null" } else { &origin });
            }
        }
        if let Some((media_type, _)) = self.body() {
            set("content-type", media_type);
        }
        if let Some(cookies) = self.cookies(jar) {
            headers.insert(COOKIE, cookies);
        }
        for (name, value) in &self.headers {
            if value.is_empty() {
                headers.remove(*name);
            } else if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        headers
    }

    /// The cookies that the request carries.
    fn cookies(&self, jar: &CookieJar) -> Option<HeaderValue> {
        let is_document = self.destination == "document";
        let header = jar.header(CookieRequest {
            url: &self.url,
            relation: self.relation(),
            is_document,
            is_visit: is_document && self.method.is_safe(),
        });
        // As bytes: a cookie may have a name beyond ASCII.
        HeaderValue::from_bytes(header?.as_bytes()).ok()
    }

    /// The media type and the text of the body, if there is one.
    pub fn body(&self) -> Option<(&'static str, String)> {
        let form = |fields| ("application/x-www-form-urlencoded", encode(fields));
        let json = |text: &String| ("application/json", text.clone());
        let fields = self.fields.as_deref().map(form);
        fields.or_else(|| self.json.as_ref().map(json))
    }

    fn relation(&self) -> Relation {
        Relation::between(self.from.as_ref().map(|(url, _)| url), &self.url)
    }

    /// The request that the answer `page` leads to by itself; none if it ends here.
    pub(super) fn after(&self, page: &Page, is_preferred: impl Fn(&Url) -> bool) -> Option<Self> {
        if page.is_redirect() {
            return self.redirected(page.status, &page.headers);
        }
        let by_script = || address_in(page, is_preferred);
        let target = page
            .refresh()
            .or_else(|| self.is_by_script.then(by_script).flatten())?;
        Some(Self::followed(page, &target))
    }

    /// The request after a redirect with this status and these headers; none if it is no
    /// redirect.
    pub fn redirected(&self, status: u16, headers: &HeaderMap) -> Option<Self> {
        let location = headers.get(LOCATION).filter(|_| is_redirect(status))?;
        let location = location.to_str().ok()?;
        let mut next = self.clone();
        next.url = self.url.join(location).ok()?;
        next.led_over = self.led_over.max(self.relation());
        let mut written = Url::parse(location).is_ok().then(|| location.to_owned());
        let inherited = self.url.fragment().filter(|it| !it.is_empty());
        if let (None, Some(fragment)) = (next.url.fragment(), inherited) {
            next.url.set_fragment(Some(fragment));
            written = written.map(|it| format!("{it}#{fragment}"));
        }
        next.written = written;
        // A redirect may replace the policy of the page that began, unless nothing is sent.
        let policy = joined(headers, "referrer-policy");
        let replaced = next.from.as_mut().map(|(_, its)| its);
        if let Some(its) = replaced.filter(|its| !policy.is_empty() && *its != "no-referrer") {
            *its = policy;
        }
        if matches!(status, 301..=303) {
            next.fields = None;
            next.json = None;
            if next.method != Method::HEAD {
                next.method = Method::GET;
            }
        }
        Some(next)
    }
}

/// The address of another origin in a JSON answer: a preferred one if there is one, else
/// the first.
fn address_in(page: &Page, is_preferred: impl Fn(&Url) -> bool) -> Option<Url> {
    let mut addresses: Vec<Url> = page
        .json_texts()
        .iter()
        .filter_map(|text| Url::parse(text).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .filter(|url| url.origin() != page.url.origin())
        .collect();
    let preferred = addresses.iter().position(is_preferred);
    (!addresses.is_empty()).then(|| addresses.swap_remove(preferred.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(status: u16, headers: &[(&'static str, &str)], body: &str) -> Page {
        let headers = headers.iter();
        Page {
            url: Url::parse("http://localhost:5000/").unwrap(),
            status,
            headers: headers
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect(),
            body: body.to_owned(),
        }
    }

    fn typed(url: &str) -> Visit {
        Visit::typed(&Url::parse(url).unwrap())
    }

    #[track_caller]
    fn leads_to(media_type: &str, body: &str) -> Option<String> {
        let page = page(200, &[("content-type", media_type)], body);
        let is_broker = |url: &Url| url.port() == Some(1);
        address_in(&page, is_broker).map(String::from)
    }

    #[test]
    fn a_script_goes_to_the_preferred_address_in_its_answer() {
        let body =
            r#"{"logo":"https://cdn.example/a.png","next":{"url":"http://127.0.0.1:1/login/x"}}"#;
        let broker = Some("http://127.0.0.1:1/login/x".to_owned());
        assert_eq!(leads_to("application/json; charset=utf-8", body), broker);
        let other = leads_to("application/json", r#"["http://signin.invalid/x"]"#);
        assert_eq!(other.as_deref(), Some("http://signin.invalid/x"));
    }

    #[test]
    fn a_script_stays_where_its_answer_has_no_address_of_another_origin() {
        for body in [
            r#"{"url":"http://localhost:5000/me"}"#,
            r#"{"url":"javascript:alert(1)"}"#,
            r#"{"error":"busy"}"#,
            "no JSON",
        ] {
            assert_eq!(leads_to("application/json", body), None, "{body}");
        }
        let html = r#"{"url":"http://127.0.0.1:1/login/x"}"#;
        assert_eq!(leads_to("text/html", html), None);
    }

    #[test]
    fn a_redirect_keeps_its_bytes_and_inherits_a_fragment() {
        for (from, location, to) in [
            (
                "http://a/x#part",
                "http://b/%7Ec?d=%41",
                "http://b/%7Ec?d=%41#part",
            ),
            ("http://a/x#part", "http://b/c#own", "http://b/c#own"),
            ("http://a/x#part", "http://b/c#", "http://b/c#"),
            ("http://a/x/y", "../z", "http://a/z"),
            // What the parser rewrites stays as it was written.
            ("http://a/x", "HTTP://B:80/c", "HTTP://B:80/c"),
        ] {
            let answer = page(303, &[("location", location)], "");
            let next = typed(from).redirected(303, &answer.headers).unwrap();
            assert_eq!(next.address(), to, "{location} from {from}");
        }
    }

    #[test]
    fn a_redirect_over_another_site_is_cross_site_and_leaves_the_cookies() {
        let mut jar = CookieJar::default();
        let answer = page(200, &[("set-cookie", "sid=1; Path=/; SameSite=Strict")], "");
        jar.receive(&answer.headers, &answer.url);
        let back = page(303, &[("location", "http://localhost:5000/callback")], "");
        let visit = typed("http://127.0.0.1:8000/login").by_page_of(&answer.url);
        let visit = visit.redirected(303, &back.headers).unwrap();
        let headers = visit.headers(&jar);
        assert_eq!(headers["sec-fetch-site"], "cross-site");
        assert_eq!(headers["cookie"], "sid=1");
    }

    #[test]
    fn a_redirect_replaces_the_referrer_policy_unless_nothing_is_sent() {
        for (policy, of_redirect, sent) in [
            ("", "no-referrer", None),
            ("origin", "unsafe-url", Some("http://a/page")),
            ("origin", "", Some("http://a/")),
            ("no-referrer", "unsafe-url", None),
        ] {
            let mut visit = typed("http://b/x");
            visit.from = Some((Url::parse("http://a/page").unwrap(), policy.to_owned()));
            let headers = [("location", "http://b/y"), ("referrer-policy", of_redirect)];
            let next = visit.redirected(302, &page(302, &headers, "").headers);
            let headers = next.unwrap().headers(&CookieJar::default());
            let referer = headers.get("referer").map(|it| it.to_str().unwrap());
            assert_eq!(referer, sent, "{policy}, {of_redirect}");
        }
    }

    #[test]
    fn a_form_is_sent_once_and_only_a_redirect_by_307_or_308_repeats_it() {
        let mut visit = typed("http://a/x").with_method(Method::POST);
        visit.fields = Some(vec![("a".to_owned(), "b c".to_owned())]);
        for (status, method, body) in [
            (303, Method::GET, None),
            (302, Method::GET, None),
            (307, Method::POST, Some("a=b+c")),
        ] {
            let answer = page(status, &[("location", "/y")], "");
            let next = visit.redirected(status, &answer.headers).unwrap();
            let sent = next.body().map(|(_, text)| text);
            assert_eq!((next.method, sent.as_deref()), (method, body), "{status}");
        }
    }
}
