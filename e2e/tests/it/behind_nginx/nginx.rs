//! An nginx of a test's own, with the shipped configuration, its own ports and its own
//! folder; a stub for a broker, which records nginx's requests and sends a fixed response;
//! and brokers off loopback, and the nginx in front of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{EndsBy, Program};
use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use broker::store::fail_points::FailPoints;
use broker::store::{self, StoreUrl};
use broker::{Broker, Dependencies};
use mock_upstream::{Clock, MockUpstream};
use rcgen::CertifiedKey;
use reqwest::{Certificate, ClientBuilder};
use serde_json::json;
use tempfile::TempDir;
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::fresh;
use testkit::http::{Http, client_builder};
use testkit::leak_check::log;
use testkit::login::{Flow, Outcome};
use testkit::server::TestServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::broker_parts::{self as parts, UPSTREAM_SECRET};

/// The shipped configuration.
const SHIPPED: &str = include_str!("../../../../broker/nginx/nginx.conf");

/// The name in it that operators change, and no test needs to.
pub(crate) const NAME: &str = "signin.example";

/// The addresses in place of the shipped one's for IPv4 and for IPv6, which not every
/// machine has. No other program listens at them, so a free port stays free.
const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 80);
const AND_HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 81);

/// The time in which it starts.
const LIMIT: Duration = Duration::from_secs(60);

/// The listeners that reserve its two ports.
pub(crate) struct Ports {
    https: TcpListener,
    http: TcpListener,
}

impl Ports {
    pub(crate) fn draw() -> Self {
        let free = || TcpListener::bind((HERE, 0)).expect("a free port");
        Self {
            https: free(),
            http: free(),
        }
    }

    /// The address for TLS.
    pub(crate) fn https(&self) -> SocketAddr {
        self.https.local_addr().expect("an address")
    }

    fn http(&self) -> SocketAddr {
        self.http.local_addr().expect("an address")
    }
}

/// A text of the shipped configuration, and its replacement in a test.
pub(crate) type Change<'a> = (&'a str, &'a str);

/// A running nginx, until this is dropped.
pub(crate) struct Nginx {
    folder: TempDir,
    /// The address for TLS.
    pub(crate) https: SocketAddr,
    http: SocketAddr,
    /// The certificate that its clients trust.
    pub(crate) certificate: CertificateDer<'static>,
    keeper: Program,
}

/// The logs of a run.
pub(crate) struct NginxLogs {
    pub(crate) access: String,
    pub(crate) errors: String,
}

