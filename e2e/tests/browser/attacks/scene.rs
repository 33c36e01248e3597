//! The steps of an attack, taken by a real browser and by an attacker's program.

use std::collections::HashMap;

use consistency::guards::{Address, Attack, Goal, Guard, Kind, Page, Place, Step};
use mock_upstream::Next;
use serde_json::json;
use stack::{Stack, StackSettings};
use strum::VariantArray as _;
use testkit::backend::{Backend, LegacyLogin};
use testkit::browser::Browser;
use testkit::leak_check::log;
use thirtyfour::error::WebDriverResult;

use super::addresses::secret_in;
use super::chromium::{Arrival, Chromium, LURE};
use crate::across_sites::over_tls;
use crate::application::{SHOP, Site, client, http};
use crate::planted::shop;
use crate::user::User;

/// The users of the two in the model.
const ADA: &str = "Ada Lovelace";
const MALLORY: &str = "Katherine Johnson";

/// A stack, the browser of Ada, and all that Mallory has.
pub(super) struct Scene {
    pub(super) stack: Stack,
    ada: Chromium,
    /// Mallory's own browser, and one with the session of Ada's.
    mallory: [Browser; 2],
    pub(super) site: Site,
    /// Her project, and a login of the app's that she made up.
    project: Backend,
    draft: LegacyLogin,
    pub(super) off: Vec<Guard>,
    /// The addresses that were requested, and the secrets in them.
    pub(super) urls: HashMap<Address, String>,
    pub(super) secrets: HashMap<(Kind, usize), String>,
    /// The name in the profile that her project has got.
    got: Option<String>,
}

/// Whether a step could be taken.
type Taken = WebDriverResult<bool>;

impl Scene {
    /// Carries out an attack. Returns what became of it, if it does not reach its goal.
    pub(super) async fn play(attack: &Attack) -> WebDriverResult<Result<(), String>> {
        let plants = |step: &Step| matches!(step, Step::Plant(_));
        let is_planted = attack.steps.iter().any(plants);
        let settings = if is_planted { shop() } else { over_tls() };
        let mut scene = Self::set(settings, attack).await?;
        let outcome = scene.plays(attack).await;
        let _ = scene.ada.session.quit().await;
        outcome
    }

    async fn plays(&mut self, attack: &Attack) -> WebDriverResult<Result<(), String>> {
        for (step, page) in attack.steps.iter().zip(attack.pages()) {
            if !self.takes(*step, page).await? {
                return Ok(Err(format!("it stops where {step}")));
            }
        }
        let is_reached = self.reaches(attack.goal).await?;
        let missed = || format!("every step is taken, but not so that {}", attack.goal);
        Ok(is_reached.then_some(()).ok_or_else(missed))
    }

    async fn set(settings: StackSettings, attack: &Attack) -> WebDriverResult<Self> {
        let automatic = StackSettings {
            automatic: true,
            ..settings
        };
        let stack = crate::start(automatic).await;
        let site = Site::over_tls("evil.shop.test").await;
        site.shows("/callback", "Thanks");
        let http = http(&stack);
        let projects = format!("{}/api/projects", stack.urls().control);
        let hers = json!({ "name": "Evil", "redirect_uris": [site.url("/callback")] });
        let hers = http.post(&projects).json(&hers).send().await.json();
        let all = http.get(&projects).send().await.json();
        let demo = format!("{}/legacy/callback", stack.urls().consumer);
        let is_demo = |it: &&serde_json::Value| it["redirect_uris"].to_string().contains(&demo);
        let app = all.as_array().unwrap().iter().find(is_demo).unwrap();
        let broker = &stack.urls().broker;
        let app = Backend {
            callback: demo,
            ..Backend::of(broker, app)
        };
        let project = Backend::of(broker, &hers);
        let project_http = project.http.with_client(client(&stack));
        let demo = &stack.urls().consumer;
        let mut ada = Chromium::open().await?;
        ada.opens(0, demo).await?;
        // The app compares what a browser looks like; an attacker knows it.
        let look = ada.look.iter();
        let alike = look.fold(http.clone(), |http, (name, value)| {
            http.with_header(name, value)
        });
        let browser = || Browser::with_http(alike.clone()).on_page(demo);
        Ok(Self {
            mallory: [browser(), browser()],
            ada,
            site,
            draft: app.start_authorization("google"),
            project: Backend {
                http: project_http,
                ..project
            },
            stack,
            off: attack.off().collect(),
            urls: HashMap::new(),
            secrets: HashMap::new(),
            got: None,
        })
    }

