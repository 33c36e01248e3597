//! The steps of Ada and of Mallory.

use strum::Display;

use super::broker::Visitor;
use super::guard::Guard;
use super::world::{
    ADAS, Address, Flow, Goal, Kind, MALLORYS, POSTED, Page, Place, Power, Provider, Set, User,
    World, number,
};

/// One request of a browser or of Mallory's backend, with what leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Step {
    #[strum(to_string = "Ada presses the app's button of the {0} flow and the {1} provider")]
    AdaStarts(Flow, Provider),
    #[strum(to_string = "Ada's browser goes on to {0}")]
    AdaGoesOn(Address),
    #[strum(to_string = "Ada presses Continue at {0}")]
    AdaContinues(Address),
    #[strum(to_string = "Mallory presses the button of the {0} flow, and notes the redirect")]
    MalloryStarts(Flow),
    #[strum(to_string = "Mallory makes up a state and a verifier, and writes /authorize with them")]
    MalloryDrafts,
    #[strum(to_string = "Mallory opens {0}, and notes the redirect")]
    MalloryOpens(Address),
    #[strum(to_string = "Mallory opens {0} with the session cookie of Ada's browser")]
    MalloryOpensAsAda(Address),
    #[strum(to_string = "Mallory's backend redeems what came to {0}, as her own project")]
    MalloryRedeems(Address),
    #[strum(to_string = "Mallory's page sends Ada's browser to {0}")]
    Lure(Address),
    #[strum(to_string = "Mallory's page posts the app's form of the {0} flow in Ada's browser")]
    PostStart(Flow),
    #[strum(to_string = "Mallory's page posts Continue in Ada's browser at {0}")]
    PostContinue(Address),
    #[strum(to_string = "Mallory's page has Ada click on Continue in a frame of {0}")]
    Frame(Address),
    #[strum(
        to_string = "Mallory opens a session of the app in Ada's browser, and notes its cookie"
    )]
    UseBrowser,
    #[strum(to_string = "Mallory plants her cookies in Ada's browser, which {0} should prevent")]
    Plant(Guard),
    #[strum(to_string = "Mallory finds {0} in a history, a log or a Referer")]
    Leak(Address),
    #[strum(to_string = "Mallory intercepts the redirect of Ada's browser to {0}")]
    Intercept(Address),
    #[strum(to_string = "The hostile provider sends Ada to the honest one, as if to {0}")]
    Divert(Address),
}

impl World {
    /// The steps that may be possible now.
    pub(super) fn steps(&self) -> Vec<Step> {
        let flows = [Flow::Clean, Flow::Legacy];
        let mut steps = vec![Step::UseBrowser];
        steps.extend(flows.map(|it| Step::AdaStarts(it, Provider::Honest)));
        steps.extend(flows.map(|it| Step::AdaStarts(it, Provider::Hostile)));
        for page in self.tabs {
            match page {
                Page::To(at) => steps.extend([Step::AdaGoesOn(at), Step::Intercept(at)]),
                Page::Question(at) => steps.push(Step::AdaContinues(at)),
                Page::Blank | Page::Profile | Page::Refused => {}
            }
        }
        steps.extend(flows.map(Step::MalloryStarts));
        steps.push(Step::MalloryDrafts);
        for at in Address::all(self.mallory) {
            steps.extend([Step::MalloryOpens(at), Step::Lure(at)]);
            match at.place {
                Place::Login => steps.extend([Step::PostContinue(at), Step::Frame(at)]),
                Place::Provider => steps.push(Step::Divert(at)),
                Place::AppCallback | Place::LegacyCallback => {
                    steps.push(Step::MalloryOpensAsAda(at));
                }
                Place::MallorysCallback => steps.push(Step::MalloryRedeems(at)),
                Place::Authorize | Place::AuthorizeToMallory | Place::Callback => {}
            }
        }
        steps.extend(flows.map(Step::PostStart));
        if self.power.is_none() {
            let hosts = [
                Guard::AppHostPrefix,
                Guard::BrokerHostPrefix,
                Guard::DedicatedHost,
            ];
            steps.extend(hosts.map(Step::Plant));
            steps.extend(Address::all(self.ada).into_iter().map(Step::Leak));
        }
        steps
    }

