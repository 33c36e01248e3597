//! What stands in a broker's place: it writes down what nginx sends, and says what it
//! was told to say.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// It dies before it answers.
pub(crate) const NOTHING: &str = "";

/// It does as it was asked.
pub(crate) const DONE: &str =
    "HTTP/1.1 204 No Content\r\nX-Request-Id: 1\r\nConnection: close\r\n\r\n";

pub(crate) struct Pretender {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Pretender {
    /// Answers each request with `answer` and closes the connection.
    pub(crate) async fn saying(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::default();
        let heard = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(hear(stream, answer, Arc::clone(&heard)));
            }
        });
        Self { address, heads }
    }

    /// The head of each request that it was sent, in small letters.
    pub(crate) fn heads(&self) -> Vec<String> {
        locked(&self.heads).clone()
    }
}

async fn hear(mut stream: TcpStream, answer: &str, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    locked(&heads).push(head);
    let _ = stream.write_all(answer.as_bytes()).await;
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