impl Nginx {
    /// Serves at `ports` in front of `brokers`, with `changes` to what is shipped.
    pub(crate) fn start(ports: Ports, brokers: &[SocketAddr], changes: &[Change<'_>]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["etc/nginx/tls", "var/log/nginx", "run", "unused"] {
            std::fs::create_dir_all(folder.path().join(path)).expect("a folder");
        }
        let certificate = certify(&folder.path().join("etc/nginx/tls"));
        let configuration = changed(rendered(&ports, brokers, folder.path()), changes);
        let file = folder.path().join("etc/nginx/nginx.conf");
        std::fs::write(&file, configuration).expect("a file");
        let (https, http) = (ports.https(), ports.http());
        drop(ports);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", include_str!("keep.sh"), "keep.sh"])
            .arg(&file)
            .arg(folder.path().join("run/nginx.pid"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut keeper = Program::start(shell, EndsBy::EndOfInput).expect("a shell");
        let said = keeper.output.line_within(LIMIT);
        assert_eq!(
            said.as_deref(),
            Some("up"),
            "nginx does not start as it should; is Debian's package `nginx` installed?"
        );
        Self {
            folder,
            https,
            http,
            certificate,
            keeper,
        }
    }

    /// The address of `path` for its clients.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{NAME}:{}{path}", self.https.port())
    }

    /// The same address in clear.
    pub(crate) fn url_in_clear(&self, path: &str) -> String {
        format!("http://{NAME}:{}{path}", self.http.port())
    }

    /// A client that trusts it, and does not know yet where it is.
    pub(crate) fn trusting_client(&self) -> ClientBuilder {
        let root = Certificate::from_der(&self.certificate).expect("it was made here");
        client_builder().tls_certs_only([root])
    }

    /// A client that comes from `source`, an address of this machine.
    pub(crate) fn http_from(&self, source: [u8; 4]) -> Http {
        let client = self.trusting_client().resolve(NAME, self.https);
        let client = client.local_address(IpAddr::from(source)).build();
        Http::at(self.url("")).with_client(client.expect("a client"))
    }

    /// A client from the usual address of this machine.
    pub(crate) fn http(&self) -> Http {
        self.http_from([127, 0, 0, 1])
    }

    /// Ends it, and returns what it wrote.
    pub(crate) fn stop(mut self) -> NginxLogs {
        self.keeper.stop();
        let log = |name| self.folder.path().join("var/log/nginx").join(name);
        let read = |name| std::fs::read_to_string(log(name)).expect("a log");
        NginxLogs {
            access: read("access.log"),
            errors: read("error.log"),
        }
    }
}

impl Drop for Nginx {
    /// It writes to its folder until it has ended.
    fn drop(&mut self) {
        self.keeper.stop();
    }
}

/// Writes a self-signed certificate of `NAME`, and its key.
fn certify(folder: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
    std::fs::write(folder.join("fullchain.pem"), cert.pem()).expect("a file");
    std::fs::write(folder.join("privkey.pem"), signing_key.serialize_pem()).expect("a file");
    cert.der().clone()
}

/// The shipped configuration with other addresses and folders.
fn rendered(ports: &Ports, brokers: &[SocketAddr], folder: &Path) -> String {
    let folder = folder.display();
    let listen = |here, at: SocketAddr| format!("listen {here}:{}", at.port());
    let brokers: Vec<_> = brokers
        .iter()
        .map(|broker| format!("server {broker};"))
        .collect();
    // nginx makes these folders even for programs that it does not proxy, by default in
    // a folder of root's.
    let unused = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("{what}_temp_path {folder}/unused/{what};"));
    changed(
        SHIPPED.to_owned(),
        &[
            ("listen 443", &listen(HERE, ports.https())),
            ("listen [::]:443", &listen(AND_HERE, ports.https())),
            ("listen 80", &listen(HERE, ports.http())),
            ("listen [::]:80", &listen(AND_HERE, ports.http())),
            ("server 127.0.0.1:8000;", &brokers.concat()),
            (" /etc/nginx/tls/", &format!(" {folder}/etc/nginx/tls/")),
            (" /var/log/", &format!(" {folder}/var/log/")),
            (" /run/", &format!(" {folder}/run/")),
            ("\nhttp {", &format!("\nhttp {{ {}", unused.concat())),
        ],
    )
}

fn changed(mut configuration: String, changes: &[Change<'_>]) -> String {
    for (shipped, own) in changes {
        assert!(configuration.contains(shipped), "{shipped} is not shipped");
        configuration = configuration.replace(shipped, own);
    }
    configuration
}

/// The response to each request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StubResponse {
    /// This, and then it closes the connection.
    This(&'static str),
    /// None: it closes the connection.
    Closes,
    /// None: it keeps the connection open.
    Waits,
}

/// A success without a body.
pub(crate) const NO_CONTENT: StubResponse =
    StubResponse::This("HTTP/1.1 204 No Content\r\nX-Request-Id: 1\r\nConnection: close\r\n\r\n");

pub(crate) struct StubBroker {
    pub(crate) address: SocketAddr,
    heads: watch::Receiver<Vec<String>>,
}

impl StubBroker {
    /// Starts one that sends `answer` to each request.
    pub(crate) async fn answering(answer: StubResponse) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, heads) = watch::channel(Vec::new());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer, sender.clone()));
            }
        });
        Self { address, heads }
    }

    /// The same, and an nginx in front of it.
    pub(crate) async fn behind_nginx(answer: StubResponse) -> (Self, Nginx) {
        let broker = Self::answering(answer).await;
        let nginx = Nginx::start(Ports::draw(), &[broker.address], &[]);
        (broker, nginx)
    }

    /// The head of each request, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.borrow().clone()
    }

    /// Waits until it has received this number of requests.
    pub(crate) async fn wait_for_requests(&self, requests: usize) {
        let mut heads = self.heads.clone();
        let received = heads.wait_for(|heads| heads.len() == requests).await;
        received.expect("it listens");
    }
}

