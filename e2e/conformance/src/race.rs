//! The connections of the races, the answers to one, and what was found in each.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use agent::http::Response;
use agent::race::{Connections, Endpoint};
use reqwest::{Request, RequestBuilder};
use serde_json::{Value, json};

use super::http::{RESPONSE_TIMEOUT, RawRequest, masked_response};
use super::run::Run;
use super::verdict::{Evidence, NotTestable, Stop};

/// The number of requests at once.
pub(crate) const RACERS: usize = 32;

/// The number of requests that the races of a run send at most.
pub const MAX_RACE_REQUESTS: usize = 100_000;

/// The rounds for codes in a whole run: a broker that sells one code in a hundred twice is
/// overlooked in less than one run in a hundred.
const CODE_ROUNDS: usize = 460;

/// The races of a plan.
#[derive(Debug, Clone)]
pub struct RacePlan {
    /// The further addresses of the same broker, without a trailing slash.
    pub also: Vec<String>,
    /// The rounds for codes; the other races have a share of them.
    pub rounds: usize,
}

/// The findings of one race.
#[derive(Debug, Clone, Default)]
pub struct RaceRecord {
    /// The value that was raced for.
    pub name: &'static str,
    /// The rounds that were run.
    pub rounds: usize,
    /// The greatest number of requests of one round that were accepted.
    pub most_accepted: usize,
    /// Whether that is too many.
    pub is_lost: bool,
}

/// The state of the races.
pub(crate) struct Races {
    pub(crate) connections: Connections,
    /// The rounds of the plan.
    rounds: usize,
    pub(crate) records: Vec<RaceRecord>,
    /// The seconds for which a busy broker was waited for.
    pub(crate) waited_seconds: u64,
}

/// The answer to one request of a race.
pub(crate) struct Answer {
    pub(crate) at: SocketAddr,
    pub(crate) sent: String,
    /// None if there was none. Two if another request followed.
    pub(crate) responses: Vec<Response>,
}

impl RacePlan {
    /// The races of a whole run.
    pub fn full(also: Vec<String>) -> Self {
        Self {
            also,
            rounds: CODE_ROUNDS,
        }
    }
}

impl RaceRecord {
    pub(crate) fn summary(&self) -> String {
        let (rounds, most) = (self.rounds, self.most_accepted);
        format!("{rounds} rounds, at most {most} accepted in one")
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "race": self.name,
            "rounds": self.rounds,
            "most_accepted": self.most_accepted,
        })
    }
}

impl Races {
    /// Finds the addresses of the broker.
    ///
    /// # Errors
    ///
    /// If no server listens at one of its URLs.
    pub(crate) async fn open(run: &Run<'_>, plan: &RacePlan) -> Result<Self, NotTestable> {
        let base_url = &run.plan.base_url;
        let mut endpoints = Vec::new();
        for url in [base_url].into_iter().chain(&plan.also) {
            let found = Endpoint::all_of(url).await;
            let found = found.map_err(|error| NotTestable(format!("{url}: {error}")))?;
            endpoints.extend(found);
        }
        let warm_up = RawRequest::get("/api/providers");
        let warm_up = run.http.build(base_url, &warm_up).map_err(NotTestable)?;
        let warm_up = built(warm_up).map_err(|stop| NotTestable(stop.into_reason()))?;
        Ok(Self {
            connections: Connections::new(endpoints, warm_up, RESPONSE_TIMEOUT),
            rounds: plan.rounds,
            records: Vec::new(),
            waited_seconds: 0,
        })
    }

    /// The number of rounds that are `1 / share` of the plan's.
    pub(crate) fn rounds(&self, share: usize) -> usize {
        self.rounds.div_ceil(share)
    }

    /// Notes the end of a round in which so many were accepted.
    pub(crate) fn note(&mut self, name: &'static str, accepted: usize, is_lost: bool) {
        let known = self.records.iter().position(|it| it.name == name);
        let at = known.unwrap_or(self.records.len());
        if known.is_none() {
            self.records.push(RaceRecord {
                name,
                ..RaceRecord::default()
            });
        }
        let record = &mut self.records[at];
        record.rounds += 1;
        record.most_accepted = record.most_accepted.max(accepted);
        record.is_lost |= is_lost;
    }

    /// Whether a race has shown that the broker is wrong.
    pub(crate) fn is_lost(&self, name: &str) -> bool {
        self.records.iter().any(|it| it.name == name && it.is_lost)
    }
}

/// A request as it is sent.
pub(crate) fn built(request: RequestBuilder) -> Result<Request, Stop> {
    let request = request.build();
    request.map_err(|error| Stop::Harness(error.without_url().to_string()))
}

impl Answer {
    /// The response to the request itself.
    pub(crate) fn response(&self) -> Option<&Response> {
        self.responses.first()
    }

    /// Whether the fate of the request is unknown: there is no response, or an error of
    /// the server.
    pub(crate) fn is_undecided(&self) -> bool {
        let status = self.response().map(|it| it.status);
        status.is_none_or(|it| matches!(it, 408 | 425 | 429 | 500..))
    }

    /// Whether it was refused.
    pub(crate) fn is_refused(&self) -> bool {
        let is_refusal = |it: &Response| (400..500).contains(&it.status);
        self.response().is_some_and(is_refusal) && !self.is_undecided()
    }
}

/// The answers that are accepted, with what each brought.
pub(crate) fn accepted<T>(
    answers: &[Answer],
    brought: impl Fn(&Response) -> Option<T>,
) -> Vec<(&Answer, T)> {
    let accepted = answers.iter();
    let accepted = accepted.filter_map(|it| Some((it, brought(it.response()?)?)));
    accepted.collect()
}

/// The evidence of a race: the first of these answers, how many there are, and where.
pub(crate) fn evidence(answers: &[Answer], shown: &[&Answer], what: &str) -> Evidence {
    let first = shown.first().copied().or(answers.first());
    let sent = first.map_or("", |it| &it.sent);
    let mut received = match first.and_then(Answer::response) {
        Some(response) => masked_response(response),
        None => "no response".to_owned(),
    };
    received += &format!("; {} {what}", shown.len());
    if !shown.is_empty() {
        received += &format!(", by {}", addresses(shown.iter().copied()));
    }
    match answers.iter().filter(|it| it.is_undecided()).count() {
        0 => {}
        more => received += &format!("; {more} without an answer, or with an error of the server"),
    }
    let (count, everywhere) = (answers.len().min(RACERS), addresses(answers));
    Evidence {
        sent: format!("{sent}, {count} at once, at {everywhere}"),
        received,
    }
}

/// The addresses from which these answers came.
fn addresses<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> String {
    let addresses = answers.into_iter().map(|it| it.at.to_string());
    let addresses: BTreeSet<_> = addresses.collect();
    Vec::from_iter(addresses).join(" and ")
}

/// Stops a round of which a busy broker has left more than half without an answer.
pub(crate) fn check_not_busy(answers: &[Answer]) -> Result<(), Stop> {
    let busy = answers.iter().filter_map(|it| match it.response() {
        None => Some(Stop::Busy(503, None)),
        Some(response) => Stop::if_busy(response.status, &response.headers),
    });
    let mut busy: Vec<_> = busy.collect();
    if busy.len() * 2 <= answers.len() {
        return Ok(());
    }
    busy.pop().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_in_a_hundred_that_is_sold_twice_is_found_in_99_of_100_runs() {
        let rounds = i32::try_from(RacePlan::full(Vec::new()).rounds).unwrap();
        assert!(0.99_f64.powi(rounds) < 0.01);
    }
}
