//! Generates the next line of a script: mostly a valid step, often at the edge of a deadline,
//! sometimes an invalid one.

use consistency::model::{
    Ending, Failure, Login, Progress, Project, Provider, Purpose, Step, UpstreamLogin, Visitor,
    Wrong,
};
use proptest::strategy::{BoxedStrategy, Just, Strategy as _};
use proptest_state_machine::ReferenceStateMachine;

use crate::histories::edges;
use crate::script::{Line, Moment, TimedModel};

const MOST_LOGINS: usize = 4;
const PROJECTS: [Project; 2] = [Project::A, Project::B];
const PROVIDERS: [Provider; 2] = [Provider::Google, Provider::GitHub];
const BROWSERS: [Visitor; 2] = [Visitor::Browser(1), Visitor::Browser(2)];
const VISITORS: [Visitor; 3] = [BROWSERS[0], BROWSERS[1], Visitor::Curl];

/// Waits that end before a moment does.
const WAITS_MS: [i64; 3] = [1, 20_000, 200_000];

/// The weight of a step whose deciding moment is near; other steps have 1.
const AT_THE_EDGE: u32 = 4;

impl ReferenceStateMachine for TimedModel {
    type State = Self;
    type Transition = Line;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(timed: &Self) -> BoxedStrategy<Line> {
        let Choices { lines, total, .. } = Choices::of(timed);
        // A line that turned into another would not be read as a simpler script.
        (0..total)
            .prop_map(move |drawn| pick(&lines, drawn))
            .no_shrink()
            .boxed()
    }

    fn apply(mut timed: Self, line: &Line) -> Self {
        timed.step(*line);
        timed
    }

    fn preconditions(timed: &Self, line: &Line) -> bool {
        timed.allows(*line)
    }
}

/// The lines that make sense next, with weights.
struct Choices<'w> {
    timed: &'w TimedModel,
    lines: Vec<(u32, Line)>,
    total: u32,
}

impl<'w> Choices<'w> {
    fn of(timed: &'w TimedModel) -> Self {
        let mut choices = Self {
            timed,
            lines: Vec::new(),
            total: 0,
        };
        choices.beginnings();
        for (login, known) in &timed.model.logins {
            choices.about_login(*login, known);
        }
        for (upstream_login, known) in &timed.model.upstream_logins {
            choices.about_upstream_login(*upstream_login, known);
        }
        choices.about_time();
        choices
    }

    /// One more choice, if it is one now.
    fn add(&mut self, weight: u32, step: Step) {
        self.add_line(weight, Line::Do(step));
    }

    fn add_line(&mut self, weight: u32, line: Line) {
        if !self.timed.allows(line) {
            return;
        }
        let factor = match edges(self.timed, line).as_slice() {
            [] => 1,
            _ => AT_THE_EDGE,
        };
        self.total += weight * factor;
        self.lines.push((weight * factor, line));
    }

    /// New logins, as long as there are few.
    fn beginnings(&mut self) {
        let (login, upstream_login) = (
            next_id(self.timed.model.logins.keys()),
            next_id(self.timed.model.upstream_logins.keys()),
        );
        let is_quiet = self.timed.model.logins.len() + self.timed.model.upstream_logins.len() < 3;
        let appeal = if is_quiet { 8 } else { 1 };
        for project in PROJECTS {
            for by in BROWSERS {
                let at = PROVIDERS[usize::from(upstream_login) % 2];
                let step = Step::Authorize {
                    upstream_login,
                    by,
                    project,
                    at,
                };
                self.add(appeal, step);
            }
        }
        if self.timed.model.logins.len() < MOST_LOGINS {
            self.starts(login, 2 * appeal);
        }
    }

    /// Starts with a fresh key, with each old one, and wrongly.
    fn starts(&mut self, login: u8, appeal: u32) {
        let at = PROVIDERS[usize::from(login) % 2];
        let start = |key, by, wrong| Step::Start {
            login,
            key,
            by,
            at,
            wrong,
        };
        for by in PROJECTS {
            self.add(appeal, start(login, by, None));
            for key in self.timed.model.logins.keys() {
                self.add(1, start(*key, by, None));
            }
        }
        for wrong in [Wrong::Secret, Wrong::Callback] {
            self.add(1, start(login, Project::A, Some(wrong)));
        }
    }

