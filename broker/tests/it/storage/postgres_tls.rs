//! TLS to a PostgreSQL server, checked as `sslmode=verify-full` says.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};

use broker::store::StoreUrl;
use broker::store::fail_points::FailPoints;
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use testkit::postgres::{Durability, PASSWORD_GROUP, Server};

use super::test_store::open_at;
use crate::installation::Scratch;
use crate::tls::{authority, certificate};

const PASSWORD: &str = "LeakMark of the database";

/// A server with a certificate, and the files of its authority and of another.
struct TlsServer {
    server: Server,
    scratch: Scratch,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl TlsServer {
    /// A server with TLS, whose certificate is for `localhost`.
    fn start() -> Self {
        let mut started = Self::start_without_tls();
        started.certify("localhost", |_| ());
        started
    }

    fn start_without_tls() -> Self {
        let mut server = Server::start_on_tcp(Durability::Relaxed).unwrap();
        let role =
            format!("CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}' IN ROLE {PASSWORD_GROUP}");
        server.execute(&role).unwrap();
        server
            .execute("GRANT ALL ON SCHEMA public TO guest")
            .unwrap();
        let ([authority, other], scratch) = ([(); 2].map(|()| authority()), Scratch::new());
        scratch.write("ca.pem", &authority.pem());
        scratch.write("other.pem", &other.pem());
        Self {
            server,
            scratch,
            authority,
        }
    }

    /// Gives the server a certificate for `name`, changed by `change`.
    fn certify(&mut self, name: &str, change: impl FnOnce(&mut CertificateParams)) {
        let (certificate, key) = certificate(&self.authority, name, change);
        let cluster = self.server.cluster();
        let owner = std::fs::metadata(&cluster).unwrap();
        for (file, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = cluster.join(file);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        self.server.execute("ALTER SYSTEM SET ssl = on").unwrap();
        self.server.execute("SELECT pg_reload_conf()").unwrap();
        // The processes that serve connections are started after it was read.
        let on = "SHOW ssl";
        while self.server.execute(on).unwrap() != "on" {}
    }

    /// The address, with the authority in this file.
    fn url(&self, host: &str, authority: &str) -> String {
        let file = self.scratch.file(authority);
        let url = self.server.url_at(host);
        let url = url.replacen(
            "broker@",
            &format!("guest:{}@", PASSWORD.replace(' ', "%20")),
            1,
        );
        format!("{url}?sslmode=verify-full&sslrootcert={}", file.display())
    }

    /// Checks that the broker does not connect, for this reason and with this advice.
    async fn assert_refused(&self, host: &str, authority: &str, reason: &str, advice: &str) {
        let opened = self
            .url(host, authority)
            .parse::<StoreUrl>()
            .map_err(str::to_owned);
        let opened = opened.and_then(|url| {
            broker::store::open(&url, FailPoints::NONE).map_err(|it| it.to_string())
        });
        let error = match opened {
            Ok(store) => store.ready().await.unwrap_err().to_string(),
            Err(error) => error,
        };
        assert!(error.contains(reason) && error.contains(advice), "{error}");
        assert!(!error.contains(PASSWORD), "{error}");
    }
}

#[tokio::test]
async fn a_connection_to_the_right_server_is_encrypted() {
    let mut here = TlsServer::start();
    let store = open_at(&here.url("localhost", "ca.pem"), FailPoints::NONE);
    store.ready().await.unwrap();
    let select = "SELECT ssl, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                  WHERE usename = 'guest'";
    assert_eq!(here.server.execute(select).unwrap(), "t|TLSv1.3");
}

#[tokio::test]
async fn a_server_with_another_authority_another_name_or_an_expired_certificate_is_refused() {
    let here = TlsServer::start();
    for (host, authority, reason, advice) in [
        (
            "localhost",
            "other.pem",
            "invalid peer certificate",
            "by sslrootcert in store.url",
        ),
        (
            "127.0.0.1",
            "ca.pem",
            "not valid for name",
            "must be a name in",
        ),
    ] {
        here.assert_refused(host, authority, reason, advice).await;
    }
    let mut expired = TlsServer::start_without_tls();
    expired.certify("localhost", |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let advice = "renew the server's certificate";
    expired
        .assert_refused("localhost", "ca.pem", "expired", advice)
        .await;
}

#[tokio::test]
async fn a_server_without_tls_is_refused_and_a_file_without_an_authority_is_named() {
    let here = TlsServer::start_without_tls();
    here.scratch.write("empty.pem", "");
    for (authority, reason, advice) in [
        ("ca.pem", "does not support TLS", "set ssl=on"),
        ("absent.pem", "/absent.pem", "cannot be read"),
        ("empty.pem", "/empty.pem", "contains no certificate"),
    ] {
        here.assert_refused("localhost", authority, reason, advice)
            .await;
    }
}
