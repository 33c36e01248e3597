//! A testbed: one stack and one running app, which the checks have to themselves.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent::http::Reach;
use agent::program::Program;
use reqwest::Client;
use serde_json::{Value, json};
use stack::{Stack, StackSettings};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use url::Url;

use crate::app::App;
use crate::app_process::{AppProcess, LogFile, Printed};
use crate::balancer::Balancer;
use crate::browser::{Arrival, Browser, Parties, RecordedRequests, Visit, origin};
use crate::calls::operation::PROFILE;
use crate::calls::{self, Call};
use crate::chromium::{Chromium, ChromiumSettings};
use crate::control::{Control, Project, StackAddresses};
use crate::plan::ExaminationPlan;
use crate::share::{SharedState, free_ports};
use crate::time::{Stopwatch, pause};
use crate::transcript::Transcript;
use crate::verdict::{Outcome, Stop};

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
    /// The project of an app that the examiner starts; that of another app is learnt.
    pub(crate) project: Option<Project>,
    /// The project of an app that ran already, once it is learnt: the stack serves others
    /// as well.
    learnt_project: OnceLock<String>,
    pub(crate) chromium: Chromium,
    /// The app's log files, from the beginning of the examination on.
    pub(crate) logs: Vec<LogFile>,
    launched: Option<Launched>,
    client: Client,
    last_mark: AtomicU64,
}

impl Testbed {
    /// The stack at `control`, and an app that runs already.
    pub(crate) async fn attach(control: &str, start: &Url) -> Result<Self, String> {
        let control = Control::at(control)?;
        let addresses = control.addresses().await.map_err(|error| {
            format!(
                "{error}. Start one with `just up`, name another with --control, or give the app's command after -- \
                 and the examiner starts both"
            )
        })?;
        Self::new(control, addresses, start, None, None)
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
        Self::launch_at(plan.clone(), &[port], None).await
    }

    /// The same app once more, with a stack and a port of its own.
    pub(crate) async fn another(&self, app: &App) -> Result<Self, String> {
        let [port, _] = free_ports()?;
        Self::launch_at(self.plan_at(app, port)?, &[port], None).await
    }

    /// The same app in two instances behind a balancer, with a stack of their own.
    pub(crate) async fn replicas(&self, app: &App) -> Result<Self, String> {
        let ports = free_ports()?;
        let (host, _) = host_and_port(&self.start);
        let balancer = Balancer::start(host, ports).await?;
        let plan = self.plan_at(app, balancer.port)?;
        Self::launch_at(plan, &ports, Some(balancer)).await
    }

