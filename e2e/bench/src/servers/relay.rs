//! A network between a broker and its database: a relay that passes on bytes in their order,
//! each after the same delay, however many are on their way.
//!
//! It has threads, because the timer of tokio counts in whole milliseconds.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use agent::time::Stopwatch;
use rustix::thread::set_current_timer_slack;

use crate::BenchError;

/// Relays to the server at `socket`, with this delay in each direction, until this process
/// ends.
pub(crate) fn start(socket: PathBuf, delay: Duration) -> Result<SocketAddr, BenchError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client?, UnixStream::connect(&socket)?);
            client.set_nodelay(true)?;
            pass_on(client.try_clone()?, server.try_clone()?, delay);
            pass_on(server, client, delay);
        }
        Ok::<_, std::io::Error>(())
    });
    Ok(address)
}

/// Passes on what is read, each part when it is due.
#[expect(clippy::disallowed_methods, reason = "a delay is what it is for")]
fn pass_on(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    delay: Duration,
) {
    let (sender, under_way) = channel::<(Stopwatch, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = [0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            let _ = sender.send((Stopwatch::start(), buffer[..n].to_vec()));
        }
    });
    thread::spawn(move || {
        // The system may wake a thread later than it asks by its slack: 50 µs otherwise.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        for (read, bytes) in under_way {
            thread::sleep(delay.saturating_sub(read.elapsed()));
            let _ = to.write_all(&bytes);
        }
    });
}
