//! From a valid authorization request to the decision who signs in: by the
//! script, or by whoever sits before the page.

use crate::answer::Answer;
use crate::call::Params;
use crate::desk::Desk;
use crate::pages::{self, SignInPage};
use crate::people::{InvalidPerson, Visibility, ada, seeded};
use crate::settings::RedirectUri;
use crate::shelf::{Content, Shelf};
use crate::{Misbehaviour, Mode, Next, Person, Provider, chance, spoil};

/// Where the page's forms go. The real providers have no such path.
pub(crate) const PATH: &str = "/mock/sign-in";

/// How long a page waits for a choice.
const PAGE_LIFETIME_MS: i64 = 10 * 60 * 1000;

/// An authorization request that passed every check.
pub(crate) trait Request: Clone + Content {
    fn redirect_uri(&self) -> &RedirectUri;

    /// What is asked for, as it is shown to the person.
    fn scope(&self) -> String;
}

/// Who signs in, and what goes wrong then.
#[derive(Clone)]
pub(crate) struct Cast {
    pub(crate) person: Person,
    pub(crate) misbehaviour: Option<Misbehaviour>,
}

/// How a sign-in goes on.
pub(crate) enum Step<R> {
    /// It is decided.
    Decided(R, Cast),
    /// A page asks.
    Ask(Answer),
}

/// The sign-ins that wait for a choice.
///
/// The page carries a handle, never the request: nothing that a browser sends
/// back can change what was checked.
pub(crate) struct SignIns<R>(Shelf<R>);

impl<R: Request> SignIns<R> {
    pub(crate) fn new() -> Self {
        Self(Shelf::new())
    }

    /// Starts a sign-in: the queue decides, then the mode.
    pub(crate) fn begin(&self, desk: &Desk, request: R) -> Step<R> {
        match (desk.script.take_next(), desk.script.mode()) {
            (Some(next), _) => Step::Decided(request, Cast::scripted(next, desk.provider)),
            (None, Mode::Automatic) => Step::Decided(request, Cast::default_at(desk.provider)),
            (None, Mode::Interactive) => Step::Ask(self.ask(desk, request)),
        }
    }

    /// Reads the page's form. A choice that cannot be taken shows the page
    /// again, and the sign-in goes on waiting.
    pub(crate) fn choose(&self, desk: &Desk, form: &Params) -> Result<(R, Cast), Answer> {
        let handle = form.get("request").unwrap_or_default();
        let over = || pages::sign_in_over(desk.provider);
        let waiting = self.0.look(handle, desk.now_ms()).ok_or_else(over)?;
        let cast = chosen(desk.provider, form)
            .map_err(|problem| page(desk, handle, &waiting, Some(&problem)))?;
        let request = self.0.take(handle, desk.now_ms()).ok_or_else(over)?;
        Ok((request, cast))
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    pub(crate) fn bytes_held(&self) -> usize {
        self.0.bytes_held()
    }

    fn ask(&self, desk: &Desk, request: R) -> Answer {
        let handle = chance::url_safe(43);
        let page = page(desk, &handle, &request, None);
        self.0
            .put(handle, request, desk.now_ms() + PAGE_LIFETIME_MS);
        page
    }
}

fn page<R: Request>(desk: &Desk, handle: &str, request: &R, problem: Option<&str>) -> Answer {
    pages::sign_in(&SignInPage {
        provider: desk.provider,
        action: PATH,
        handle,
        client_id: desk.client.client_id(),
        callback_host: request.redirect_uri().host(),
        scope: &request.scope(),
        people: &seeded(),
        misbehaviours: &Misbehaviour::grouped(desk.provider),
        problem,
    })
}

/// What a form chose: a button with a misbehaviour, one with a person, or the
/// fields of another person.
fn chosen(provider: Provider, form: &Params) -> Result<Cast, String> {
    match (form.get("misbehave"), form.get("person")) {
        (Some(name), _) => Misbehaviour::parse(provider, name)
            .map(|misbehaviour| Cast::misbehaving(misbehaviour, provider))
            .map_err(|problem| problem.to_string()),
        (None, Some("other")) => other_person(provider, form)
            .map(Cast::of)
            .map_err(|problem| problem.to_string()),
        (None, key) => known_person(provider, key.unwrap_or_default())
            .map(Cast::of)
            .ok_or_else(|| "Choose a person.".to_owned()),
    }
}

fn known_person(provider: Provider, key: &str) -> Option<Person> {
    let known = seeded().into_iter().find(|known| known.key == key)?;
    Some(known.at(provider).clone())
}

fn other_person(provider: Provider, form: &Params) -> Result<Person, InvalidPerson> {
    let field = |name| form.get(name).map(str::to_owned);
    let person = Person {
        id: field("id").ok_or(InvalidPerson::NoId)?,
        name: field("name"),
        username: field("username"),
        email: field("email"),
        email_verified: form.get("email_verified").is_some(),
        visibility: Visibility::of_private(form.get("email_private").is_some()),
        picture: field("picture"),
        ..Person::default()
    };
    person.check_for(provider).map(|()| person)
}

impl Content for Cast {
    fn heap_bytes(&self) -> usize {
        self.person.heap_bytes()
    }
}

impl Cast {
    fn of(person: Person) -> Self {
        Self {
            person,
            misbehaviour: None,
        }
    }

    fn default_at(provider: Provider) -> Self {
        Self::of(ada().at(provider).clone())
    }

    fn misbehaving(misbehaviour: Misbehaviour, provider: Provider) -> Self {
        let mut cast = Self::default_at(provider);
        spoil::person(misbehaviour, &mut cast.person);
        cast.misbehaviour = Some(misbehaviour);
        cast
    }

    fn scripted(next: Next, provider: Provider) -> Self {
        match next {
            Next::Person(person) => Self::of(person),
            Next::Misbehave(misbehaviour) => Self::misbehaving(misbehaviour, provider),
        }
    }
}
