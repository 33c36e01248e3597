//! Web servers in the process of a test.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::{self, JoinHandle};

use rocket::fairing::AdHoc;
use rocket::{Build, Rocket, Shutdown};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use crate::leak_check;

/// A port for a program that cannot choose one by itself: nothing listens there, and no
/// program gets it that leaves the choice to the system, whose ports are higher.
///
/// # Panics
///
/// If no port is free.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Each process begins elsewhere, because test programs run side by side.
    let first = 10_000 + (std::process::id() % 400) as u16 * 50;
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed));
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.find(is_free).expect("a port is free")
}

/// A server that listens until this is dropped.
pub struct TestServer {
    /// The address at which it listens.
    pub address: SocketAddr,
    shutdown: Shutdown,
}

impl TestServer {
    /// Launches `rocket`, and returns when it listens.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub async fn launch(rocket: Rocket<Build>) -> Self {
        let (sender, mut addresses) = mpsc::unbounded_channel();
        let rocket = rocket
            .attach(AdHoc::on_liftoff("address", move |rocket| {
                let address = SocketAddr::new(rocket.config().address, rocket.config().port);
                let _ = sender.send(address);
                Box::pin(async {})
            }))
            .ignite()
            .await
            .expect("a server that can start");
        let shutdown = rocket.shutdown();
        tokio::spawn(rocket.launch());
        Self {
            address: addresses.recv().await.expect("it listens"),
            shutdown,
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shutdown.clone().notify();
    }
}

/// A server in a thread and a runtime of its own. It ends from one moment to the next,
/// like a process, when this is dropped.
pub struct ServerThread {
    /// The address at which it listens.
    pub address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Launches what `rocket` makes, and returns when it listens. Its log is checked
    /// and not kept.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub async fn launch(rocket: impl FnOnce() -> Rocket<Build> + Send + 'static) -> Self {
        let (sender, address) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let serve = async {
                let server = TestServer::launch(rocket()).await;
                sender.send(server.address).expect("the caller waits");
                let _ = ended.await;
            };
            leak_check::without_keeping_log(|| runtime().block_on(serve));
        });
        Self {
            address: address.await.expect("it listens"),
            end: Some(end),
            thread: Some(thread),
        }
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends without a panic");
        }
    }
}

/// A free port of this machine, and the URL of a server that listens there.
///
/// # Panics
///
/// If there is none.
pub fn bind() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, format!("http://{address}"))
}

/// A runtime in the thread of its caller.
///
/// # Panics
///
/// If the system refuses it.
pub fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}