    /// Takes a step, and sees whether it leads where the model says.
    async fn takes(&mut self, step: Step, page: Page) -> Taken {
        match step {
            Step::AdaStarts(flow, provider) => {
                self.ada.opens(0, &self.demo("/")).await?;
                self.ada.shows(0).await?;
                let provider = ["google", "github"][provider as usize];
                let button = format!("[data-start='{flow}-{provider}']");
                self.user().clicks(&button).await?;
                self.arrives(0, None, page).await
            }
            Step::AdaGoesOn(at) => {
                let tab = usize::from(!self.ada.waits_for(0, &self.url(at)));
                self.ada.goes_on(tab).await?;
                self.arrives(tab, None, page).await
            }
            Step::AdaContinues(_) => {
                self.ada.shows(1).await?;
                self.continues(page).await
            }
            Step::MalloryStarts(flow) => {
                let start = self.start(flow);
                let answer = self.mallory[0].press(&self.demo("/"), &start).await;
                Ok(self.leads(answer.location(), page))
            }
            Step::MalloryDrafts => {
                let url = self.draft.url.clone();
                Ok(self.leads(Some(&url), page))
            }
            Step::MalloryOpens(at) => self.opens(0, at, page).await,
            Step::MalloryOpensAsAda(at) => self.opens(1, at, page).await,
            Step::MalloryRedeems(at) => {
                let code = self.value(Some(Kind::Code), at.second);
                let answer = self.project.redeem(&self.draft, &code).await;
                if let Some(token) = answer.json()["access_token"].as_str() {
                    let profile = self.project.profile(token).await.json();
                    self.got = profile["name"].as_str().map(ToOwned::to_owned);
                }
                Ok(true)
            }
            Step::Lure(at) => {
                let script = format!("location.href = '{}'", self.url(at));
                self.lures(&format!("<script>{script}</script>"));
                self.arrives(1, Some(at), page).await
            }
            Step::PostStart(flow) => {
                let action = self.start(flow);
                self.posts(&action);
                self.arrives(1, None, page).await
            }
            Step::PostContinue(at) => {
                self.posts(&format!("{}/continue", self.url(at)));
                self.arrives(1, None, page).await
            }
            Step::Frame(at) => {
                let all = "style=\"position: fixed; inset: 0; width: 100%; height: 100%\"";
                self.lures(&format!("<iframe {all} src=\"{}\"></iframe>", self.url(at)));
                if !self.arrives(1, Some(at), Page::Question(at)).await? {
                    return Ok(false);
                }
                self.ada.shows(1).await?;
                self.ada.session.enter_frame(0).await?;
                // A game wants two clicks; the first puts the frame in front.
                self.user().clicks("h1").await?;
                self.continues(page).await
            }
            Step::UseBrowser => self.uses_browser().await,
            Step::Plant(guard) => self.plants(guard).await,
            Step::Leak(at) => {
                let is_private = !self.off.contains(&Guard::PrivateAddresses);
                let mut secrets = at.secrets().filter_map(|it| self.secrets.get(&it));
                // What is of no use any more is in the history of Ada's browser.
                Ok(is_private || secrets.all(|it| log::text().contains(it)))
            }
            Step::Intercept(_) => {
                self.ada.is_stopped(0).await?;
                Ok(true)
            }
            Step::Divert(_) => {
                let Page::To(at) = page else { return Ok(false) };
                self.ada.is_redirected(0, &self.url(at)).await?;
                self.arrives(0, None, page).await
            }
        }
    }

    /// Waits until a tab has got past an address, and arrives at this page.
    async fn arrives(&mut self, tab: usize, past: Option<Address>, page: Page) -> Taken {
        let places: Vec<_> = Place::VARIANTS
            .iter()
            .flat_map(|it| self.places(*it))
            .collect();
        let stops = |url: &str| places.iter().any(|place| url.starts_with(place));
        let mut arrival = self.ada.arrives(tab, stops).await?;
        if past.is_some() && matches!(arrival, Arrival::At(_)) {
            self.ada.goes_on(tab).await?;
            arrival = self.ada.arrives(tab, stops).await?;
        }
        let url = match &arrival {
            Arrival::At(url) => Some(&**url),
            Arrival::Loaded(_) => None,
            Arrival::Nowhere => return Ok(false),
        };
        Ok(self.leads(url, page))
    }

