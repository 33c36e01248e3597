//! The authorities that are trusted for a provider's certificate, and certificates that
//! were signed by one of them and are invalid all the same.

use broker::upstream::Failure;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rocket::config::TlsConfig;

use crate::broker_process::BrokerProcess;
use crate::installation::Installation;
use crate::scratch::Scratch;
use crate::slow_github::{SlowGitHub, coming_back};
use crate::test_broker::{authorize_query, authorize_with, parameter};

const HERE: &str = "127.0.0.1";

/// A certificate authority of the test.
pub(crate) fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The redirects of a browser that returned from GitHub and of one that should go to
/// Google, and the broker's log.
struct SignIns {
    github: String,
    google: String,
    log: String,
}

/// The place in which the broker finds the authority of the provider; another authority
/// is in the other one.
#[derive(Clone, Copy)]
enum Trusted {
    BySystem,
    ByCaFile,
}

/// Signs in at a server in the place of both providers, whose certificate is for
/// `name` and changed by `change`.
async fn sign_in(
    trusted: Trusted,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> SignIns {
    let [authority, another] = [(); 2].map(|()| authority());
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.signed_by(&key, &authority).unwrap().pem();
    let tls = TlsConfig::from_bytes(certificate.as_bytes(), key.serialize_pem().as_bytes());
    let github = SlowGitHub::start_with(Some(tls)).await;
    github.permits.add_permits(1);

    let (installation, scratch) = (Installation::new(), Scratch::new());
    let (system, own) = match trusted {
        Trusted::BySystem => (&authority, &another),
        Trusted::ByCaFile => (&another, &authority),
    };
    let system = scratch.write("system.pem", &system.pem());
    let own = scratch.write("own.pem", &own.pem());
    let broker = BrokerProcess::start(
        github
            .broker(&installation)
            .env("SSL_CERT_FILE", system.to_str().unwrap())
            .env("BROKER_UPSTREAM__CA_FILE", own.to_str().unwrap())
            .env("BROKER_UPSTREAM__GOOGLE__CLIENT_ID", "google")
            .env("BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET", "GOCSPX")
            .env("BROKER_UPSTREAM__GOOGLE__ISSUER", github.url()),
    );
    let returned = coming_back(&broker, "code=upstream-code")
        .await
        .send()
        .await;
    let mut query = authorize_query();
    query[2].1 = "google".to_owned();
    let redirect = broker.get(&authorize_with(&query)).await;
    SignIns {
        github: returned.location().unwrap().to_owned(),
        google: redirect.location().unwrap().to_owned(),
        log: broker.kill(),
    }
}

impl SignIns {
    /// Asserts that neither provider was trusted, and that the log has the cause.
    fn are_refused(&self) {
        for (provider, location) in [("github", &self.github), ("google", &self.google)] {
            let error = parameter(location, "error");
            assert_eq!(error.as_deref(), Some("provider_unavailable"), "{provider}");
            let call = format!("→ {provider} ");
            let mut calls = self.log.lines().filter(|line| line.contains(&call));
            let why = Failure::Untrusted.why();
            assert!(calls.any(|line| line.contains(why)), "{}", self.log);
        }
    }
}

/// One in the `ca_file`, and one of the system also when a `ca_file` is set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_of_the_system_or_in_the_ca_file_is_trusted() {
    for trusted in [Trusted::BySystem, Trusted::ByCaFile] {
        let sign_ins = sign_in(trusted, HERE, |_| ()).await;
        assert!(parameter(&sign_ins.github, "code").is_some());
        assert!(!sign_ins.log.contains(Failure::Untrusted.why()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_for_another_name_or_another_time_is_not_trusted() {
    let valid_from = |year: i32| {
        move |params: &mut CertificateParams| {
            params.not_before = date_time_ymd(year, 1, 1);
            params.not_after = date_time_ymd(year + 1, 1, 1);
        }
    };
    sign_in(Trusted::BySystem, "localhost", |_| ())
        .await
        .are_refused();
    for year in [2019, 4000] {
        sign_in(Trusted::BySystem, HERE, valid_from(year))
            .await
            .are_refused();
    }
}