async fn serve(mut stream: TcpStream, answer: StubResponse, sender: watch::Sender<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    sender.send_modify(|heads| heads.push(head));
    match answer {
        StubResponse::This(answer) => {
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        StubResponse::Closes => {}
        StubResponse::Waits => {
            let _ = stream.read_u8().await;
        }
    }
}

/// All of them, and a project's backend outside.
pub(crate) struct ProxiedBrokers {
    /// Its calls go through nginx.
    pub(crate) backend: Backend,
    pub(crate) nginx: Nginx,
    brokers: Vec<TestServer>,
    _upstream: MockUpstream,
}

impl ProxiedBrokers {
    pub(crate) async fn start() -> Self {
        Self::of(1, |_| (), &[]).await
    }

    /// `count` brokers that share their store, with these settings, and changes to nginx's.
    pub(crate) async fn of(
        count: usize,
        settings: impl FnOnce(&mut Config),
        changes: &[Change<'_>],
    ) -> Self {
        log::listen();
        stack::silence_rocket();
        let ports = Ports::draw();
        let base_url = format!("https://{NAME}:{}", ports.https().port());
        let upstream = parts::upstream(&base_url, Clock::system()).await;
        let mut config = parts::config(
            &base_url,
            upstream.google().url(),
            upstream.github().url(),
            UPSTREAM_SECRET,
        );
        let credentials = json!({
            "client_id": "behind-nginx",
            "client_secret": fresh::secret(),
            "redirect_uris": [format!("{UNSERVED}/behind/nginx")],
        });
        let mut backend = Backend::of(&base_url, &credentials);
        config.cookie_keys = vec![CookieKey::from_random(&[42; 32])];
        config.ip_header = Some("X-Real-IP".to_owned().try_into().expect("a name"));
        config.projects = vec![parts::project(&backend, &[&backend.callback])];
        settings(&mut config);
        let brokers = launch(count, &config).await;
        let nginx = Nginx::start(ports, &addresses(&brokers), changes);
        backend.http = nginx.http();
        Self {
            backend,
            nginx,
            brokers,
            _upstream: upstream,
        }
    }

    /// The addresses of the brokers.
    pub(crate) fn brokers(&self) -> Vec<SocketAddr> {
        addresses(&self.brokers)
    }

    /// A browser that finds the broker behind its nginx.
    pub(crate) fn browser(&self) -> Browser {
        Browser::with_http(self.backend.http.clone())
    }

    /// A whole login by `flow`.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let started = flow.start(&self.backend, provider).await;
        let end = self.browser().follow(started.url()).await;
        started.outcome(&self.backend, &end.url).await
    }
}

/// `count` brokers that share a store, as with a shared database.
async fn launch(count: usize, config: &Config) -> Vec<TestServer> {
    let store = store::open(&StoreUrl::SqliteMemory, FailPoints::default()).expect("a store");
    let mut brokers = Vec::new();
    for _ in 0..count {
        let dependencies = Dependencies {
            store: Some(store.clone()),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config.clone(), dependencies).expect("a broker");
        brokers.push(TestServer::launch(broker.rocket()).await);
    }
    brokers
}

fn addresses(brokers: &[TestServer]) -> Vec<SocketAddr> {
    brokers.iter().map(|it| it.address).collect()
}
