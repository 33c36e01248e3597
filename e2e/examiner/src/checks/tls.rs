//! TLS: a copy of the app calls a broker whose certificate no client may accept.

use std::net::SocketAddr;
use std::time::Duration;

use stack::tls::{ServerCertificate, TlsTrialServer};
use url::Url;

use super::demands::parameter;
use crate::app::Flow;
use crate::browser::Visit;
use crate::random;
use crate::time::{Stopwatch, pause};
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The certificates that a client refuses, each in words.
const WRONG: [(ServerCertificate, &str); 3] = [
    (ServerCertificate::OtherName, "is for another name"),
    (ServerCertificate::Expired, "is over since yesterday"),
    (
        ServerCertificate::UnknownAuthority,
        "no known authority has signed",
    ),
];

/// The variables by which common clients take a further authority.
const AUTHORITY_FILE: [&str; 5] = [
    "SIGNIN_CA_FILE",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// The time in which an app that was asked to sign in has tried to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// `tls-verified`: a login with the good certificate, then with each wrong one.
pub(super) async fn tls_verified(trial: &Trial<'_>) -> Outcome {
    let broker = Url::parse(&trial.testbed.addresses.broker).ok();
    let sockets = broker.and_then(|it| it.socket_addrs(|| None).ok());
    let target = sockets.unwrap_or_default().into_iter().next();
    let target = target.ok_or_else(|| Stop::harness("the broker has no address"))?;
    let server = start(target)?;
    let ca_file = server.ca_file().display().to_string();
    let more = AUTHORITY_FILE.map(|name| (name, ca_file.as_str()));
    let copy = trial.testbed.second_app(&server.origin(), &more).await?;
    let mut copied = Trial::new(&copy, trial.app, trial.flow);
    copied.transcript = trial.transcript.clone();

    let accepts_good = call_under(&copied, &server, ServerCertificate::Good).await?;
    let mut sent = Vec::new();
    for (certificate, words) in WRONG {
        if let Some(request) = call_under(&copied, &server, certificate).await? {
            let request = request.trim_end_matches(" HTTP/1.1");
            sent.push(format!("{request} under one that {words}"));
        }
    }
    require(sent.is_empty(), || {
        let sent = sent.join(", ");
        format!("the app takes wrong certificates of its broker: it sends {sent}")
    })?;
    accepts_good.map(drop).ok_or_else(|| {
        Stop::not_tested(format!(
            "the app refuses a certificate of an unknown authority, and a good one as well, whose authority is in the file of {}: let it read one of them, for other names and old certificates to be tried",
            AUTHORITY_FILE.join(", ")
        ))
    })
}

fn start(target: SocketAddr) -> Outcome<TlsTrialServer> {
    TlsTrialServer::start(target)
        .map_err(|error| Stop::harness(format!("no TLS server can be started here: {error}")))
}

/// Has the app call the broker under this certificate, and returns the first line of a request
/// that it sent. Not tested if it does not even connect.
async fn call_under(
    trial: &Trial<'_>,
    server: &TlsTrialServer,
    certificate: ServerCertificate,
) -> Outcome<Option<String>> {
    server.present(certificate);
    // What the app makes of a broker that it does not reach is another check's concern.
    let _ = call(trial).await;
    let watch = Stopwatch::start();
    loop {
        let seen = server.seen(certificate);
        if !seen.is_empty() {
            return Ok(seen.into_iter().flatten().next());
        }
        if watch.elapsed() > CONNECT_LIMIT {
            return Err(Stop::not_tested(format!(
                "with {} as SIGNIN_BASE_URL the app makes no connection to the broker",
                server.origin()
            )));
        }
        pause(Duration::from_millis(20)).await;
    }
}

/// The request of a browser that makes the app call the broker: the start of a login; in the
/// legacy flow a callback with a made-up code.
async fn call(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    let visit = match trial.flow {
        Flow::Clean => trial.last_press(&mut browser).await?,
        Flow::Legacy => {
            let begun = trial.begin(&mut browser).await?;
            let mut callback = trial.callback()?;
            callback
                .query_pairs_mut()
                .append_pair("code", &random::secret())
                .append_pair("state", &parameter(&begun.url, "state")?);
            Visit::typed(&callback)
        }
    };
    let leaves = |url: &Url| !trial.testbed.is_app(url);
    browser.visit_until(visit, leaves).await.map(drop)
}
