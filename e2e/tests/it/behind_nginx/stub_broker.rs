//! A stub for a broker: it records nginx's requests and sends a fixed
//! response.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::nginx::{Nginx, Ports};

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
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
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
