//! Demo, broker and a hostile sister site under one parent domain, over TLS, as in
//! production: cookies are `__Host-` and `Secure`.
//!
//! Chromium resolves the names by its command line and takes the certificate
//! unseen; backends call each other past TLS.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use broker::config::{Config, GoogleConfig, UpstreamConfig, UpstreamSecret};
use broker::cookie_cipher::CookieKey;
use broker::projects::Project;
use broker::{Broker, Dependencies};
use mock_upstream::settings::ProviderSettings;
use mock_upstream::{MockUpstream, Mode, Settings};
use rocket::Rocket;
use testkit::server::TestServer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, split};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::site::Site;

/// The arguments with which Chromium reaches the stack.
pub(crate) const ARGUMENTS: &[&str] = &[
    "--host-resolver-rules=MAP *.shop.test 127.0.0.1",
    "--ignore-certificate-errors",
];

/// The domain that a sister site may set cookies for.
pub(crate) const PARENT: &str = "shop.test";

const CLIENT_ID: &str = "prj_shop";
const SECRET: &str = "q3Zx9Lr2Vt7Wn4Kp8Ys1Bm6Jd5Hc0Fg";

/// A demo, a broker, an imitated Google and a sister site.
pub(crate) struct TlsStack {
    /// The demo's origin.
    pub(crate) app: String,
    /// The address of the demo without TLS, for a client that is no browser.
    pub(crate) app_in_clear: SocketAddr,
    /// Between browsers and the demo.
    pub(crate) app_gate: Arc<Gate>,
    /// The broker's origin.
    pub(crate) signin: String,
    /// The address of the broker without TLS, for a client that is no browser.
    pub(crate) signin_in_clear: SocketAddr,
    /// The sister site's origin.
    pub(crate) sister_url: String,
    /// The sister site's pages.
    pub(crate) sister: Site,
    _servers: [TestServer; 2],
    _upstream: MockUpstream,
}

impl TlsStack {
    /// Starts it; the provider shows a page on which the user is chosen.
    pub(crate) async fn start() -> Self {
        stack::silence_rocket();
        let (app_front, broker_front, sister_front) = (listen(), listen(), listen());
        let app = url("app", &app_front);
        let signin = url("signin", &broker_front);
        let sister_url = url("evil", &sister_front);

        let upstream = google(&signin).await;
        let config = broker_config(&signin, upstream.google().url(), &app);
        let broker = Broker::assemble(config, Dependencies::default()).unwrap();
        let broker = TestServer::launch(broker.rocket()).await;
        let app_server = TestServer::launch(demo(broker.address, &signin, &app)).await;
        let (app_in_clear, signin_in_clear) = (app_server.address, broker.address);
        let sister = Site::called("evil.shop.test").await;

        let app_gate = Arc::new(Gate::default());
        encrypt(app_front, app_in_clear, app_gate.clone());
        encrypt(broker_front, signin_in_clear, Arc::default());
        encrypt(sister_front, sister.address(), Arc::default());
        Self {
            app,
            app_in_clear,
            app_gate,
            signin,
            signin_in_clear,
            sister_url,
            sister,
            _servers: [broker, app_server],
            _upstream: upstream,
        }
    }
}

fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn url(name: &str, front: &TcpListener) -> String {
    let port = front.local_addr().unwrap().port();
    format!("https://{name}.{PARENT}:{port}")
}

async fn google(signin: &str) -> MockUpstream {
    let client = |provider| {
        let callback = format!("{signin}/callback/{provider}");
        mock_upstream::Client::new("us", "the right secret", [callback]).unwrap()
    };
    let mut settings = Settings::new(client("google"), client("github"));
    settings.google = ProviderSettings {
        mode: Mode::Interactive,
        ..settings.google
    };
    MockUpstream::start(settings).await.unwrap()
}

fn broker_config(signin: &str, google: &str, app: &str) -> Config {
    let callback = format!("{app}/callback").parse().unwrap();
    let digest = contract::Digest::of(SECRET.as_bytes()).to_text();
    let project = Project::new(
        "The shop".parse().unwrap(),
        CLIENT_ID.parse().unwrap(),
        digest.parse().unwrap(),
        vec![callback],
    );
    Config {
        upstream: UpstreamConfig {
            google: Some(GoogleConfig {
                client_id: "us".to_owned(),
                client_secret: UpstreamSecret::new("the right secret"),
                enabled: true,
                issuer: google.parse().unwrap(),
            }),
            ..UpstreamConfig::default()
        },
        cookie_keys: vec![CookieKey::from_random(&[7; 32])],
        projects: vec![project],
        ..Config::in_process(signin.parse().unwrap())
    }
}

fn demo(broker: SocketAddr, signin: &str, app: &str) -> Rocket<rocket::Build> {
    let config = consumer_demo::Config {
        authorization_origin: signin.parse().unwrap(),
        pending_wait: Duration::from_millis(1),
        ..consumer_demo::Config::new(
            format!("http://{broker}").parse().unwrap(),
            CLIENT_ID.parse().unwrap(),
            SECRET.parse().unwrap(),
            app.parse().unwrap(),
        )
    };
    let demo = consumer_demo::App::new(config, consumer_demo::Clock::system()).unwrap();
    demo.rocket(([127, 0, 0, 1], 0).into()).unwrap()
}

/// Holds back what a browser sends while it is closed.
pub(crate) struct Gate {
    is_open: watch::Sender<bool>,
    waiting: watch::Sender<usize>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            is_open: watch::Sender::new(true),
            waiting: watch::Sender::default(),
        }
    }
}

impl Gate {
    pub(crate) fn close(&self) {
        self.is_open.send_replace(false);
    }

    pub(crate) fn open(&self) {
        self.is_open.send_replace(true);
    }

    /// Waits until a browser's request is held back.
    pub(crate) async fn wait_for_a_request(&self) {
        let mut waiting = self.waiting.subscribe();
        let arrived = waiting.wait_for(|count| *count > 0).await;
        arrived.expect("the gate is here");
    }

    async fn pass(&self) {
        self.waiting.send_modify(|count| *count += 1);
        let opened = self
            .is_open
            .subscribe()
            .wait_for(|open| *open)
            .await
            .is_ok();
        assert!(opened, "the gate is here");
        self.waiting.send_modify(|count| *count -= 1);
    }
}

/// Speaks TLS at `front`, and forwards to `behind`, through `gate`.
fn encrypt(front: TcpListener, behind: SocketAddr, gate: Arc<Gate>) {
    let acceptor = TlsAcceptor::from(Arc::new(tls_config()));
    front.set_nonblocking(true).unwrap();
    let front = tokio::net::TcpListener::from_std(front).unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = front.accept().await {
            let (acceptor, gate) = (acceptor.clone(), gate.clone());
            tokio::spawn(async move {
                let client = acceptor.accept(client).await?;
                let (mut from_client, mut to_client) = split(client);
                let (mut from_server, to_server) = split(TcpStream::connect(behind).await?);
                tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
                pass_on(&mut from_client, to_server, &gate).await
            });
        }
    });
}

async fn pass_on(
    from: &mut (impl AsyncRead + Unpin),
    mut to: impl AsyncWrite + Unpin,
    gate: &Gate,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        gate.pass().await;
        to.write_all(&buffer[..length]).await?;
    }
}

fn tls_config() -> ServerConfig {
    let made = rcgen::generate_simple_self_signed([format!("*.{PARENT}")]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap()
}
