//! Which steps are worth taking next: mostly those that get somewhere, often
//! those on the edge of a moment, and every foolish one now and then.

use proptest::strategy::{BoxedStrategy, Just, Strategy as _};
use proptest_state_machine::ReferenceStateMachine;

use super::coverage::edges;
use super::script::{Failure, Moment, Project, Provider, Step, Visitor, Wrong};
use super::{Login, Purpose, Stage, Trip, World};

const MOST_LOGINS: usize = 4;
const PROJECTS: [Project; 2] = [Project::A, Project::B];
const PROVIDERS: [Provider; 2] = [Provider::Google, Provider::GitHub];
const VISITORS: [Visitor; 3] = [Visitor::Ann, Visitor::Bob, Visitor::Curl];

/// Nothing waits long enough in vain.
const WAITS_MS: [i64; 3] = [1, 20_000, 200_000];

/// How much likelier a step is when the moment that decides it is at hand.
const AT_THE_EDGE: u32 = 4;

impl ReferenceStateMachine for World {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(world: &Self) -> BoxedStrategy<Step> {
        let choices = Choices::of(world);
        // A step that turned into another would not be read as a simpler script.
        (0..choices.total)
            .prop_map(move |drawn| choices.at(drawn))
            .no_shrink()
            .boxed()
    }

    fn apply(mut world: Self, step: &Step) -> Self {
        world.step(*step);
        world
    }

    fn preconditions(world: &Self, step: &Step) -> bool {
        world.allows(*step)
    }
}

/// Steps with their weights.
#[derive(Debug, Default)]
struct Choices {
    steps: Vec<(u32, Step)>,
    total: u32,
}

impl Choices {
    fn of(world: &World) -> Self {
        let mut choices = Self::default();
        choices.beginnings(world);
        world
            .logins
            .iter()
            .for_each(|(id, login)| choices.about_login(world, *id, login));
        world
            .trips
            .iter()
            .for_each(|(id, trip)| choices.about_trip(world, *id, trip));
        choices.about_time(world);
        choices
    }

    fn at(&self, mut drawn: u32) -> Step {
        for (weight, step) in &self.steps {
            match drawn.checked_sub(*weight) {
                Some(rest) => drawn = rest,
                None => return *step,
            }
        }
        unreachable!("drawn below the total")
    }

    fn add(&mut self, world: &World, weight: u32, step: Step) {
        if !world.allows(step) {
            return;
        }
        let is_at_edge = !edges(world, step).is_empty();
        let weight = if is_at_edge {
            weight * AT_THE_EDGE
        } else {
            weight
        };
        self.total += weight;
        self.steps.push((weight, step));
    }

    /// New logins, as long as there are few.
    fn beginnings(&mut self, world: &World) {
        let (login, trip) = (next_id(world.logins.keys()), next_id(world.trips.keys()));
        let is_quiet = world.logins.len() + world.trips.len() < 3;
        let appeal = if is_quiet { 8 } else { 1 };
        for project in PROJECTS {
            for by in [Visitor::Ann, Visitor::Bob] {
                let at = PROVIDERS[usize::from(trip) % 2];
                let step = Step::Authorize {
                    trip,
                    by,
                    project,
                    at,
                };
                self.add(world, appeal, step);
            }
        }
        if world.logins.len() < MOST_LOGINS {
            self.starts(world, login, 2 * appeal);
        }
    }

    /// Starts with a fresh key, with each old one, and wrongly.
    fn starts(&mut self, world: &World, login: u8, appeal: u32) {
        let at = PROVIDERS[usize::from(login) % 2];
        let start = |key, by, wrong| Step::Start {
            login,
            key,
            by,
            at,
            wrong,
        };
        for by in PROJECTS {
            self.add(world, appeal, start(login, by, None));
            for key in world.logins.keys() {
                self.add(world, 1, start(*key, by, None));
            }
        }
        for wrong in [Wrong::Secret, Wrong::Callback] {
            self.add(world, 1, start(login, Project::A, Some(wrong)));
        }
    }

