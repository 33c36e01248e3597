//! One run: what it sends, what it makes of the answers, what it remembers.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::expect::{self, Holds};
use super::http::{Call, Exchange, Http};
use super::mask::Mask;
use super::plan::{Plan, Project};
use super::preflight::Unfit;
use super::random;
use super::report::Report;
use super::requirement::{Law, Requirement};
use super::verdict::{Evidence, Finding, Verdict};

/// Why a scenario ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Trouble that is no broken requirement.
    Harness(String),
    /// What the rest stands on is not there.
    Blocked(String),
}

/// Everything that the scenarios share.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) http: Http,
    /// The providers that are available.
    pub(crate) providers: Vec<&'static str>,
    /// The prefix of the first access token.
    pub(crate) token_prefix: Option<String>,
    /// The subjects of the accounts that were seen.
    pub(crate) subjects: BTreeMap<(String, String), String>,
    /// What happened to the browser, if it cannot be sent anywhere any more.
    pub(crate) lost_browser: Option<String>,
    mask: Mask,
    judged: BTreeMap<Requirement, Finding>,
    missed: BTreeMap<Requirement, Verdict>,
    troubles: Vec<String>,
    tell: &'a mut dyn FnMut(&str),
}

impl<'a> Run<'a> {
    pub(crate) fn new(plan: &'a Plan, tell: &'a mut dyn FnMut(&str)) -> Result<Self, Unfit> {
        let mut mask = Mask::default();
        for project in [Some(&plan.project), plan.other.as_ref()]
            .into_iter()
            .flatten()
        {
            mask.keep("client_secret", &project.client_secret);
        }
        Ok(Self {
            plan,
            http: Http::new(&plan.base_url).map_err(Unfit::new)?,
            providers: Vec::new(),
            token_prefix: None,
            subjects: BTreeMap::new(),
            lost_browser: None,
            mask,
            judged: BTreeMap::new(),
            missed: BTreeMap::new(),
            troubles: Vec::new(),
            tell,
        })
    }

    /// Says what is being done.
    pub(crate) fn tell(&mut self, what: &str) {
        (self.tell)(what);
    }

    /// Sends `call` to the broker, and judges what is required of every answer.
    pub(crate) async fn call(&mut self, call: Call) -> Result<Exchange, Stop> {
        let exchange = self.http.call(&self.plan.base_url, &call).await;
        let exchange = exchange.map_err(|why| Stop::Harness(self.mask.apply(&why)))?;
        let answer = &exchange.answer;
        if let 429 | 502 | 503 | 504 = answer.status {
            let why = format!("answered {}: too busy, or out of order", answer.status);
            return Err(Stop::Harness(why));
        }
        let body = answer.json();
        self.keep_secrets(&body);
        if body.is_object() || body.is_array() {
            let is_json = expect::json_media_type(answer);
            self.judge(Requirement::AnswerMediaType, &exchange, is_json);
            let at_token = call.path.split('?').next() == Some("/v1/token");
            let holds = expect::no_upstream_token(&body, at_token);
            self.judge(Requirement::AnswerNoUpstreamToken, &exchange, holds);
        }
        Ok(exchange)
    }

    fn keep_secrets(&mut self, body: &Value) {
        if let Some(token) = body["access_token"].as_str() {
            self.mask.keep("access_token", token);
        }
        let handle = body["authorization_url"].as_str().unwrap_or_default();
        if let Some((_, handle)) = handle.rsplit_once('/') {
            self.mask.keep("handle", handle);
        }
    }

    /// Takes note of a secret that no report may show.
    pub(crate) fn keep_secret(&mut self, what: &'static str, secret: &str) {
        self.mask.keep(what, secret);
    }

    /// 43 fresh characters of base64url.
    pub(crate) fn fresh(&mut self, what: &'static str) -> String {
        let secret = random::secret();
        self.mask.keep(what, &secret);
        secret
    }

    /// Judges a requirement by an exchange. A choice of this kit is never broken,
    /// only made otherwise.
    pub(crate) fn judge(&mut self, requirement: Requirement, exchange: &Exchange, holds: Holds) {
        let evidence = Evidence {
            sent: exchange.sent.clone(),
            came: exchange.answer.described(),
        };
        self.judge_by(requirement, evidence, holds);
    }

    /// The same, by anything that was seen.
    pub(crate) fn judge_by(&mut self, requirement: Requirement, evidence: Evidence, holds: Holds) {
        let verdict = match (holds, requirement.law()) {
            (Ok(()), _) => Verdict::Pass,
            (Err(why), Law::Spec(_)) => Verdict::Fail(why),
            (Err(why), Law::KitChoice) => Verdict::Unspecified(why),
        };
        let finding = Finding {
            requirement,
            verdict: verdict.clone(),
            evidence: Some(evidence.clone()),
        };
        self.judged
            .entry(requirement)
            .and_modify(|known| known.also(verdict, evidence))
            .or_insert(finding);
    }

