//! Two operations at once, in an order that is forced: the first pauses at a fail point, the
//! second overtakes it or waits for it, and then the first goes on, or its broker is killed.

use std::pin::pin;
use std::time::Duration;

use agent::time::within;
use broker::model::LoginId;
use broker::store::fail_points::FailPoint;
use checker::history::Flow;
use checker::model::{Answer, Project, Step};

use super::brokers::Brokers;
use super::comparison::Comparison;
use super::pairs::Pair;
use crate::RunError;
use crate::cluster::replica::PauseAt;
use crate::recorder::{Call, Recorded};

/// A second operation that has not ended by then waits for the first.
const PATIENCE: Duration = Duration::from_millis(40);

/// The fate of the operation that pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It goes on once the other has ended, or waits for it.
    GoesOn,
    /// Its broker is killed.
    Dies,
}

/// The number of times that operations were played at once, and whether each order was seen.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Forced {
    pub(crate) overlaps: u64,
    pub(crate) crashes: u64,
    orders: [bool; 2],
}

impl Forced {
    /// Whether both orders were seen.
    pub(crate) fn both_orders(&self) -> bool {
        self.orders == [true; 2]
    }

    /// The counts of both, for different pairs.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            overlaps: self.overlaps + other.overlaps,
            crashes: self.crashes + other.crashes,
            ..self
        }
    }

    fn note(&mut self, pair: &Pair<'_>, then: Then, answers: &[Option<Answer>; 2]) {
        match then {
            Then::GoesOn => self.overlaps += 1,
            Then::Dies => self.crashes += 1,
        }
        for (seen, order) in self.orders.iter_mut().zip(&pair.answers) {
            let order = order.clone().map(|it| Some(checker::as_seen(it)));
            *seen |= order == *answers;
        }
    }
}

/// Plays a pair with a pause of each of its operations at each point, each time that the
/// operation comes there, and with a crash there.
pub(crate) async fn force(brokers: &mut Brokers, pair: &Pair<'_>) -> Result<Forced, RunError> {
    let mut forced = Forced::default();
    for first in [0, 1] {
        for (point, then) in FailPoint::ALL
            .iter()
            .flat_map(|it| [(*it, Then::GoesOn), (*it, Then::Dies)])
        {
            for nth in 1.. {
                let mut comparison = Comparison::begin(brokers, pair.world).await?;
                comparison.play_all(&pair.graph.path_to(pair.state)).await?;
                let at = PauseAt { point, nth };
                match comparison.overlap(pair, first, at, then).await? {
                    Some(answers) => forced.note(pair, then, &answers),
                    None => break,
                }
            }
        }
    }
    Ok(forced)
}

impl Comparison<'_> {
    /// Plays both operations, and then asks for everything that they could have granted. Their
    /// answers, in the order of the pair; none, if the first did not come to the point.
    async fn overlap(
        mut self,
        pair: &Pair<'_>,
        first: usize,
        at: PauseAt,
        then: Then,
    ) -> Result<Option<[Option<Answer>; 2]>, RunError> {
        let calls = [pair.steps[first], pair.steps[1 - first]].map(|step| self.call(step));
        self.brokers.cluster.brokers[0].pause_at(at).await?;
        let Some(mut both) = self.at_once(&calls, then).await? else {
            return Ok(None);
        };
        if then == Then::Dies {
            for it in &mut both {
                it.operation.is_settled = false;
            }
            self.brokers.crash().await?;
        }
        let [one, other] = both;
        let mut answers = [self.record(one).await?, self.record(other).await?];
        answers.rotate_left(first);
        self.ask(pair).await?;
        if then == Then::GoesOn {
            let record = self.brokers.take_record(&self.login_id()?);
            self.history.audit = Some(record);
        }
        let checked = checker::check(&self.history);
        checked.map_err(|violation| format!("{violation}\n{}", self.history))?;
        Ok(Some(answers))
    }

    /// Makes the first call, and the second while the first pauses; none, if it does not.
    async fn at_once(
        &mut self,
        [first, second]: &[Call; 2],
        then: Then,
    ) -> Result<Option<[Recorded; 2]>, RunError> {
        let last = self.brokers.cluster.brokers.len() - 1;
        let (here, there) = (self.brokers.endpoint(0), self.brokers.endpoint(last));
        let recorder = &self.brokers.recorder;
        let broker = &mut self.brokers.cluster.brokers[0];
        let mut first = pin!(recorder.perform(&here, first));
        tokio::select! {
            paused = broker.wait_until_paused() => paused?,
            _ = &mut first => {
                broker.go_on().await?;
                return Ok(None);
            }
        }
        let mut second = pin!(recorder.perform(&there, second));
        let early = within(PATIENCE, &mut second).await;
        match then {
            Then::GoesOn => broker.go_on().await?,
            Then::Dies => broker.process.stop(),
        }
        let first = first.await;
        let second = match early {
            Some(early) => early,
            None => second.await,
        };
        Ok(Some([first, second]))
    }

    /// Keeps what an operation brought. Its answer, if there was one.
    async fn record(&mut self, recorded: Recorded) -> Result<Option<Answer>, RunError> {
        let (operation, response) = (recorded.operation, recorded.response);
        if let Some(response) = response.filter(|_| operation.is_definite()) {
            self.brokers.logged(&response).await?;
            self.player.keep(operation.step(), &response);
        }
        let users = &self.history.users;
        let number = |user| {
            let mut numbered = users.iter();
            numbered.find_map(|(number, it)| (*it == user).then_some(*number))
        };
        let answer = operation.answer().cloned();
        self.history.operations.push(operation);
        Ok(answer.map(|it| it.map(|user| number(user).unwrap_or_default())))
    }

    /// Repeats both operations, and reads whatever there is.
    async fn ask(&mut self, pair: &Pair<'_>) -> Result<(), RunError> {
        let [one, other] = pair.steps;
        let operations = self.history.operations.iter();
        let unanswered = operations.filter(|it| !it.is_definite());
        let visitors = unanswered.filter_map(|it| it.step().by());
        let unanswered: Vec<_> = visitors
            .filter(|it| self.player.has_no_cookies(*it))
            .collect();
        let read = Step::read(Project::A, None);
        let redeem = Step::redeem(1, Project::A, None);
        let profile = Step::Profile { upstream_login: 1 };
        let of_flow = match self.history.flow {
            Flow::Clean => vec![read, read],
            Flow::Legacy => vec![profile, redeem, profile],
        };
        for step in [one.again(2), other.again(2)].into_iter().chain(of_flow) {
            // A browser that got no answer got no cookie: it is another one now.
            let is_stranger = step.by().is_some_and(|it| unanswered.contains(&it));
            if self.player.can_take(step) && !is_stranger {
                let call = self.call(step);
                let endpoint = self.brokers.endpoint(0);
                let recorded = self.brokers.recorder.perform(&endpoint, &call).await;
                self.record(recorded).await?;
            }
        }
        Ok(())
    }

    /// The id of the login in the log.
    fn login_id(&self) -> Result<String, RunError> {
        let id = match self.history.flow {
            Flow::Clean => LoginId::of_key(&self.player.key(1).parse()?),
            Flow::Legacy => LoginId::of_state(&self.player.transaction(1).state.parse()?),
        };
        Ok(id.as_str().to_owned())
    }
}
