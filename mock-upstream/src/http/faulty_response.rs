//! A response that the client does not receive completely.
//!
//! The server marks it with the [`DELIVERY_HEADER`]. The transport removes that header, and
//! delivers the response as the header says.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;

use super::Delivery;

/// The header in which the server names a [`Delivery`]; no client ever receives it.
pub(super) const DELIVERY_HEADER: &str = "x-mock-delivery";

/// The Content-Length of [`Delivery::Flood`] and [`Delivery::Drip`].
const FLOOD_BYTES: usize = 50 * 1024 * 1024;

/// Short enough for a test to receive several bytes, long enough to cause no load.
const DRIP_INTERVAL: Duration = Duration::from_millis(20);

/// The bytes that drip and flood: blanks, which are valid before any JSON.
static FILLER: [u8; 64 * 1024] = [b' '; 64 * 1024];

/// A response that is not to be delivered completely.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FaultyResponse<'a> {
    delivery: Delivery,
    /// The status line and the headers, without the [`DELIVERY_HEADER`].
    lines: Vec<&'a str>,
    body: &'a [u8],
}

impl<'a> FaultyResponse<'a> {
    /// Reads a response; `None` if it lacks the [`DELIVERY_HEADER`].
    pub(super) fn parse(response: &'a [u8]) -> Option<Self> {
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&response[..end]).ok()?;
        let delivery = head.lines().find_map(|line| value(line, DELIVERY_HEADER))?;
        Some(Self {
            delivery: Delivery::parse(delivery)?,
            lines: head
                .lines()
                .filter(|line| value(line, DELIVERY_HEADER).is_none())
                .collect(),
            body: &response[end + 4..],
        })
    }

    /// Writes what the client receives. The 50 MB of a flood are never allocated.
    pub(super) async fn deliver(self, mut to: OwnedWriteHalf) -> io::Result<()> {
        match self.delivery {
            Delivery::Silence => std::future::pending().await,
            Delivery::Closed => Ok(()),
            Delivery::Reset => {
                to.write_all(self.head().as_bytes()).await?;
                to.as_ref().set_zero_linger()?;
                // Without this, tokio would shut the connection down properly first.
                to.forget();
                Ok(())
            }
            Delivery::Half => {
                to.write_all(self.head().as_bytes()).await?;
                to.write_all(&self.body[..self.body.len() / 2]).await
            }
            Delivery::Drip => {
                to.write_all(self.endless_head().as_bytes()).await?;
                drip(to).await
            }
            Delivery::Flood => {
                to.write_all(self.endless_head().as_bytes()).await?;
                flood(to).await
            }
            Delivery::Whole => {
                to.write_all(self.head().as_bytes()).await?;
                to.write_all(self.body).await
            }
        }
    }

    fn head(&self) -> String {
        format!("{}\r\n\r\n", self.lines.join("\r\n"))
    }

    /// A head that promises [`FLOOD_BYTES`].
    fn endless_head(&self) -> String {
        let mut lines = self.lines.clone();
        lines.retain(|line| value(line, "content-length").is_none());
        let length = format!("content-length: {FLOOD_BYTES}");
        format!("{}\r\n{length}\r\n\r\n", lines.join("\r\n"))
    }
}

/// The value, if `line` is the header `name`; the server writes names in lower case.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?.strip_prefix(": ")
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for a client, which no clock of ours moves"
)]
async fn drip(mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut interval = tokio::time::interval(DRIP_INTERVAL);
    loop {
        interval.tick().await;
        to.write_all(&FILLER[..1]).await?;
    }
}

async fn flood(mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    for _ in 0..FLOOD_BYTES / FILLER.len() {
        to.write_all(&FILLER).await?;
    }
    Ok(())
}

impl Delivery {
    const FAULTY: [Self; 6] = [
        Self::Silence,
        Self::Closed,
        Self::Reset,
        Self::Half,
        Self::Drip,
        Self::Flood,
    ];

    /// The value of the [`DELIVERY_HEADER`]; none for a complete response.
    pub(super) fn header_value(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Silence => Some("silence"),
            Self::Closed => Some("closed"),
            Self::Reset => Some("reset"),
            Self::Half => Some("half"),
            Self::Drip => Some("drip"),
            Self::Flood => Some("flood"),
        }
    }

    fn parse(value: &str) -> Option<Self> {
        Self::FAULTY
            .into_iter()
            .find(|delivery| delivery.header_value() == Some(value))
    }
}
