//! A person's browser, and how they come home from the provider.

use std::collections::BTreeMap;
use std::sync::Mutex;

use reqwest::Method;

use super::{Answer, BASE, World, parameter};

/// A person's browser: it keeps cookies and says how it navigates.
pub(crate) struct Browser<'w> {
    world: &'w World,
    cookies: Mutex<BTreeMap<String, String>>,
    headers: Vec<(&'static str, &'static str)>,
}

impl<'w> Browser<'w> {
    /// On a page of the consumer at `CALLBACK`.
    pub(crate) fn of(world: &'w World) -> Self {
        Self::at(world, "https://app.example/")
    }

    /// On a page of the consumer at `LOCAL_CALLBACK`.
    pub(crate) fn at_local(world: &'w World) -> Self {
        Self::at(world, "http://localhost:3000/")
    }

    /// On a page, from which it navigates.
    pub(crate) fn at(world: &'w World, page: &'static str) -> Self {
        Self::dressed(
            world,
            &[
                ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "navigate"),
                ("Sec-Fetch-Dest", "document"),
                ("Referer", page),
            ],
        )
    }

    /// With no headers but these.
    pub(crate) fn dressed(world: &'w World, headers: &[(&'static str, &'static str)]) -> Self {
        Self {
            world,
            cookies: Mutex::default(),
            headers: headers.to_vec(),
        }
    }

    /// curl with a cookie jar.
    pub(crate) fn plain(world: &'w World) -> Self {
        Self::dressed(world, &[])
    }

    /// The same browser with one more header.
    pub(crate) fn saying(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &self.headers).await
    }

    /// Presses a button on our own page.
    pub(crate) async fn press(&self, path: &str) -> Answer {
        self.press_at(path, &[("Origin", BASE), ("Sec-Fetch-Site", "same-origin")])
            .await
    }

    /// Presses a button that sends these headers.
    pub(crate) async fn press_at(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask(Method::POST, path, headers).await
    }

    async fn ask(&self, verb: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.world.request(verb, path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let cookies = self.cookies();
        if !cookies.is_empty() {
            let pairs: Vec<_> = cookies.iter().map(|(n, v)| format!("{n}={v}")).collect();
            request = request.header("Cookie", pairs.join("; "));
        }
        let answer = Answer::to(request).await;
        self.keep(&answer);
        match answer.location().and_then(own_redirect) {
            Some(path) => self.follow(answer, &path).await,
            None => answer,
        }
    }

    /// Follows our own redirect that ends a fragment: `answer`, with where it leads
    /// in the end.
    async fn follow(&self, mut answer: Answer, path: &str) -> Answer {
        let next = Answer::to(self.world.request(Method::GET, path)).await;
        assert_eq!(next.status, 303, "{}", next.body);
        next.is_complete();
        let target = next.headers["location"].clone();
        answer.headers.insert("location", target);
        answer
    }

    pub(crate) fn cookies(&self) -> BTreeMap<String, String> {
        self.cookies.lock().unwrap().clone()
    }

    pub(crate) fn forget_cookies(&self) {
        self.cookies.lock().unwrap().clear();
    }

    pub(crate) fn plant(&self, name: &str, value: &str) {
        let mut cookies = self.cookies.lock().unwrap();
        cookies.insert(name.to_owned(), value.to_owned());
    }

    fn keep(&self, answer: &Answer) {
        let mut cookies = self.cookies.lock().unwrap();
        for line in answer.set_cookies() {
            let cookie = cookie::Cookie::parse(line).unwrap();
            if cookie
                .max_age()
                .is_some_and(cookie::time::Duration::is_zero)
            {
                cookies.remove(cookie.name());
            } else {
                cookies.insert(cookie.name().to_owned(), cookie.value().to_owned());
            }
        }
    }

    /// Comes back from GitHub, to which `away` sent it, with this query.
    pub(crate) async fn come_back(&self, away: &Answer, query: &str) -> Answer {
        self.get(&back_path(away, query)).await
    }
}

/// The path of our own redirect that ends a fragment.
fn own_redirect(location: &str) -> Option<String> {
    let path = location.strip_prefix(BASE)?;
    let path = path
        .strip_suffix('#')
        .expect("it ends whatever fragment there was");
    Some(path.to_owned())
}

/// The provider's callback for the upstream login that `away` began.
pub(crate) fn back_path(away: &Answer, query: &str) -> String {
    let url = away.location().unwrap();
    let state = parameter(url, "state").unwrap();
    format!("/callback/github?{query}&state={state}")
}

/// Ada signs in through the clean flow, with this key, up to her way home.
pub(crate) async fn sign_in(world: &World, key: u8) -> Answer {
    let path = world.session(key).await;
    let browser = Browser::of(world);
    let away = browser.get(&path).await;
    browser.come_back(&away, "code=upstream-code").await
}