    /// Judges that an object of an answer has the `members` of its table. Which others
    /// it has is the broker's choice: the specification closes requests alone.
    pub(crate) fn members(
        &mut self,
        requirement: Requirement,
        exchange: &Exchange,
        object: &Value,
        members: &[&str],
    ) {
        self.judge(requirement, exchange, expect::has(object, members));
        self.no_members_but(exchange, object, members);
    }

    /// Judges that an object of an answer is as ours is: without other members.
    pub(crate) fn no_members_but(&mut self, exchange: &Exchange, object: &Value, members: &[&str]) {
        let nothing_but = expect::nothing_but(object, members);
        self.judge(Requirement::AnswerMembers, exchange, nothing_but);
    }

    /// Judges that `requirement` made the broker refuse, and how it did. Whether
    /// it refused.
    pub(crate) fn refuse(
        &mut self,
        requirement: Requirement,
        exchange: &Exchange,
        our_status: u16,
    ) -> bool {
        let is_refused = self.refuse_anyhow(requirement, exchange);
        if is_refused {
            let status = expect::status(&exchange.answer, our_status);
            self.judge(Requirement::RefusalStatus, exchange, status);
        }
        is_refused
    }

    /// The same, where the status is no choice.
    pub(crate) fn refuse_anyhow(&mut self, requirement: Requirement, exchange: &Exchange) -> bool {
        let answer = &exchange.answer;
        let refusal = expect::refusal(answer);
        let is_refused = refusal.is_ok();
        self.judge(requirement, exchange, refusal);
        // Others may be infrastructure's, which need not be JSON.
        if matches!(answer.status, 400..=403 | 409 | 410 | 422) {
            let body = answer.json();
            self.judge(Requirement::ErrorShape, exchange, expect::api_error(&body));
            self.no_members_but(exchange, &body, &["error", "message"]);
            if body["error"].is_string() {
                let code = expect::member(&body, "error", "request_failed");
                self.judge(Requirement::ErrorCode, exchange, code);
            }
        }
        is_refused
    }

    /// Judges that an answer is a success. Whether it is.
    pub(crate) fn succeed(&mut self, requirement: Requirement, exchange: &Exchange) -> bool {
        self.judge(requirement, exchange, expect::success(&exchange.answer));
        self.success_status(exchange);
        exchange.answer.is_success()
    }

    /// Which status a success has is a choice.
    pub(crate) fn success_status(&mut self, exchange: &Exchange) {
        if exchange.answer.is_success() {
            let status = expect::status(&exchange.answer, 200);
            self.judge(Requirement::SuccessStatus, exchange, status);
        }
    }

    /// Says why requirements are not tried, unless they are elsewhere.
    pub(crate) fn skip(&mut self, requirements: &[Requirement], why: &str) {
        for requirement in requirements {
            let verdict = Verdict::Skipped(why.to_owned());
            self.missed.entry(*requirement).or_insert(verdict);
        }
    }

    /// Notes how a scenario that tries these requirements ended.
    pub(crate) fn ended(&mut self, tries: &[Requirement], outcome: Result<(), Stop>) {
        match outcome {
            Ok(()) => {}
            Err(Stop::Blocked(why)) => self.skip(tries, &why),
            Err(Stop::Harness(why)) => {
                for requirement in tries {
                    let verdict = Verdict::Harness(why.clone());
                    self.missed.insert(*requirement, verdict);
                }
                if !self.troubles.contains(&why) {
                    self.troubles.push(why);
                }
            }
        }
    }

    /// The other project, where there is one.
    pub(crate) fn other(&self) -> Option<&'a Project> {
        self.plan.other.as_ref()
    }

    /// All verdicts, without secrets.
    pub(crate) fn into_report(self) -> Report {
        let Self {
            plan,
            http,
            mask,
            mut judged,
            mut missed,
            troubles,
            ..
        } = self;
        let mut finding = |requirement: Requirement| {
            judged.remove(&requirement).unwrap_or_else(|| Finding {
                requirement,
                verdict: missed
                    .remove(&requirement)
                    .unwrap_or_else(|| Verdict::Skipped("no scenario got there".to_owned())),
                evidence: None,
            })
        };
        let findings = Requirement::ALL.iter().map(|it| finding(*it).masked(&mask));
        Report {
            broker: plan.base_url.clone(),
            requests: http.sent(),
            findings: findings.collect(),
            troubles: troubles.iter().map(|it| mask.apply(it)).collect(),
        }
    }
}

/// The challenge that a verifier meets.
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