    /// Takes a step, if it is possible. Returns the page that it leads to.
    pub(super) fn take(&mut self, step: Step) -> Option<Page> {
        match step {
            Step::AdaStarts(flow, provider) => {
                if provider == Provider::Hostile {
                    self.use_power(Power::HostileProvider)?;
                    self.facts.add(Kind::Hostile, ADAS);
                }
                let page = self.start(self.ada(true), ADAS, flow)?;
                Some(self.show(0, page))
            }
            Step::AdaGoesOn(at) if self.is_at_hostile_provider(at) => None,
            Step::AdaGoesOn(at) => {
                let tab = self.tabs.iter().position(|it| *it == Page::To(at))?;
                self.go(tab, at, tab == 0)
            }
            Step::AdaContinues(at) => {
                let tab = self.tabs.iter().position(|it| *it == Page::Question(at))?;
                let is_hers = match at.place {
                    Place::Login => at.first? == ADAS,
                    _ => at.first? / 2 == ADAS,
                };
                if !is_hers && self.holds(Guard::OwnLoginsOnly) {
                    return None;
                }
                self.go(tab, at, true)
            }
            Step::MalloryStarts(flow) => {
                let page = self.start(self.mallory(MALLORYS), MALLORYS, flow)?;
                Some(self.note(page))
            }
            Step::MalloryDrafts => {
                let is_first = self.logins[MALLORYS].flow.is_none();
                self.logins[MALLORYS].flow = Some(Flow::Legacy);
                is_first.then(|| self.note(Page::To(Place::Authorize.with(MALLORYS, MALLORYS))))
            }
            Step::MalloryOpens(at) => {
                let page = self.request(self.mallory(MALLORYS), at)?;
                Some(self.note(page))
            }
            Step::MalloryOpensAsAda(at) => {
                let has_used = self.power == Some(Power::UsedBrowser);
                let page = has_used.then(|| self.request(self.mallory(ADAS), at))??;
                Some(self.note(page))
            }
            Step::MalloryRedeems(at) => {
                let code = at.second?;
                let is_draft = self.logins[code / 2].session.is_none();
                let user = self.redeem(code, User::Mallory, is_draft.then_some(code / 2))?;
                self.reached = (user == User::Ada).then_some(Goal::ProfileDisclosed);
                Some(Page::Blank)
            }
            Step::Lure(at) => self.lure(at, &[]),
            Step::PostContinue(at) => self.lure(at, &[Guard::ConfirmationOrigin]),
            // A foreign frame keeps no `Lax` cookie, and the login needs that of the broker.
            Step::Frame(at) => self.lure(at, &[Guard::FrameAncestors, Guard::LaxNotNone]),
            Step::PostStart(flow) => {
                self.lures = self.lures.checked_sub(1)?;
                let mut by = self.ada(false);
                if self.holds(Guard::SameOriginStart) {
                    return None;
                }
                if self.holds(Guard::LaxNotNone) {
                    by.cookies = Set::default();
                }
                let page = self.start(by, POSTED, flow)?;
                Some(self.show(1, page))
            }
            Step::UseBrowser => {
                self.use_power(Power::UsedBrowser)?;
                let is_first = self.logins.iter().all(|it| it.flow.is_none());
                is_first.then(|| self.open_session(User::Ada, ADAS))??;
                self.mallory.add(Kind::SessionCookie, ADAS);
                Some(Page::Blank)
            }
            Step::Plant(guard) => {
                self.use_power(Power::Other)?;
                if self.holds(guard) {
                    return None;
                }
                if guard != Guard::AppHostPrefix {
                    let cookies = self.mallory.of(Kind::UpstreamCookie);
                    cookies.for_each(|it| self.ada.add(Kind::UpstreamCookie, it));
                }
                if guard != Guard::BrokerHostPrefix {
                    let cookie = self.sessions[MALLORYS].cookie?;
                    self.set_cookie(User::Ada, MALLORYS, cookie);
                    self.ada.add(Kind::LoginCookie, MALLORYS);
                }
                Some(Page::Blank)
            }
            Step::Leak(at) => {
                let is_one = at
                    .second
                    .is_none_or(|it| Some(it) == at.first || Some(it / 2) == at.first);
                at.first.filter(|_| is_one)?;
                self.use_power(Power::Other)?;
                if !self.is_used_up(at) && self.holds(Guard::PrivateAddresses) {
                    return None;
                }
                Some(self.note(Page::To(at)))
            }
            Step::Intercept(at) => {
                let is_own = self.tabs[0] == Page::To(at);
                at.second.filter(|_| is_own && at.place.is_callback())?;
                self.use_power(Power::Other)?;
                self.tabs[0] = Page::Blank;
                Some(self.note(Page::To(at)))
            }
            Step::Divert(to) => match self.tabs[0] {
                Page::To(from) if self.is_at_hostile_provider(from) => {
                    let diverted = to.place.with(from.first?, to.second);
                    Some(self.show(0, Page::To(diverted)))
                }
                _ => None,
            },
        }
    }

