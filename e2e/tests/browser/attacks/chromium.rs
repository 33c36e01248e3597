//! The Chromium of a user, in which the request of a page waits until the play lets it go.

use std::time::Duration;

use rocket::futures::{FutureExt as _, StreamExt as _};
use serde_json::json;
use thirtyfour::WebDriver;
use thirtyfour::bidi::events::{BeforeRequestSent, Load};
use thirtyfour::bidi::modules::browsing_context::CreateType;
use thirtyfour::bidi::modules::network::{
    FailRequest, InterceptPhase, ProvideResponse, RequestData,
};
use thirtyfour::bidi::{BiDi, BrowsingContextId, EventStream};
use thirtyfour::common::capabilities::desiredcapabilities::CapabilitiesHelper as _;
use thirtyfour::common::capabilities::desiredcapabilities::PageLoadStrategy;
use thirtyfour::error::WebDriverResult;
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring;
use url::Url;

use crate::open_as;

/// The path of a page that leads elsewhere.
pub(super) const LURE: &str = "/lure";

/// The time for one navigation. One that leads nowhere ends much sooner.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A browser with the tab of its user, which is the first, and two for pages of others.
pub(super) struct Chromium {
    pub(super) session: WebDriver,
    bidi: BiDi,
    tabs: [BrowsingContextId; 3],
    requests: EventStream<BeforeRequestSent>,
    loads: EventStream<Load>,
    /// The request of each tab that waits.
    waiting: [Option<RequestData>; 3],
    /// The headers by which servers tell one browser from another.
    pub(super) look: Vec<(&'static str, String)>,
}

const LOOK: [&str; 5] = [
    "user-agent",
    "accept-language",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
];

/// The end of a chain of requests in a tab.
#[derive(Debug)]
pub(super) enum Arrival {
    /// The request of this address waits.
    At(String),
    /// The page of this address has loaded.
    Loaded(String),
    /// Neither came in time.
    Nowhere,
}

impl Chromium {
    /// Opens a browser with a profile of its own.
    pub(super) async fn open() -> WebDriverResult<Self> {
        let session = open_as(&[], |chromium| {
            chromium.enable_bidi()?;
            // Else a click waits for a page whose request waits.
            chromium.set_page_load_strategy(PageLoadStrategy::None)
        });
        let session = session.await;
        // The client of Chromium's events wants one, though it speaks to it in the clear.
        let _ = ring::default_provider().install_default();
        let bidi = session.bidi().await?;
        let own = bidi.browsing_context().top_level().await?;
        let others = [
            bidi.browsing_context().create(CreateType::Tab).await?,
            bidi.browsing_context().create(CreateType::Tab).await?,
        ];
        let [first, second] = others.map(|it| it.context);
        let requests = bidi.subscribe().await?;
        let loads = bidi.subscribe().await?;
        let phases = vec![InterceptPhase::BeforeRequestSent];
        let intercept = bidi.network().add_intercept(phases, None).await?;
        // It lasts as long as the browser.
        std::mem::forget(intercept);
        Ok(Self {
            session,
            bidi,
            tabs: [own, first, second],
            requests,
            loads,
            waiting: [None, None, None],
            look: Vec::new(),
        })
    }

    /// Opens a typed address.
    pub(super) fn goes_to(&mut self, tab: usize, url: &str) {
        while self.loads.next().now_or_never().is_some() {}
        let (bidi, context, url) = (self.bidi.clone(), self.tabs[tab].clone(), url.to_owned());
        // It ends when the page has come, and its request waits.
        tokio::spawn(async move { bidi.browsing_context().navigate(context, url, None).await });
    }

