//! TLS: a copy of the app calls a broker whose certificate no client may accept.

use stack::tls::{ServerCertificate, TlsTrialServer};

use super::demands::parameter;
use crate::app::Flow;
use crate::browser::Visit;
use crate::random;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The variables by which common clients take a further authority.
const AUTHORITY_FILE: [&str; 5] = [
    "SIGNIN_CA_FILE",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// `tls-verified`: a login with the good certificate, then with each wrong one.
pub(super) async fn tls_verified(trial: &Trial<'_>) -> Outcome {
    let server = TlsTrialServer::start(&trial.testbed.addresses.broker);
    let server = server.map_err(|error| Stop::harness(format!("no TLS server starts: {error}")))?;
    let ca_file = server.ca_file().display().to_string();
    let more = AUTHORITY_FILE.map(|name| (name, ca_file.as_str()));
    let copy = trial.testbed.second_app(&server.origin(), &more).await?;
    let copied = trial.moved_to(&copy);

    let (mut takes_good, mut wrong) = (false, Vec::new());
    for certificate in ServerCertificate::ALL {
        server.present(certificate);
        // What the app makes of a broker that it does not reach is another check's concern.
        let _ = make_it_call(&copied).await;
        let Some(request) = server.seen(certificate).await else {
            return Err(Stop::not_tested(format!(
                "with {} as SIGNIN_BASE_URL the app makes no connection to the broker",
                server.origin()
            )));
        };
        match certificate {
            ServerCertificate::Good => takes_good = request.is_some(),
            it => wrong.extend(request.map(|sent| format!("{sent} under one that {}", it.says()))),
        }
    }
    require(wrong.is_empty(), || {
        let wrong = wrong.join(", ");
        format!("the app takes wrong certificates of its broker: it sends {wrong}")
    })?;
    takes_good.then_some(()).ok_or_else(|| {
        let names = AUTHORITY_FILE.join(", ");
        Stop::not_tested(format!("the app refuses a certificate of an unknown authority, and a good one as well, whose authority is in the file of {names}: let it read one of them, for other names and old certificates to be tried"))
    })
}

/// A request of a browser that makes the app call the broker: the start of a login; in the
/// legacy flow a callback with a made-up code.
async fn make_it_call(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    let visit = match trial.flow {
        Flow::Clean => ada.last_press().await?,
        Flow::Legacy => {
            let begun = ada.begin().await?;
            let state = parameter(&begun.url, "state")?;
            let mut callback = trial.callback()?;
            let parameters = [("code", random::secret()), ("state", state)];
            callback.query_pairs_mut().extend_pairs(parameters);
            Visit::typed(&callback)
        }
    };
    let leaves = |url: &url::Url| !trial.testbed.is_app(url);
    ada.browser.visit_until(visit, leaves).await.map(drop)
}