    fn use_power(&mut self, power: Power) -> Option<()> {
        // Nothing else leaks in this attack.
        self.ada = self.ada.cookies();
        self.power.replace(power).is_none().then_some(())
    }

    fn ada(&self, is_vouched: bool) -> Visitor {
        Visitor {
            browser: User::Ada,
            cookies: self.ada,
            is_vouched,
        }
    }

    /// Mallory's browser, which forges every header, with the cookie of this session.
    fn mallory(&self, session: usize) -> Visitor {
        let mut cookies = self.mallory;
        let others = cookies.of(Kind::SessionCookie);
        let others = others.filter(|it| self.sessions[session].cookie != Some(*it));
        others.for_each(|it| cookies.remove(Kind::SessionCookie, it));
        Visitor {
            browser: User::Mallory,
            cookies,
            is_vouched: true,
        }
    }

    /// Mallory's page sends Ada's browser to an address, past the confirmation page if these
    /// guards are off.
    fn lure(&mut self, at: Address, guards: &[Guard]) -> Option<Page> {
        self.lures = self.lures.checked_sub(1)?;
        let is_stopped = guards.iter().any(|it| self.holds(*it));
        (!is_stopped).then(|| self.go(1, at, !guards.is_empty()))?
    }

    /// Requests an address in a tab of Ada's browser.
    fn go(&mut self, tab: usize, at: Address, is_vouched: bool) -> Option<Page> {
        let mut by = self.ada(is_vouched);
        // The provider or Mallory's page sends the browser there.
        if at.place.is_callback() && !self.holds(Guard::LaxNotStrict) {
            by.cookies = Set::default();
        }
        let page = self.request(by, at)?;
        if self.power.is_none() {
            let unknown = at
                .secrets()
                .filter(|(kind, it)| !self.mallory.has(*kind, *it));
            unknown.for_each(|(kind, it)| self.ada.add(kind, it));
        }
        Some(self.show(tab, page))
    }

    fn request(&mut self, by: Visitor, at: Address) -> Option<Page> {
        match at.place {
            Place::Login => self.open(by, at.first?),
            Place::Authorize | Place::AuthorizeToMallory => self.authorize(by, at.first?, at.place),
            Place::Provider => {
                let code = number(at.second?, by.browser);
                let is_first = self.facts.insert(Kind::Issued, code);
                is_first.then_some(Page::To(Place::Callback.with(at.first?, code)))
            }
            Place::Callback => self.callback(by, at),
            Place::AppCallback => self.app_callback(by),
            Place::LegacyCallback => self.legacy_callback(by, at),
            Place::MallorysCallback => {
                self.note(Page::To(at));
                Some(Page::Blank)
            }
        }
    }

    fn show(&mut self, tab: usize, page: Page) -> Page {
        // A hostile provider may always fail.
        let may_fail = tab == 1 || self.power == Some(Power::HostileProvider);
        self.reached = (page == Page::Refused && !may_fail).then_some(Goal::LostLogin);
        self.tabs[tab] = match page {
            Page::Profile | Page::Refused => Page::Blank,
            page => page,
        };
        page
    }

    fn note(&mut self, page: Page) -> Page {
        if let Page::To(at) = page {
            at.secrets()
                .for_each(|(kind, it)| self.mallory.add(kind, it));
        }
        page
    }

    /// Whether the secrets of an address that Ada's browser has requested are of no use.
    fn is_used_up(&self, at: Address) -> bool {
        at.secrets().all(|(kind, it)| match kind {
            Kind::Handle => self.facts.has(Kind::Bound, it),
            Kind::State | Kind::Challenge => self.facts.has(Kind::Answered, it),
            Kind::ProviderCode => self.facts.has(Kind::Consumed, it / 2),
            Kind::Code => self.facts.has(Kind::Redeemed, it),
            _ => self.facts.has(Kind::Consumed, it),
        })
    }

    fn is_at_hostile_provider(&self, at: Address) -> bool {
        let is_hostile = at
            .first
            .is_some_and(|it| self.facts.has(Kind::Hostile, it / 2));
        at.place == Place::Provider && at.first == at.second && is_hostile
    }
}
