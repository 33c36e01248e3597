//! `broker serve`: until it is told to stop, and until whoever was on the way then
//! has an answer.

use std::error::Error;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::time::Duration;

use broker::config::{Config, LogFormat};
use broker::http::InFlight;
use broker::metrics::Metrics;
use broker::store::StoreError;
use broker::{Broker, Dependencies, StartError};
use rocket::error::ErrorKind;
use rocket::fairing::AdHoc;
use rocket::{Ignite, Rocket};
use tokio::signal::unix::{SignalKind, signal};

use super::{Outcome, descriptors};

/// Serves what `config` says.
pub(super) async fn serve(config: Config) -> Outcome {
    write_log(config.log.format);
    if !config.ignored_variables.is_empty() {
        let count = config.ignored_variables.len();
        let names = config.ignored_variables.join(" ");
        tracing::info!(
            count,
            names,
            "ignoring variables that an orchestrator injects"
        );
    }
    broker::panics::say_only_where();
    descriptors::allow_as_many_as_possible();
    let bind = config.bind;
    let (broker, operator) = assemble(config).await?;
    let rocket = broker
        .rocket()
        .attach(say_where("serving"))
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

/// Serves until it cannot, or until it was told to stop and nothing is under way.
///
/// Rocket looks at the signal to stop twice, before and after it accepts a
/// connection. If the signal comes in between, it returns at once and leaves the
/// requests under way to their tasks: [`stopped`] waits for them.
async fn launch(rocket: Rocket<Ignite>, bind: SocketAddr) -> Outcome {
    match rocket.launch().await {
        Err(error) if matches!(error.kind(), ErrorKind::Shutdown(..)) => {
            std::future::pending().await
        }
        ended => how(ended, bind, "bind or BROKER_BIND"),
    }
}

/// Where the metrics are to be, and what they are.
type Operator = Option<(SocketAddr, Metrics)>;

/// The broker, with its store if that can be reached.
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
        // No outage: it would not be over by itself.
        Err(source @ (StoreError::OtherVersion(_) | StoreError::ClockDiffers { .. })) => {
            return Err(StartError::Store { url, source });
        }
        Err(error) => {
            tracing::warn!(%error, "serving without the store: 503 until it can be reached");
        }
    }
    Ok((broker, operator))
}

/// Serves the operator for as long as the process lives; ends only if it cannot.
async fn serve_operator(operator: Operator) -> Outcome {
    let Some((bind, metrics)) = operator else {
        return std::future::pending().await;
    };
    let rocket = broker::http::operator(metrics, bind).attach(say_where("serving metrics"));
    let ended = rocket.launch().await;
    how(ended, bind, "operator.bind or BROKER_OPERATOR__BIND")
}

/// How a server ended that was to listen at `bind`, which `keys` decide.
fn how<T>(
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

/// Waits until the broker is told to stop, and then until each request under way is
/// answered, or the time for that is over: then a browser starts again.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a broker takes to stop is no matter of our clock"
)]
fn stopped(rocket: &Rocket<Ignite>) -> impl Future<Output = ()> + use<> {
    let told_to_stop = rocket.shutdown();
    let in_flight = rocket.state::<InFlight>().cloned().unwrap_or_default();
    let limits = &rocket.config().shutdown;
    let at_most = Duration::from_secs((limits.grace + limits.mercy).into());
    async move {
        told_to_stop.await;
        tokio::select! {
            () = all_are_answered(in_flight) => {}
            () = tokio::time::sleep(at_most) => {}
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the last bytes of an answer, and requests on the wire, are the system's to carry"
)]
async fn all_are_answered(in_flight: InFlight) {
    const LAST_BYTES: Duration = Duration::from_secs(1);
    tokio::time::sleep(LAST_BYTES).await;
    in_flight.none().await;
    tokio::time::sleep(LAST_BYTES).await;
}

/// Says where it listens, once it does; port 0 has become a real one then.
fn say_where(what: &'static str) -> AdHoc {
    AdHoc::on_liftoff("log", move |rocket| {
        let config = rocket.config();
        let address = SocketAddr::new(config.address, config.port);
        Box::pin(async move { tracing::info!(%address, "{what}") })
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

fn write_log(format: LogFormat) {
    let log = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::stderr)
        // It would be told to standard error, and panic if that is what failed: a
        // log on a full disk would end the broker.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Readable => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
