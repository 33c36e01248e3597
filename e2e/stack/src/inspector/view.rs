//! What the page tells of logins: a line of the list for each, and the whole story
//! of one.

use std::sync::Arc;

use super::diagram::{Cast, Links};
use super::story::{Aside, Destination, Row};
use super::{diagram, exchange, layout, story, words};
use crate::logbook::Event;
use crate::truth::{self, Login};
use crate::world::World;

/// How many logins the list shows.
const MOST_LOGINS: usize = 40;

/// How many events without a login are shown.
const MOST_OTHERS: usize = 60;

/// The largest number of a login's events that a page shows.
const MOST_EVENTS: usize = 100;

/// The calls that belong to no login, as a page.
pub(crate) const OTHERS: &str = "/others";

/// One login in the list.
pub(crate) struct Entry {
    pub(crate) login: String,
    pub(crate) project: String,
    pub(crate) what: String,
    pub(crate) state: &'static str,
    pub(crate) at: String,
    /// What went wrong last: how it is drawn, and a word.
    pub(crate) trouble: Option<(&'static str, String)>,
}

/// A story, with one of its exchanges opened if one is chosen.
pub(crate) struct Chosen {
    pub(crate) path: String,
    /// The login's fingerprint; none for calls of no login.
    pub(crate) login: Option<String>,
    pub(crate) title: String,
    pub(crate) state: Option<&'static str>,
    pub(crate) diagram: String,
    pub(crate) steps: Vec<TextStep>,
    pub(crate) exchange: Option<exchange::View>,
}

/// A row of the story in words.
pub(crate) struct TextStep {
    pub(crate) mood: &'static str,
    pub(crate) says: String,
    pub(crate) link: Option<String>,
    pub(crate) is_chosen: bool,
    pub(crate) aside: Option<Aside>,
}

/// The latest logins, the newest first.
pub(crate) async fn list(world: &World) -> Vec<Entry> {
    let mut entries = Vec::new();
    for fingerprint in world.watch.logbook.logins(MOST_LOGINS) {
        let events = world.watch.logbook.events(0, Some(&fingerprint));
        if let Some(login) = truth::login(world, &fingerprint).await {
            entries.push(entry(world, login, &events));
        }
    }
    entries
}

fn entry(world: &World, login: Login, events: &[Arc<Event>]) -> Entry {
    let latest = events.last();
    let short = events.iter().rev().find_map(|it| Aside::in_short(it));
    Entry {
        project: project(world, login.project.as_deref()),
        what: what(&login),
        state: words::state(login.state),
        at: latest.map_or_else(String::new, |event| words::time_of_day(event.at)),
        trouble: short.map(|(mood, words)| (layout::mood(mood), words)),
        login: login.login,
    }
}

fn what(login: &Login) -> String {
    match login.provider {
        Some(name) => format!(
            "{} with {}",
            words::flow(login.flow),
            words::provider(Some(name))
        ),
        None => words::flow(login.flow).to_owned(),
    }
}

/// The story of one login; none if nothing is known of it.
pub(crate) async fn login(world: &World, fingerprint: &str, call: Option<&str>) -> Option<Chosen> {
    let login = truth::login(world, fingerprint).await?;
    let (events, rows) = rows(world, Some(fingerprint));
    let telling = Telling {
        path: format!("/logins/{fingerprint}"),
        cast: cast(world, &login),
        call,
    };
    Some(Chosen {
        login: Some(fingerprint.to_owned()),
        title: what(&login),
        state: Some(words::state(login.state)),
        ..telling.of(world, &events, &rows)
    })
}

/// The calls that belong to no login.
pub(crate) fn others(world: &World, call: Option<&str>) -> Chosen {
    let (events, rows) = rows(world, None);
    let telling = Telling {
        path: OTHERS.to_owned(),
        cast: Cast {
            consumer: "anybody".to_owned(),
            provider: None,
        },
        call,
    };
    telling.of(world, &events, &rows)
}

/// The picture of one login by itself.
pub(crate) async fn picture(world: &World, fingerprint: &str) -> Option<String> {
    let login = truth::login(world, fingerprint).await?;
    let (_, rows) = rows(world, Some(fingerprint));
    Some(diagram::alone(&rows, &cast(world, &login)))
}

fn cast(world: &World, login: &Login) -> Cast {
    Cast {
        consumer: project(world, login.project.as_deref()),
        provider: login.provider,
    }
}

/// A project's name; of an unknown one the id that it calls itself by.
fn project(world: &World, client_id: Option<&str>) -> String {
    let Some(client_id) = client_id else {
        return "not recognised".to_owned();
    };
    let known = world.projects.list();
    let project = known.iter().find(|it| it.client_id.as_str() == client_id);
    project.map_or(client_id, |it| it.name.as_str()).to_owned()
}

fn rows(world: &World, login: Option<&str>) -> (Vec<Arc<Event>>, Vec<Row>) {
    let logbook = &world.watch.logbook;
    let mut events = logbook.events(0, login);
    let most = match login {
        Some(_) => MOST_EVENTS,
        None => MOST_OTHERS,
    };
    events.retain(|event| login.is_some() || is_noteworthy(event));
    let left_out = events.len().saturating_sub(most);
    events.drain(..left_out);
    let leads_to = |request_id: &str| {
        let location = logbook.location(request_id)?;
        let mut providers = [&world.urls.google, &world.urls.github].into_iter();
        Some(match providers.any(|url| location.starts_with(url)) {
            true => Destination::Provider,
            false => Destination::Home,
        })
    };
    let mut rows = story::tell(&events, &leads_to);
    if left_out > 0 {
        let note = format!("{left_out} older events are left out");
        rows.insert(0, Row::Pause(note));
    }
    (events, rows)
}

/// Whether a call without a login is worth a look: health checks are not.
fn is_noteworthy(event: &Event) -> bool {
    let is_well = event.rule.is_none() && event.fault.is_none() && !event.resend;
    event.login.is_none() && !is_well
}

struct Telling<'a> {
    path: String,
    cast: Cast,
    call: Option<&'a str>,
}

impl Telling<'_> {
    fn of(self, world: &World, events: &[Arc<Event>], rows: &[Row]) -> Chosen {
        let links = Links {
            path: &self.path,
            chosen: self.call,
        };
        let exchange = self.call.and_then(|id| {
            let crossed = world.watch.logbook.exchange(id);
            exchange::view(id, events, crossed)
        });
        Chosen {
            login: None,
            title: "Calls that belong to no login".to_owned(),
            state: None,
            diagram: diagram::in_page(rows, &self.cast, &links),
            steps: rows.iter().map(|row| self.step(row, &links)).collect(),
            exchange,
            path: self.path.clone(),
        }
    }

    fn step(&self, row: &Row, links: &Links<'_>) -> TextStep {
        let says = self.cast.says(row);
        match row {
            Row::Arrow(arrow) => TextStep {
                mood: layout::mood(arrow.mood),
                says,
                link: arrow.exchange.as_deref().map(|id| links.to(id)),
                is_chosen: arrow
                    .exchange
                    .as_deref()
                    .is_some_and(|id| links.is_chosen(id)),
                aside: None,
            },
            Row::Committed(_) => TextStep::plain("kept", says),
            Row::Pause(_) => TextStep::plain("pause", says),
            Row::Aside(aside) => TextStep {
                aside: Some(aside.clone()),
                ..TextStep::plain(layout::mood(aside.mood), says)
            },
        }
    }
}

impl TextStep {
    fn plain(mood: &'static str, says: String) -> Self {
        Self {
            mood,
            says,
            link: None,
            is_chosen: false,
            aside: None,
        }
    }
}