    fn about_login(&mut self, login: u8, known: &Login) {
        let upstream_login = next_id(self.timed.model.upstream_logins.keys());
        let (visit_appeal, read_appeal) = match known.progress {
            Progress::Pending => (6, 3),
            Progress::Completed(_) => (1, 20),
            Progress::Consumed => (1, 3),
        };
        for by in VISITORS {
            self.add(
                visit_appeal,
                Step::Visit {
                    login,
                    by,
                    upstream_login,
                },
            );
        }
        let read = |by, wrong| Step::Read {
            key: known.key,
            by,
            wrong,
        };
        self.add(read_appeal, read(known.project, None));
        self.add(2, read(other(known.project), None));
        for wrong in [Wrong::Secret, Wrong::Callback] {
            self.add(1, read(known.project, Some(wrong)));
        }
    }

    fn about_upstream_login(&mut self, upstream_login: u8, known: &UpstreamLogin) {
        let sign_in = |ending| Step::SignIn {
            upstream_login,
            ending,
        };
        self.add(20, sign_in(Ending::Success));
        for ending in [
            Ending::Error(Failure::Denied),
            Ending::BadCode(Failure::Unavailable),
            Ending::BadCode(Failure::Invalid),
        ] {
            self.add(2, sign_in(ending));
        }
        for by in VISITORS {
            let is_first = by == known.visitor
                && !known.is_consumed
                && self.timed.now_ms < known.ends.earliest_ms;
            let appeal = if is_first { 30 } else { 1 };
            self.add(appeal, Step::Deliver { upstream_login, by });
        }
        if let Purpose::Legacy { project, .. } = known.purpose {
            self.about_grant(upstream_login, project);
        }
    }

    fn about_grant(&mut self, upstream_login: u8, project: Project) {
        let redeem = |by, wrong| Step::Redeem {
            upstream_login,
            by,
            wrong,
        };
        let appeal = if self.timed.model.token(upstream_login).is_none() {
            12
        } else {
            4
        };
        self.add(appeal, redeem(project, None));
        self.add(2, redeem(other(project), None));
        for wrong in [Wrong::Secret, Wrong::Callback, Wrong::Verifier] {
            self.add(2, redeem(project, Some(wrong)));
        }
        self.add(12, Step::Profile { upstream_login });
        self.add(3, Step::Revoke { upstream_login });
        // All else ends long before a token does.
        self.clock(2, Moment::TokenEnds(upstream_login));
    }

    /// Time goes on to the next moment at which something ends, or to the one
    /// after it: who leaps further meets nothing alive.
    fn about_time(&mut self) {
        for (weight, to) in [2, 1].into_iter().zip(next_moments(self.timed)) {
            self.clock(weight, to);
        }
        for ms in WAITS_MS {
            self.add_line(1, Line::Wait { ms });
        }
        self.add_line(1, Line::Restart);
    }

    fn clock(&mut self, weight: u32, to: Moment) {
        for off_ms in -1..=1 {
            self.add_line(weight, Line::Clock { to, off_ms });
        }
    }
}

/// The moments at which something ends, the next one first.
fn next_moments(timed: &TimedModel) -> Vec<Moment> {
    let of_logins = timed
        .model
        .logins
        .keys()
        .flat_map(|login| [Moment::LoginEnds(*login), Moment::LoginForgotten(*login)]);
    let of_upstream_logins = timed
        .model
        .upstream_logins
        .keys()
        .flat_map(|upstream_login| {
            [
                Moment::UpstreamLoginEnds(*upstream_login),
                Moment::AnswerStale(*upstream_login),
                Moment::CodeEnds(*upstream_login),
                Moment::TokenEnds(*upstream_login),
            ]
        });
    let mut ahead: Vec<_> = of_logins
        .chain(of_upstream_logins)
        .filter_map(|moment| Some((timed.when(moment)?, moment)))
        .filter(|(at_ms, _)| *at_ms >= timed.now_ms)
        .collect();
    ahead.sort_by_key(|(at_ms, _)| *at_ms);
    ahead.dedup_by_key(|(at_ms, _)| *at_ms);
    ahead.into_iter().map(|(_, moment)| moment).collect()
}

/// The line at which `drawn` points, when all weights lie side by side.
fn pick(lines: &[(u32, Line)], mut drawn: u32) -> Line {
    for (weight, line) in lines {
        match drawn.checked_sub(*weight) {
            Some(rest) => drawn = rest,
            None => return *line,
        }
    }
    unreachable!("it is drawn below the total")
}

fn other(project: Project) -> Project {
    match project {
        Project::A => Project::B,
        Project::B => Project::A,
    }
}

/// The number of the login or upstream login that begins next.
fn next_id<'a>(known: impl DoubleEndedIterator<Item = &'a u8>) -> u8 {
    known.last().map_or(1, |id| id + 1)
}