    /// Whether a redirect to `url`, or none, is the page of the model. Notes the secrets in it.
    fn leads(&mut self, url: Option<&str>, page: Page) -> bool {
        let (at, url) = match (page, url) {
            (Page::To(at), Some(url)) => (at, url),
            (Page::To(_), None) => return false,
            (_, url) => return url.is_none_or(|url| url.ends_with("/profile")),
        };
        let is_there = self
            .places(at.place)
            .iter()
            .any(|place| url.starts_with(place));
        let is_expected = at.secrets().all(|(kind, number)| {
            let value = secret_in(url, kind);
            let known = self
                .secrets
                .entry((kind, number))
                .or_insert_with(|| value.clone());
            *known == value && !value.is_empty()
        });
        self.urls.insert(at, url.to_owned());
        is_there && is_expected
    }

    /// Mallory opens an address in one of her browsers.
    async fn opens(&mut self, browser: usize, at: Address, page: Page) -> Taken {
        if at.place == Place::Provider {
            let google = self.stack.upstream().google();
            let hers = google.known_user("katherine").unwrap();
            google.queue(Next::User(hers)).unwrap();
        }
        // The broker compares the network, too, which is one here and would be another.
        let own = [("user-agent", "Mallory's")];
        let is_at_app = [Place::AppCallback, Place::LegacyCallback].contains(&at.place);
        let headers = if is_at_app { &[][..] } else { &own[..] };
        let answer = self.mallory[browser]
            .open_with(&self.url(at), headers)
            .await;
        Ok(self.leads(answer.location(), page))
    }

    /// Ada, with the tab that is shown.
    fn user(&self) -> User<'_> {
        User::at(&self.ada.session, &self.stack)
    }

    /// Presses Continue as soon as it can be pressed.
    async fn continues(&mut self, page: Page) -> Taken {
        match self.user().waits_and_continues().await {
            Ok(()) => self.arrives(1, None, page).await,
            Err(_) => Ok(false),
        }
    }

    /// Has Ada's browser open a page of Mallory's.
    fn lures(&mut self, html: &str) {
        self.site.shows(LURE, html);
        self.ada.goes_to(1, &self.site.url(LURE));
    }

    /// Has a page of Mallory's post an empty form.
    fn posts(&mut self, action: &str) {
        let form = format!("<form method=\"post\" action=\"{action}\"></form>");
        self.lures(&format!(
            "{form}<script>document.forms[0].submit()</script>"
        ));
    }

    /// Mallory sits down at Ada's browser, begins a login, and notes the cookie of the session.
    async fn uses_browser(&mut self) -> Taken {
        let demo = self.demo("/");
        self.ada.opens(0, &demo).await?;
        self.ada.shows(0).await?;
        self.user().clicks("[data-start='legacy-google']").await?;
        self.ada
            .arrives(0, |url| url.contains("/authorize?"))
            .await?;
        self.ada.is_stopped(0).await?;
        for cookie in self.user().holds_cookies().await? {
            let [name, value] = ["name", "value"].map(|it| cookie[it].as_str().unwrap());
            if name.ends_with("demo_session") {
                self.mallory[1].add_cookie(&demo, name, value);
            }
        }
        Ok(true)
    }

    /// Plants all cookies of Mallory's browser: from a sister subdomain, or from another port
    /// of the host.
    async fn plants(&mut self, guard: Guard) -> Taken {
        let cookies = self.mallory[0].cookies(&self.stack.urls().consumer);
        let (host, domain) = match guard {
            Guard::DedicatedHost => (SHOP, ""),
            _ => ("neighbour.shop.test", "; Domain=shop.test"),
        };
        let lines = cookies.iter().map(|(name, value)| {
            format!("{name}={value}{domain}; Path=/; Secure; HttpOnly; SameSite=Lax")
        });
        let neighbour = Site::over_tls(host).await;
        neighbour.sets_cookies("/", lines.collect());
        self.ada.opens(2, &neighbour.url("/")).await?;
        Ok(true)
    }

    /// Whether the attack has reached its goal.
    async fn reaches(&mut self, goal: Goal) -> Taken {
        let profile = self.demo("/profile");
        if goal == Goal::Takeover {
            let mut is_ada = false;
            for browser in &self.mallory {
                is_ada |= browser.open(&profile).await.text().contains(ADA);
            }
            return Ok(is_ada);
        }
        self.ada.opens(0, &profile).await?;
        let page = self.ada.session.source().await?;
        Ok(match goal {
            Goal::SignedInAsMallory => page.contains(MALLORY),
            Goal::LostLogin => !page.contains(ADA),
            Goal::ProfileDisclosed | Goal::Takeover => self.got.as_deref() == Some(ADA),
        })
    }
}
