//! The pages.

use std::sync::Arc;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, Provider, Upstream};
use rocket::http::{ContentType, Header, Status};
use rocket::response::content::RawHtml;
use rocket::{Responder, State, get};
use sha2::{Digest as _, Sha256};

use super::view::{Chosen, Entry};
use super::{diagram, view, words};
use crate::control::Refused;
use crate::faults::{Fault, Standing};
use crate::operation::Operation;
use crate::world::{Urls, World};

#[derive(Template)]
#[template(path = "inspector.html")]
struct Page<'a> {
    urls: &'a Urls,
    /// The last event that is on the page.
    seq: u64,
    clock: ClockView,
    entries: Vec<Entry>,
    others: usize,
    chosen: Option<Chosen>,
    /// Whether whatever login is newest is shown.
    follows: bool,
    standing: Vec<Standing>,
    queued: Vec<(&'static str, &'static str)>,
    operations: Vec<Operation>,
    faults: &'static [Fault],
    providers: Vec<Misbehaviours>,
}

struct ClockView {
    now_ms: i64,
    date: String,
    time: String,
    advanced: String,
    is_advanced: bool,
}

/// What can go wrong at a provider, by where it strikes.
struct Misbehaviours {
    id: &'static str,
    name: &'static str,
    groups: Vec<(&'static str, Vec<(&'static str, &'static str)>)>,
}

/// Which story is on the page.
enum Subject<'a> {
    Newest,
    Login(&'a str),
    Others,
}

type Answer = (Status, RawHtml<String>);

/// The login of which something was heard last.
#[get("/?<call>")]
pub(super) async fn newest(call: Option<&str>, world: &State<Arc<World>>) -> Answer {
    render(world, &Subject::Newest, call).await
}

#[get("/logins/<login>?<call>")]
pub(super) async fn login(login: &str, call: Option<&str>, world: &State<Arc<World>>) -> Answer {
    render(world, &Subject::Login(login), call).await
}

#[get("/others?<call>")]
pub(super) async fn others(call: Option<&str>, world: &State<Arc<World>>) -> Answer {
    render(world, &Subject::Others, call).await
}

/// A diagram as a file: with its own style, and nothing to load.
#[derive(Responder)]
pub(super) struct Picture {
    svg: String,
    content_type: ContentType,
    policy: Header<'static>,
}

#[get("/logins/<login>/diagram.svg")]
pub(super) async fn picture(login: &str, world: &State<Arc<World>>) -> Result<Picture, Refused> {
    let svg = view::picture(world, login).await;
    let svg = svg.ok_or_else(|| Refused::missing("no event tells of this login"))?;
    // Its own style, and no other.
    let style = STANDARD.encode(Sha256::digest(diagram::STYLE));
    let policy = format!("default-src 'none'; style-src 'sha256-{style}'");
    Ok(Picture {
        svg,
        content_type: ContentType::SVG,
        policy: Header::new("Content-Security-Policy", policy),
    })
}

async fn render(world: &World, subject: &Subject<'_>, call: Option<&str>) -> Answer {
    let entries = view::list(world).await;
    let others = view::others(world, call);
    let others_count = others.steps.iter().filter(|it| it.aside.is_some()).count();
    let chosen = match subject {
        Subject::Newest => match entries.first() {
            Some(newest) => view::login(world, &newest.login, call).await,
            None => None,
        },
        Subject::Login(fingerprint) => view::login(world, fingerprint, call).await,
        Subject::Others => Some(others),
    };
    let is_lost = matches!(subject, Subject::Login(_)) && chosen.is_none();
    let last = world.watch.logbook.events(0, None).pop();
    let page = Page {
        urls: &world.urls,
        seq: last.map_or(0, |event| event.seq),
        clock: ClockView::of(world),
        entries,
        others: others_count,
        chosen,
        follows: matches!(subject, Subject::Newest),
        standing: world.watch.faults.standing(),
        queued: Provider::ALL
            .into_iter()
            .flat_map(|provider| queued(world.upstream.provider(provider)))
            .collect(),
        operations: Operation::all().collect(),
        faults: Fault::ALL,
        providers: Provider::ALL.into_iter().map(Misbehaviours::of).collect(),
    };
    let status = if is_lost {
        Status::NotFound
    } else {
        Status::Ok
    };
    (
        status,
        RawHtml(page.render().expect("the template only writes strings")),
    )
}

impl Page<'_> {
    fn is_chosen(&self, login: &str) -> bool {
        let chosen = self.chosen.as_ref();
        chosen.and_then(|it| it.login.as_deref()) == Some(login)
    }
}

/// What the next sign-ins at `upstream` will be.
fn queued(upstream: &Upstream) -> Vec<(&'static str, &'static str)> {
    let name = words::provider(Some(upstream.provider().name()));
    let next = |next: Next| match next {
        Next::User(_) => "a person, without a page",
        Next::Misbehave(misbehaviour) => misbehaviour.name(),
    };
    upstream
        .queued()
        .into_iter()
        .map(|it| (name, next(it)))
        .collect()
}

impl ClockView {
    fn of(world: &World) -> Self {
        let (now_ms, advanced_ms) = (world.clock.now_ms(), world.clock.advanced_ms());
        Self {
            now_ms,
            date: words::date(now_ms),
            time: words::time_of_day(now_ms),
            advanced: words::duration(advanced_ms),
            is_advanced: advanced_ms != 0,
        }
    }
}

impl Misbehaviours {
    fn of(provider: Provider) -> Self {
        let known = Misbehaviour::of(provider);
        let of_group = |group: &Group| {
            let its = known.iter().filter(|it| it.group() == *group);
            its.map(|it| (it.name(), it.description(provider)))
                .collect()
        };
        let groups = Group::ALL.iter().map(|it| (it.title(), of_group(it)));
        Self {
            id: provider.name(),
            name: words::provider(Some(provider.name())),
            groups: groups
                .filter(|(_, its): &(_, Vec<_>)| !its.is_empty())
                .collect(),
        }
    }
}
