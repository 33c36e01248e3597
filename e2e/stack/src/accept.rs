//! Accepting connections.

use tokio::net::{TcpListener, TcpStream};

/// The next client of `listener`, whose bytes are sent without delay.
pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        if let Ok((client, _)) = listener.accept().await {
            let _ = client.set_nodelay(true);
            return client;
        }
        wait_for_descriptors().await;
    }
}

/// Accepting fails when file descriptors run out, and would fail again at once.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing signals that a descriptor is free again"
)]
async fn wait_for_descriptors() {
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
}
