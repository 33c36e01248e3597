//! A testbed: one stack and one running app, which the checks have to themselves.

mod launched;

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent::http::Reach;
use reqwest::Client;
use serde_json::{Value, json};
use stack::{Stack, StackSettings};
use tokio::net::TcpStream;
use url::Url;

use crate::app::App;
use crate::app_process::{LogFile, Printed};
use crate::balancer::Balancer;
use crate::browser::{Browser, Parties, RecordedRequests, origin};
use crate::calls::operation::PROFILE;
use crate::calls::{self, Call};
use crate::chromium::{Chromium, ChromiumSettings};
use crate::control::{Control, Project, StackAddresses};
use crate::plan::ExaminationPlan;
use crate::share::{SharedState, free_port};
use crate::time::{Stopwatch, pause};
use crate::transcript::Transcript;
use crate::verdict::{Outcome, Stop};
use launched::Launched;

/// The time that an app has for one answer to a browser. Checks that measure a silent
/// broker allow more than an app should take.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest wait for an app that never stops calling.
const MAX_IDLE_WAIT: Duration = Duration::from_secs(10);

/// A stack and an app.
pub(crate) struct Testbed {
    pub(crate) control: Control,
    pub(crate) addresses: StackAddresses,
    /// The page on which a visitor chooses to sign in.
    pub(crate) start: Url,
    /// The project of an app that ran already, once it is learnt: the stack serves others
    /// as well.
    learnt_project: OnceLock<String>,
    pub(crate) chromium: Chromium,
    /// The app's log files, from the beginning of the examination on.
    pub(crate) logs: Vec<LogFile>,
    launched: Option<Launched>,
    balancer: Option<Balancer>,
    /// The stack, if it is of this testbed alone.
    _stack: Option<Stack>,
    client: Client,
    last_mark: AtomicU64,
}

impl Testbed {
    /// The stack at `control`, and an app that runs already.
    pub(crate) async fn attach(control: &str, start: &Url) -> Result<Self, String> {
        Self::on_stack(control, start).await.map_err(|error| {
            format!(
                "{error}. Start one with `{}`, name another with --control, or give the app's command after -- \
                 and the examiner starts both",
                stack::wording::commands("just up")
            )
        })
    }

    async fn on_stack(control: &str, start: &Url) -> Result<Self, String> {
        let control = Control::at(control)?;
        let client = agent::http::builder(Reach::Loopback)
            .timeout(ANSWER_TIMEOUT)
            // A reused connection that the app closes meanwhile would look like its fault.
            .pool_max_idle_per_host(0)
            .tls_danger_accept_invalid_certs(true);
        Ok(Self {
            addresses: control.addresses().await?,
            control,
            start: start.clone(),
            learnt_project: OnceLock::new(),
            chromium: Chromium::new(&ChromiumSettings::Off),
            logs: Vec::new(),
            launched: None,
            balancer: None,
            _stack: None,
            client: agent::http::build(client)?,
            last_mark: AtomicU64::new(0),
        })
    }

    /// A stack of its own, and an app that its command starts with its settings in the
    /// environment.
    pub(crate) async fn launch(plan: &ExaminationPlan) -> Result<Self, String> {
        let (host, port) = host_and_port(&plan.start);
        if TcpStream::connect((host, port)).await.is_ok() {
            return Err(format!(
                "another program listens on port {port}: stop it, give a start page with another port, or leave out the command to examine what runs there"
            ));
        }
        Self::launch_at(plan.clone(), &[port]).await
    }

    /// The same app once more, with a stack and a port of its own.
    pub(crate) async fn another(&self, app: &App) -> Result<Self, String> {
        let port = free_port()?;
        Self::launch_at(self.plan_at(app, port)?, &[port]).await
    }

    /// The same app in two instances behind a balancer, with a stack of their own.
    pub(crate) async fn replicas(&self, app: &App) -> Result<Self, String> {
        let ports = [free_port()?, free_port()?];
        let (host, _) = host_and_port(&self.start);
        let balancer = Balancer::start(host, ports).await?;
        let plan = self.plan_at(app, balancer.port)?;
        let testbed = Self::launch_at(plan, &ports).await?;
        Ok(Self {
            balancer: Some(balancer),
            ..testbed
        })
    }

    /// The plan of the same app at another port, with its callbacks there.
    fn plan_at(&self, app: &App, port: u16) -> Result<ExaminationPlan, String> {
        let mut plan = self.launched()?.plan.clone();
        let moved = plan.start.set_port(Some(port));
        moved.map_err(|()| "the start page has no port".to_owned())?;
        let (own, here) = (origin(&self.start), origin(&plan.start));
        let configured = plan.callbacks.iter().map(|it| it.replacen(&own, &here, 1));
        let learnt = app.ways.iter().map(|way| format!("{here}{}", way.callback));
        let all: BTreeSet<_> = configured.chain(learnt).collect();
        plan.callbacks = all.into_iter().collect();
        Ok(plan)
    }