    /// Opens a typed address, and waits for a page of its origin. That of a request which was
    /// stopped may load first.
    pub(super) async fn opens(&mut self, tab: usize, url: &str) -> WebDriverResult<()> {
        let origin = Url::parse(url).unwrap().origin().ascii_serialization();
        self.goes_to(tab, url);
        loop {
            match self.arrives(tab, |_| false).await? {
                Arrival::Loaded(url) if !url.starts_with(&origin) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Makes a tab the one that commands of WebDriver are for.
    pub(super) async fn shows(&self, tab: usize) -> WebDriverResult<()> {
        let handle = self.tabs[tab].to_string().into();
        self.session.switch_to_window(handle).await
    }

    /// Waits until a request for an address at which the play stops comes from this tab, or a
    /// page has loaded there. Every other request goes on.
    pub(super) async fn arrives(
        &mut self,
        tab: usize,
        stops: impl Fn(&str) -> bool,
    ) -> WebDriverResult<Arrival> {
        let arrives = async {
            loop {
                tokio::select! {
                    Some(sent) = self.requests.next() => {
                        let is_here = sent.context.as_ref().is_some_and(|it| self.tab(it) == tab);
                        let request = sent.request;
                        self.look = look(&request);
                        if is_here && request.method == "GET" && stops(&request.url) {
                            let url = request.url.clone();
                            self.waiting[tab] = Some(request);
                            return Ok(Arrival::At(url));
                        }
                        if sent.is_blocked {
                            // A page that was left has taken its requests along.
                            let _ = self.bidi.network().continue_request(request.id).await;
                        }
                    }
                    Some(load) = self.loads.next() => {
                        // A lure leads elsewhere.
                        let is_over = !load.url.ends_with(LURE) && load.url != "about:blank";
                        if is_over && self.tab(&load.context) == tab {
                            return Ok(Arrival::Loaded(load.url));
                        }
                    }
                }
            }
        };
        #[expect(clippy::disallowed_methods, reason = "it waits for Chromium")]
        let arrival = timeout(ARRIVAL_TIMEOUT, arrives).await;
        arrival.unwrap_or(Ok(Arrival::Nowhere))
    }

    /// The tab of a page. A frame is in the second.
    fn tab(&self, context: &BrowsingContextId) -> usize {
        self.tabs.iter().position(|it| it == context).unwrap_or(1)
    }

    pub(super) fn waits_for(&self, tab: usize, url: &str) -> bool {
        self.waiting[tab].as_ref().is_some_and(|it| it.url == url)
    }

    /// Lets the request of a tab go.
    pub(super) async fn goes_on(&mut self, tab: usize) -> WebDriverResult<()> {
        if let Some(request) = self.waiting[tab].take() {
            self.bidi.network().continue_request(request.id).await?;
        }
        Ok(())
    }

    /// Ends the request of a tab before it has left the browser.
    pub(super) async fn is_stopped(&mut self, tab: usize) -> WebDriverResult<()> {
        if let Some(RequestData { id: request, .. }) = self.waiting[tab].take() {
            self.bidi.send(FailRequest { request }).await?;
        }
        Ok(())
    }

    /// Answers the request of a tab in the place of its server.
    pub(super) async fn is_redirected(&mut self, tab: usize, url: &str) -> WebDriverResult<()> {
        if let Some(RequestData { id: request, .. }) = self.waiting[tab].take() {
            let value = json!({ "type": "string", "value": url });
            let location = json!({ "name": "Location", "value": value });
            let redirect = ProvideResponse {
                request,
                body: None,
                cookies: None,
                headers: Some(vec![location]),
                reason_phrase: None,
                status_code: Some(302),
            };
            self.bidi.send(redirect).await?;
        }
        Ok(())
    }
}

fn look(request: &RequestData) -> Vec<(&'static str, String)> {
    let value = |name: &&'static str| {
        let mut headers = request.headers.iter();
        let header = headers.find(|it| {
            it["name"]
                .as_str()
                .is_some_and(|it| it.eq_ignore_ascii_case(name))
        })?;
        Some((*name, header["value"]["value"].as_str()?.to_owned()))
    };
    LOOK.iter().filter_map(value).collect()
}