    /// The plan of the same app at another port, with its callbacks there.
    fn plan_at(&self, app: &App, port: u16) -> Result<ExaminationPlan, String> {
        let launched = self.launched.as_ref().ok_or(NOT_OURS)?;
        let mut plan = launched.plan.clone();
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
    async fn launch_at(
        plan: ExaminationPlan,
        ports: &[u16],
        balancer: Option<Balancer>,
    ) -> Result<Self, String> {
        let start = plan.start.clone();
        let settings = StackSettings {
            automatic: false,
            ..StackSettings::for_tests()
        };
        let stack = Stack::start(settings).await;
        let stack = stack.map_err(|error| format!("no stack can be started here: {error}"))?;
        let control = Control::at(&stack.urls().control)?;
        let addresses = control.addresses().await?;
        let mut callbacks = plan.callbacks.clone();
        if callbacks.is_empty() {
            // A project has a callback; the app's own is registered when it names it.
            callbacks.push(format!("{}/callback", origin(&start)));
        }
        let project = control
            .register("The app under examination", &callbacks)
            .await
            .map_err(|error| {
                format!(
                    "the callback {} cannot be registered: {error}",
                    callbacks.join(", ")
                )
            })?;
        let shared = SharedState::start(plan.share.as_ref()).await?;
        let mut instances = Vec::new();
        // One after the other, as a deployment starts them: the first may set up the store.
        for port in ports {
            let own = settings_of_app(&control, &addresses, &project, &start, *port);
            let environment = [shared.environment.clone(), own].concat();
            let mut process = AppProcess::start(&plan.command, environment)?;
            process.listens_at(host_and_port(&start).0, *port).await?;
            instances.push((*port, Mutex::new(process)));
        }
        let launched = Launched {
            _stack: Some(stack),
            plan,
            instances,
            balancer,
            _shared: shared,
            ended_in: OnceLock::new(),
        };
        Self::new(control, addresses, &start, Some(project), Some(launched))
    }

    fn new(
        control: Control,
        addresses: StackAddresses,
        start: &Url,
        project: Option<Project>,
        launched: Option<Launched>,
    ) -> Result<Self, String> {
        let client = agent::http::builder(Reach::Loopback)
            .timeout(ANSWER_TIMEOUT)
            // A reused connection that the app closes meanwhile would look like its fault.
            .pool_max_idle_per_host(0)
            .tls_danger_accept_invalid_certs(true);
        Ok(Self {
            control,
            addresses,
            start: start.clone(),
            project,
            learnt_project: OnceLock::new(),
            chromium: Chromium::new(&ChromiumSettings::Off),
            logs: Vec::new(),
            launched,
            client: agent::http::build(client)?,
            last_mark: AtomicU64::new(0),
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

    /// Follows a press up to the broker, whose address it does not ask for.
    pub(crate) async fn up_to_broker(
        &self,
        browser: &mut Browser,
        visit: Visit,
    ) -> Outcome<Arrival> {
        if self.is_broker(&visit.url) {
            return Ok(Arrival::Stopped(visit));
        }
        browser.visit_until(visit, |url| self.is_broker(url)).await
    }

    /// The host of the broker.
    pub(crate) fn broker_host(&self) -> Option<String> {
        let url = Url::parse(&self.addresses.broker).ok()?;
        url.host_str().map(str::to_owned)
    }

    /// The provider whose page `url` is.
    pub(crate) fn provider_at(&self, url: &Url) -> Option<&'static str> {
        match origin(url) {
            it if it == self.addresses.upstreams.google => Some("google"),
            it if it == self.addresses.upstreams.github => Some("github"),
            _ => None,
        }
    }

    /// Whether the examiner has started the app itself.
    pub(crate) fn owns_app(&self) -> bool {
        self.launched.is_some()
    }

    /// The latest output of the app; none of one that ran already.
    pub(crate) async fn output(&self) -> Option<Printed> {
        let launched = self.launched.as_ref()?;
        let (_, process) = launched.instances.first()?;
        Some(process.lock().await.output())
    }

    /// The end of the app by itself, with its last words, as the check `id` sees it; `None`
    /// while it listens. Of an app that ran already nothing is known.
    pub(crate) async fn end_of_app(&self, id: &str) -> Option<String> {
        let launched = self.launched.as_ref()?;
        let (host, _) = host_and_port(&self.start);
        let (port, process) = launched.instances.first()?;
        let end = process.lock().await.end(host, *port).await?;
        let first = launched.ended_in.get_or_init(|| id.to_owned());
        Some(format!("the app ended in {first} {end}"))
    }

    /// Ends the app, as a crash would, and starts it again; the stack goes on.
    pub(crate) async fn restart_app(&self) -> Outcome {
        let launched = self.launched.as_ref();
        let launched = launched.ok_or_else(|| Stop::not_tested(NOT_OURS))?;
        launched.restart(0).await
    }

    /// The balancer in front of two instances, and what runs behind it.
    pub(crate) fn balanced(&self) -> Outcome<(&Balancer, &Launched)> {
        let launched = self.launched.as_ref();
        let balanced = launched.and_then(|it| Some((it.balancer.as_ref()?, it)));
        balanced.ok_or_else(|| Stop::harness("the app has one instance"))
    }

    /// Another copy of the app on a free port and on the same stack, with the broker at `broker`,
    /// and with `more` in its environment. Not tested of an app that ran already, and of one that
    /// takes no such settings.
    pub(crate) async fn second_app(&self, broker: &str, more: &[(&str, &str)]) -> Outcome<Self> {
        let launched = self.launched.as_ref();
        let launched = launched.ok_or_else(|| Stop::not_tested(NOT_OURS))?;
        let [port, _] = free_ports().map_err(Stop::harness)?;
        let mut plan = launched.plan.clone();
        let _ = plan.start.set_port(Some(port));
        let start = plan.start.clone();
        let (here, number) = (origin(&start), port.to_string());
        let own = [
            ("SIGNIN_BASE_URL", broker),
            ("CONSUMER_BASE_URL", &here),
            ("PORT", &number),
        ];
        let (_, first) = &launched.instances[0];
        let another = first.lock().await.another(&[&own, more].concat());
        let mut process = another.map_err(Stop::not_tested)?;
        let listens = process.listens_at(host_and_port(&start).0, port).await;
        listens.map_err(Stop::not_tested)?;
        let mut addresses = self.addresses.clone();
        broker.clone_into(&mut addresses.broker);
        let launched = Launched {
            _stack: None,
            plan,
            instances: vec![(port, Mutex::new(process))],
            balancer: None,
            ended_in: OnceLock::new(),
            _shared: SharedState::default(),
        };
        let (control, project) = (self.control.clone(), self.project.clone());
        Self::new(control, addresses, &start, project, Some(launched)).map_err(Stop::harness)
    }

    /// The number of the latest event.
    pub(crate) async fn mark(&self) -> Outcome<u64> {
        // From the last mark on: the whole log grows with the examination.
        let after = self.last_mark.load(Ordering::Relaxed);
        let events = self.control.events(after).await.map_err(Stop::harness)?;
        let mark = events.last().map_or(after, |event| event.seq);
        self.last_mark.fetch_max(mark, Ordering::Relaxed);
        Ok(mark)
    }

    /// The calls at the broker after `mark`.
    pub(crate) async fn calls(&self, mark: u64) -> Outcome<Vec<Call>> {
        let events = self.control.events(mark).await.map_err(Stop::harness)?;
        let mut calls = calls::from_events(events);
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
        let armed = self.control.arm(operation, fault, &more.into()).await;
        armed.map_err(Stop::from)
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
        if let Some(launched) = &self.launched {
            for (_, process) in &launched.instances {
                process.lock().await.stop();
            }
        }
    }
}

/// The time after which a restart is given up.
const RESTART_TIMEOUT: Duration = Duration::from_secs(5);

/// The way out where a check needs an app that the examiner has started.
const NOT_OURS: &str = "the examiner did not start this app: give its command after -- to try that";

/// An app, and its stack if it has one of its own, that end with this value.
pub(crate) struct Launched {
    _stack: Option<Stack>,
    pub(crate) plan: ExaminationPlan,
    /// The instances of the app, each with its port.
    instances: Vec<(u16, Mutex<AppProcess>)>,
    balancer: Option<Balancer>,
    /// The check in which the app ended by itself.
    ended_in: OnceLock<String>,
    _shared: SharedState,
}

impl Launched {
    /// Ends an instance, as a deployment does.
    pub(crate) async fn end_gently(&self, instance: usize) {
        let (_, process) = &self.instances[instance];
        process.lock().await.end_gently().await;
    }

    /// Ends an instance, as a crash would, if it still runs, and starts it again.
    pub(crate) async fn restart(&self, instance: usize) -> Outcome {
        let (port, process) = &self.instances[instance];
        let mut process = process.lock().await;
        let (host, _) = host_and_port(&self.plan.start);
        let watch = Stopwatch::start();
        process.stop();
        Program::is_silent_at(host, *port, RESTART_TIMEOUT).await;
        loop {
            process.restart().map_err(Stop::not_testable)?;
            let listens = process.listens_at(host, *port).await;
            // The port may still be taken by the connections of the one before.
            if listens.is_ok() || watch.elapsed() > RESTART_TIMEOUT {
                return listens.map_err(Stop::not_testable);
            }
            pause(Duration::from_millis(200)).await;
        }
    }
}

/// The host and the port at which an app listens.
fn host_and_port(start: &Url) -> (&str, u16) {
    let host = start.host_str().unwrap_or("localhost");
    (host, start.port_or_known_default().unwrap_or(80))
}

/// The settings of an app that the examiner starts.
fn settings_of_app(
    control: &Control,
    addresses: &StackAddresses,
    project: &Project,
    start: &Url,
    port: u16,
) -> Vec<(String, String)> {
    [
        ("SIGNIN_BASE_URL", addresses.broker.clone()),
        ("SIGNIN_CLIENT_ID", project.client_id.clone()),
        ("SIGNIN_CLIENT_SECRET", project.client_secret.clone()),
        ("CONSUMER_BASE_URL", origin(start)),
        ("PORT", port.to_string()),
        ("KIT_CLOCK_URL", format!("{}/api/clock", control.url())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}