    fn about_login(&mut self, world: &World, login: u8, known: &Login) {
        let trip = next_id(world.trips.keys());
        let appeal = if known.stage == Stage::Pending { 6 } else { 1 };
        for by in VISITORS {
            self.add(world, appeal, Step::Visit { login, by, trip });
        }
        let read = |by, wrong| Step::Read { login, by, wrong };
        let appeal = if matches!(known.stage, Stage::Settled(_)) {
            20
        } else {
            3
        };
        self.add(world, appeal, read(known.project, None));
        self.add(world, 2, read(other(known.project), None));
        for wrong in [Wrong::Secret, Wrong::Callback] {
            self.add(world, 1, read(known.project, Some(wrong)));
        }
    }

    fn about_trip(&mut self, world: &World, trip: u8, known: &Trip) {
        let sign_in = |ending| Step::SignIn { trip, ending };
        self.add(world, 20, sign_in(Ok(())));
        for failure in [Failure::Denied, Failure::Unavailable, Failure::Invalid] {
            self.add(world, 2, sign_in(Err(failure)));
        }
        for by in VISITORS {
            let is_first = by == known.visitor && !known.is_spent && world.now_ms < known.ends_ms;
            let appeal = if is_first { 30 } else { 1 };
            self.add(world, appeal, Step::Deliver { trip, by });
        }
        if let Purpose::Legacy { project, .. } = known.purpose {
            self.about_grant(world, trip, project);
        }
    }

    fn about_grant(&mut self, world: &World, trip: u8, project: Project) {
        let redeem = |by, wrong| Step::Redeem { trip, by, wrong };
        let appeal = if world.token(trip).is_none() { 12 } else { 4 };
        self.add(world, appeal, redeem(project, None));
        self.add(world, 2, redeem(other(project), None));
        for wrong in [Wrong::Secret, Wrong::Callback, Wrong::Verifier] {
            self.add(world, 2, redeem(project, Some(wrong)));
        }
        self.add(world, 12, Step::Profile { trip });
        self.add(world, 3, Step::Revoke { trip });
        // All else ends long before a token does.
        self.clock(world, 2, Moment::TokenEnds(trip));
        if world.token(trip).is_none() {}
    }

    /// Time goes on to the next moment at which something ends, or to the one
    /// after it: who leaps further meets nothing alive.
    fn about_time(&mut self, world: &World) {
        for (weight, to) in [2, 1].into_iter().zip(next_moments(world)) {
            self.clock(world, weight, to);
        }
        for ms in WAITS_MS {
            self.add(world, 1, Step::Wait { ms });
        }
        self.add(world, 2, Step::Restart);
    }

    fn clock(&mut self, world: &World, weight: u32, to: Moment) {
        for off_ms in -1..=1 {
            self.add(world, weight, Step::Clock { to, off_ms });
        }
    }
}

/// The moments at which something ends, the next one first.
fn next_moments(world: &World) -> Vec<Moment> {
    let of_logins = world
        .logins
        .keys()
        .flat_map(|login| [Moment::LoginEnds(*login), Moment::LoginForgotten(*login)]);
    let of_trips = world.trips.keys().flat_map(|trip| {
        [
            Moment::TripEnds(*trip),
            Moment::AnswerStale(*trip),
            Moment::CodeEnds(*trip),
            Moment::TokenEnds(*trip),
        ]
    });
    let mut ahead: Vec<_> = of_logins
        .chain(of_trips)
        .filter_map(|moment| Some((world.when(moment)?, moment)))
        .filter(|(at_ms, _)| *at_ms >= world.now_ms)
        .collect();
    ahead.sort_by_key(|(at_ms, _)| *at_ms);
    ahead.dedup_by_key(|(at_ms, _)| *at_ms);
    ahead.into_iter().map(|(_, moment)| moment).collect()
}

fn other(project: Project) -> Project {
    match project {
        Project::A => Project::B,
        Project::B => Project::A,
    }
}

/// The number of the login or trip that begins next.
fn next_id<'a>(known: impl DoubleEndedIterator<Item = &'a u8>) -> u8 {
    known.last().map_or(1, |id| id + 1)
}
