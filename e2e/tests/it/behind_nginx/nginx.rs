//! An nginx of a test's own, with the shipped configuration, its own ports and its own
//! folder.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rcgen::CertifiedKey;
use reqwest::{Certificate, ClientBuilder};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::CertificateDer;

use testkit::http::{Http, client_builder};

/// The shipped configuration.
const SHIPPED: &str = include_str!("../../../../broker/nginx/nginx.conf");

/// The name in it that operators change, and no test needs to.
pub(crate) const NAME: &str = "signin.example";

/// The addresses in place of the shipped one's for IPv4 and for IPv6, which not every
/// machine has. No other program listens at them, so a free port stays free.
const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 80);
const AND_HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 81);

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
    https: SocketAddr,
    http: SocketAddr,
    certificate: CertificateDer<'static>,
    /// It serves as long as this is open.
    life: Option<ChildStdin>,
    keeper: Child,
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
        let mut keeper = Command::new("sh")
            .args(["-c", include_str!("keep.sh"), "keep.sh"])
            .arg(&file)
            .arg(folder.path().join("run/nginx.pid"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut said = String::new();
        let stdout = keeper.stdout.take().expect("it is piped");
        let read = BufReader::new(stdout).read_line(&mut said);
        assert!(
            read.is_ok() && said == "up\n",
            "nginx does not start as it should ({said:?}); is Debian's package `nginx` installed?"
        );
        Self {
            folder,
            https,
            http,
            certificate,
            life: keeper.stdin.take(),
            keeper,
        }
    }

    /// The address for TLS.
    pub(crate) fn https(&self) -> SocketAddr {
        self.https
    }

    /// The certificate that its clients trust.
    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
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
        self.end();
        let log = |name| self.folder.path().join("var/log/nginx").join(name);
        let read = |name| std::fs::read_to_string(log(name)).expect("a log");
        NginxLogs {
            access: read("access.log"),
            errors: read("error.log"),
        }
    }

    fn end(&mut self) {
        drop(self.life.take());
        let _ = self.keeper.wait();
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.end();
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
