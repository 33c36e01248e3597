//! `broker serve`: serves until a signal to stop, and until each request in flight has
//! its answer.

use std::error::Error;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::time::Duration;

use crate::config::{Config, LogFormat};
use crate::http::InFlight;
use crate::log_format::{ReadableFormat, log_panic_locations};
use crate::metrics::Metrics;
use crate::store::StoreError;
use crate::{Broker, Dependencies, StartError};
use contract::Provider;
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;
use rocket::{Ignite, Rocket};
use tokio::signal::unix::{SignalKind, signal};

pub(super) async fn serve(config: Config) -> Result<(), Box<dyn Error>> {
    init_log(config.log.format);
    if !config.ignored_variables.is_empty() {
        let count = config.ignored_variables.len();
        let names = config.ignored_variables.join(" ");
        tracing::info!(
            count,
            names,
            "ignoring variables that an orchestrator injected"
        );
    }
    if let Some(exposure) = config.store.url.exposure() {
        tracing::warn!("{exposure}");
    }
    log_panic_locations();
    raise_file_limit();
    let bind = config.bind;
    let summary = summary(&config);
    let (broker, operator) = assemble(config).await?;
    let rocket = broker
        .rocket()
        .attach(log_address(summary))
        .ignite()
        .await?;
    stop_on_signal(rocket.shutdown())?;
    let stopped = stopped(&rocket);
    tokio::select! {
        ended = launch(rocket, bind) => ended,
        ended = serve_operator(operator) => ended,
        () = stopped => Ok(()),
    }
}

/// Serves until an error, or until a signal to stop when no request is in flight.
///
/// Rocket checks for the signal to stop twice, before and after it accepts a
/// connection. If the signal comes in between, it returns at once and leaves the
/// requests in flight to their tasks: [`stopped`] waits for them.
async fn launch(rocket: Rocket<Ignite>, bind: SocketAddr) -> Result<(), Box<dyn Error>> {
    match rocket.launch().await {
        Err(error) if matches!(error.kind(), ErrorKind::Shutdown(..)) => {
            std::future::pending().await
        }
        ended => result_of(ended, bind, "bind or BROKER_BIND"),
    }
}

/// The address of the metrics, and the metrics.
type Operator = Option<(SocketAddr, Metrics)>;

/// Assembles the broker. Its store may be unreachable yet.
async fn assemble(config: Config) -> Result<(Broker, Operator), StartError> {
    let url = config.store.url.clone();
    let operator = config.operator.bind.map(|bind| (bind, Metrics::new()));
    let dependencies = Dependencies {
        metrics: operator.as_ref().map(|(_, metrics)| metrics.clone()),
        ..Dependencies::default()
    };
    let broker = Broker::assemble(config, dependencies)?;
    match broker.ready().await {
        Ok(()) => {}
        // Waiting would not help against these.
        Err(source @ (StoreError::OtherVersion(_) | StoreError::ClockDiffers { .. })) => {
            return Err(StartError::Store { url, source });
        }
        Err(error) => {
            tracing::warn!(%error, "serving without the store: 503 until it can be reached");
        }
    }
    Ok((broker, operator))
}

/// Serves the metrics for as long as the process lives; ends only with an error.
async fn serve_operator(operator: Operator) -> Result<(), Box<dyn Error>> {
    let Some((bind, metrics)) = operator else {
        return std::future::pending().await;
    };
    let rocket =
        crate::http::operator(metrics, bind).attach(log_address("serving metrics".to_owned()));
    let ended = rocket.launch().await;
    result_of(ended, bind, "operator.bind or BROKER_OPERATOR__BIND")
}

/// The result of a server at `bind`, an address that `keys` set.
fn result_of<T>(
    ended: Result<T, rocket::Error>,
    bind: SocketAddr,
    keys: &str,
) -> Result<(), Box<dyn Error>> {
    let Err(error) = ended else {
        return Ok(());
    };
    Err(match error.kind() {
        ErrorKind::Shutdown(..) => return Ok(()),
        ErrorKind::Bind(source) => {
            format!("cannot listen on {bind}: {source}; choose another with {keys}").into()
        }
        other => other.to_string().into(),
    })
}

/// Waits for a signal to stop, and then until each request in flight is answered, or
/// the time limit is over: then a browser must start again.
#[expect(
    clippy::disallowed_methods,
    reason = "the time limit of stopping is independent of our clock"
)]
fn stopped(rocket: &Rocket<Ignite>) -> impl Future<Output = ()> + use<> {
    let signal = rocket.shutdown();
    let in_flight = rocket.state::<InFlight>().cloned().unwrap_or_default();
    let limits = &rocket.config().shutdown;
    let at_most = Duration::from_secs((limits.grace + limits.mercy).into());
    async move {
        signal.await;
        tokio::select! {
            () = all_are_answered(in_flight) => {}
            () = tokio::time::sleep(at_most) => {}
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the system still transmits the last bytes of answers and of requests"
)]
async fn all_are_answered(in_flight: InFlight) {
    const LAST_BYTES: Duration = Duration::from_secs(1);
    tokio::time::sleep(LAST_BYTES).await;
    in_flight.none().await;
    tokio::time::sleep(LAST_BYTES).await;
}

/// What is served, in one line.
fn summary(config: &Config) -> String {
    let state = |provider| match config.upstream.is_enabled(provider) {
        Some(true) => "on",
        Some(false) | None => "off",
    };
    let projects = match config.projects.len() {
        1 => "1 project".to_owned(),
        n => format!("{n} projects"),
    };
    format!(
        "Serving {} · Google {}, GitHub {} · {projects} · Ctrl-C stops",
        config.base_url,
        state(Provider::Google),
        state(Provider::GitHub),
    )
}

/// Logs the address once the server listens, when port 0 has become a real one.
fn log_address(message: String) -> AdHoc {
    AdHoc::on_liftoff("log", move |rocket| {
        let config = rocket.config();
        let address = SocketAddr::new(config.address, config.port);
        Box::pin(async move { tracing::info!(%address, "{message}") })
    })
}

/// Listens for signals from now on, not from when the task first runs.
fn stop_on_signal(shutdown: rocket::Shutdown) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        shutdown.notify();
    });
    Ok(())
}

fn init_log(format: LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::stderr)
        // It would write to standard error, and panic if that is what failed: a log on a
        // full disk would end the broker.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Readable => log.event_format(ReadableFormat::WITH_DATE).init(),
        LogFormat::Json => log.json().init(),
    }
}

/// Raises the limit of open files as far as the system allows: each connection is one. The
/// usual limit of 1024 is for programs that use `select`.
fn raise_file_limit() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "cannot raise the limit on open files, which bounds connections");
    }
}
