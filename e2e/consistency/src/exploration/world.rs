//! The bounds of the enumeration: the parties and the values of a world, and the lines that can
//! come next in it.

use checker::history::Flow;
use checker::model::{Ending, Failure, Project, Provider, Purpose, Step, Visitor, Wrong};

use super::script::{Line, Moment, TimedModel};

const PROJECTS: [Project; 2] = [Project::A, Project::B];
const BROWSERS: [Visitor; 2] = [Visitor::Browser(1), Visitor::Browser(2)];
const VISITORS: [Visitor; 3] = [BROWSERS[0], BROWSERS[1], Visitor::Curl];
const ENDINGS: [Ending; 4] = [
    Ending::Success,
    Ending::Error(Failure::Denied),
    Ending::BadCode(Failure::Unavailable),
    Ending::BadCode(Failure::Invalid),
];

/// The bounds of one enumeration: the logins with one session key, or in the legacy flow
/// those with a state of their own each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) flow: Flow,
    pub(crate) provider: Provider,
    /// The most logins that are started with the key.
    pub(crate) logins: u8,
    /// The most upstream logins that begin for one of them.
    pub(crate) upstream_logins: u8,
}

/// Every world.
pub(crate) const WORLDS: [World; 5] = [
    World {
        name: "a clean login at GitHub, with two upstream logins",
        flow: Flow::Clean,
        provider: Provider::GitHub,
        logins: 1,
        upstream_logins: 2,
    },
    World {
        name: "a clean login at Google, whose code ends",
        flow: Flow::Clean,
        provider: Provider::Google,
        logins: 1,
        upstream_logins: 1,
    },
    World {
        name: "a session key that is used again",
        flow: Flow::Clean,
        provider: Provider::GitHub,
        logins: 2,
        upstream_logins: 1,
    },
    World {
        name: "a legacy login at GitHub",
        flow: Flow::Legacy,
        provider: Provider::GitHub,
        logins: 0,
        upstream_logins: 1,
    },
    World {
        name: "a legacy login at Google, whose code ends",
        flow: Flow::Legacy,
        provider: Provider::Google,
        logins: 0,
        upstream_logins: 1,
    },
];

impl World {
    /// The lines that can come next, whatever comes of them.
    pub(crate) fn lines(&self, timed: &TimedModel) -> Vec<Line> {
        let mut steps = match self.flow {
            Flow::Clean => self.clean(timed),
            Flow::Legacy => self.legacy(timed),
        };
        for upstream_login in timed.model.upstream_logins.keys().copied() {
            steps.extend(ENDINGS.map(|ending| Step::sign_in(upstream_login, ending)));
            steps.extend(VISITORS.map(|by| Step::Deliver { upstream_login, by }));
        }
        let lines = steps.into_iter().map(Line::Do).chain(moves(timed));
        lines.filter(|line| self.contains(timed, *line)).collect()
    }

    /// Whether a line makes sense, and does not leave the bounds.
    fn contains(&self, timed: &TimedModel, line: Line) -> bool {
        let mut after = timed.clone();
        timed.allows(line) && {
            after.step(line);
            let begun = after.model.upstream_logins.values();
            let mut of_login = [0; 3];
            for it in begun {
                match it.purpose {
                    Purpose::Clean { login } => of_login[usize::from(login)] += 1,
                    Purpose::Legacy { .. } => of_login[0] += 1,
                }
            }
            after.model.logins.len() <= usize::from(self.logins)
                && of_login.iter().all(|it| *it <= self.upstream_logins)
        }
    }

    fn clean(&self, timed: &TimedModel) -> Vec<Step> {
        let (login, upstream_login) = next_numbers(timed);
        let start = |by, wrong| Step::start(login, by, self.provider, wrong);
        let mut steps = vec![
            start(Project::A, None),
            start(Project::A, Some(Wrong::Secret)),
            start(Project::A, Some(Wrong::Callback)),
        ];
        if login > 1 {
            steps.push(start(Project::B, None));
        }
        for login in timed.model.logins.keys().copied() {
            steps.extend(VISITORS.map(|by| Step::visit(login, by, upstream_login)));
            for by in BROWSERS {
                steps.push(Step::VisitUnvouched { login, by });
                steps.push(Step::Cancel { login, by });
                steps.push(Step::Continue {
                    login,
                    by,
                    upstream_login,
                });
            }
        }
        steps.extend(PROJECTS.map(|by| Step::read(by, None)));
        let wrong = [Wrong::Secret, Wrong::Callback].map(Some);
        steps.extend(wrong.map(|wrong| Step::read(Project::A, wrong)));
        steps
    }

    fn legacy(&self, timed: &TimedModel) -> Vec<Step> {
        let (_, upstream_login) = next_numbers(timed);
        let authorize = |by| Step::authorize(upstream_login, by, Project::A, self.provider);
        let mut steps = VISITORS.map(authorize).to_vec();
        for upstream_login in timed.model.upstream_logins.keys().copied() {
            let redeem = |by, wrong| Step::redeem(upstream_login, by, wrong);
            steps.extend(PROJECTS.map(|by| redeem(by, None)));
            let wrong = [Wrong::Secret, Wrong::Callback, Wrong::Verifier].map(Some);
            steps.extend(wrong.map(|wrong| redeem(Project::A, wrong)));
            steps.push(Step::Profile { upstream_login });
            steps.push(Step::Revoke { upstream_login });
        }
        steps
    }
}

/// The moves of the clock: to each moment on which an answer may depend, and to the
/// milliseconds before and after it.
fn moves(timed: &TimedModel) -> impl Iterator<Item = Line> {
    let TimedModel { model, now_ms } = timed;
    let logins = model.logins.keys();
    let of_logins = logins
        .filter(|it| model.current(**it).is_some())
        .flat_map(|it| [Moment::LoginEnds(*it), Moment::LoginForgotten(*it)]);
    let upstream_logins = model.upstream_logins.iter();
    let stale = upstream_logins
        .clone()
        .filter(|(_, it)| it.may_be_stale(*now_ms))
        .map(|(number, _)| Moment::AnswerStale(*number));
    let of_upstream_logins = upstream_logins.flat_map(|(number, _)| {
        [
            Moment::UpstreamLoginEnds(*number),
            Moment::CodeEnds(*number),
            Moment::TokenEnds(*number),
        ]
    });
    let moments = of_logins.chain(of_upstream_logins).chain(stale);
    moments.flat_map(|to| (-1..=1).map(move |off_ms| Line::Clock { to, off_ms }))
}

/// The numbers of the login and the upstream login that begin next.
fn next_numbers(timed: &TimedModel) -> (u8, u8) {
    let next = |last: Option<&u8>| last.map_or(1, |last| last + 1);
    (
        next(timed.model.logins.keys().last()),
        next(timed.model.upstream_logins.keys().last()),
    )
}