    /// A stack of its own, and an instance of the app at each of `ports`.
    async fn launch_at(plan: ExaminationPlan, ports: &[u16]) -> Result<Self, String> {
        let settings = StackSettings {
            automatic: false,
            ..StackSettings::for_tests()
        };
        let stack = Stack::start(settings).await;
        let stack = stack.map_err(|error| format!("no stack can be started here: {error}"))?;
        let testbed = Self::on_stack(&stack.urls().control, &plan.start).await?;
        let mut callbacks = plan.callbacks.clone();
        if callbacks.is_empty() {
            // A project has a callback; the app's own is registered when it names it.
            callbacks.push(format!("{}/callback", origin(&plan.start)));
        }
        let name = "The app under examination";
        let registered = testbed.control.register(name, &callbacks).await;
        let callbacks = callbacks.join(", ");
        let project = registered
            .map_err(|error| format!("the callback {callbacks} cannot be registered: {error}"))?;
        let shared = SharedState::start(plan.share.as_ref()).await?;
        let testbed = testbed.with_app(plan, project, ports, shared).await?;
        Ok(Self {
            _stack: Some(stack),
            ..testbed
        })
    }

    /// The same testbed with an app for `project`: an instance at each of `ports`, with the
    /// environment of `shared` beside its own settings.
    async fn with_app(
        self,
        plan: ExaminationPlan,
        project: Project,
        ports: &[u16],
        shared: SharedState,
    ) -> Result<Self, String> {
        let settings = [
            ("SIGNIN_BASE_URL", self.addresses.broker.clone()),
            ("SIGNIN_CLIENT_ID", project.client_id.clone()),
            ("SIGNIN_CLIENT_SECRET", project.client_secret.clone()),
            ("CONSUMER_BASE_URL", origin(&self.start)),
            ("KIT_CLOCK_URL", format!("{}/api/clock", self.control.url())),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value));
        let launched = Launched::start(plan, project, ports, &settings, shared).await?;
        Ok(Self {
            launched: Some(launched),
            ..self
        })
    }

    /// The same testbed, with a real browser for the checks that need one, and with the app's
    /// log files.
    pub(crate) fn with(mut self, chromium: &Chromium, logs: &[LogFile]) -> Self {
        self.chromium = chromium.clone();
        self.logs = logs.to_vec();
        self
    }

    /// A browser with a fresh profile.
    pub(crate) fn browser(&self, name: &str, transcript: &Transcript) -> Browser {
        Browser::new(RecordedRequests {
            name: name.to_owned(),
            client: self.client.clone(),
            transcript: transcript.clone(),
            parties: self.parties(),
        })
    }

    /// The parties of this testbed, for the evidence.
    pub(crate) fn parties(&self) -> Parties {
        Parties(vec![
            (origin(&self.start), "app".to_owned()),
            (self.addresses.broker.clone(), "broker".to_owned()),
            (self.addresses.upstreams.google.clone(), "google".to_owned()),
            (self.addresses.upstreams.github.clone(), "github".to_owned()),
        ])
    }

    /// An address of the app.
    pub(crate) fn at(&self, path: &str) -> Outcome<Url> {
        let url = self.start.join(path);
        url.map_err(|_| Stop::harness(format!("{path} is no path of the app")))
    }

    pub(crate) fn is_app(&self, url: &Url) -> bool {
        url.origin() == self.start.origin()
    }

    pub(crate) fn is_broker(&self, url: &Url) -> bool {
        origin(url) == self.addresses.broker
    }

    /// The host of the broker.
    pub(crate) fn broker_host(&self) -> Option<String> {
        let url = Url::parse(&self.addresses.broker).ok()?;
        url.host_str().map(str::to_owned)
    }

    /// The provider whose page `url` is.
    pub(crate) fn provider_at(&self, url: &Url) -> Option<&'static str> {
        let party = self.parties().name_of(url);
        ["google", "github"].into_iter().find(|it| party == *it)
    }

    /// Whether the examiner has started the app itself.
    pub(crate) fn owns_app(&self) -> bool {
        self.launched.is_some()
    }

    /// The project of an app that the examiner has started; that of another app is learnt.
    pub(crate) fn project(&self) -> Option<&Project> {
        self.launched.as_ref().map(|it| &it.project)
    }

    /// The latest output of the app; none of one that ran already.
    pub(crate) async fn output(&self) -> Option<Printed> {
        let process = self.launched.as_ref()?.instances.first()?;
        Some(process.lock().await.output())
    }

    /// The end of the app by itself, with its last words, as the check `id` sees it; `None`
    /// while it listens. Of an app that ran already nothing is known.
    pub(crate) async fn end_of_app(&self, id: &str) -> Option<String> {
        let launched = self.launched.as_ref()?;
        let end = launched.instances.first()?.lock().await.end().await?;
        let first = launched.ended_in.get_or_init(|| id.to_owned());
        Some(format!("the app ended in {first} {end}"))
    }

    /// Ends the app, as a crash would, and starts it again; the stack goes on.
    pub(crate) async fn restart_app(&self) -> Outcome {
        self.launched()?.restart(0).await
    }

    /// The app that the examiner has started. Not tested of one that ran already.
    fn launched(&self) -> Outcome<&Launched> {
        let launched = self.launched.as_ref();
        launched.ok_or_else(|| {
            Stop::not_tested(
                "the examiner did not start this app: give its command after -- to try that",
            )
        })
    }

    /// The balancer in front of two instances, and what runs behind it.
    pub(crate) fn balanced(&self) -> Outcome<(&Balancer, &Launched)> {
        let balanced = self.balancer.as_ref().zip(self.launched.as_ref());
        balanced.ok_or_else(|| Stop::harness("the app has one instance"))
    }

    /// Another copy of the app on a free port and on the same stack, with the broker at `broker`,
    /// and with `more` in its environment. Not tested of an app that ran already, and of one that
    /// takes no such settings.
    pub(crate) async fn second_app(&self, broker: &str, more: &[(&str, &str)]) -> Outcome<Self> {
        let launched = self.launched()?;
        let port = free_port().map_err(Stop::harness)?;
        let plan = self.plan_at(&App::default(), port).map_err(Stop::harness)?;
        let copy = Self::on_stack(self.control.url(), &plan.start).await;
        let mut copy = copy.map_err(Stop::harness)?;
        broker.clone_into(&mut copy.addresses.broker);
        let mut shared = SharedState::default();
        shared.environment.clone_from(&launched.shared.environment);
        let more = more
            .iter()
            .map(|&(name, it)| (name.to_owned(), it.to_owned()));
        shared.environment.extend(more);
        let project = launched.project.clone();
        let copied = copy.with_app(plan, project, &[port], shared).await;
        copied.map_err(Stop::not_tested)
    }

    /// The number of the latest event.
    pub(crate) async fn mark(&self) -> Outcome<u64> {
        // From the last mark on: the whole log grows with the examination.
        let after = self.last_mark.load(Ordering::Relaxed);
        let events = self.control.events(after).await?;
        let mark = events.last().map_or(after, |event| event.seq);
        self.last_mark.fetch_max(mark, Ordering::Relaxed);
        Ok(mark)
    }

    /// The calls at the broker after `mark`.
    pub(crate) async fn calls(&self, mark: u64) -> Outcome<Vec<Call>> {
        let mut calls = calls::from_events(self.control.events(mark).await?);
        if let Some(own) = self.learnt_project.get() {
            calls.retain(|call| call.project.as_ref().is_none_or(|its| its == own));
        }
        Ok(calls)
    }

    /// Counts from now on only calls of this project, on a stack that serves others too.
    pub(crate) fn counts_only(&self, client_id: &str) {
        if self.launched.is_none() {
            let _ = self.learnt_project.set(client_id.to_owned());
        }
    }

    /// Arms a fault at the app's next call of `operation`; `more` has its further members.
    pub(crate) async fn arm(&self, operation: &str, fault: &str, more: &Value) -> Outcome {
        let mut more = more.as_object().cloned().unwrap_or_default();
        let own = self.learnt_project.get();
        // A made-up access token belongs to no project.
        if let Some(own) = own.filter(|_| operation != PROFILE) {
            more.insert("client_id".to_owned(), json!(own));
        }
        Ok(self.control.arm(operation, fault, &more.into()).await?)
    }

    /// The calls at the broker after `mark`, once none has come for `idle`: an app may
    /// call after it has answered.
    pub(crate) async fn calls_when_idle(&self, mark: u64, idle: Duration) -> Outcome<Vec<Call>> {
        let watch = Stopwatch::start();
        let mut calls = self.calls(mark).await?;
        loop {
            pause(idle).await;
            let now = self.calls(mark).await?;
            if now.len() == calls.len() || watch.elapsed() > MAX_IDLE_WAIT {
                return Ok(now);
            }
            calls = now;
        }
    }

    /// Ends the app, if the examiner has started it.
    pub(crate) async fn stop(&self) {
        for process in self.launched.iter().flat_map(|it| &it.instances) {
            process.lock().await.stop();
        }
    }
}

/// The host and the port at which an app listens.
fn host_and_port(start: &Url) -> (&str, u16) {
    let host = start.host_str().unwrap_or("localhost");
    (host, start.port_or_known_default().unwrap_or(80))
}
