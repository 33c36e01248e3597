//! One client: a consumer's backend and the browser of its user.

use std::net::SocketAddr;

use super::connection::Connection;
use crate::error::BenchError;

/// A consumer's credentials at the broker.
#[derive(Debug, Clone)]
pub(crate) struct Consumer {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

/// Its connections, and the consumer that it signs in to.
pub(crate) struct Client {
    pub(crate) broker: Connection,
    /// The provider's sign-in page; without one, the browser comes straight back.
    pub(crate) provider: Option<Connection>,
    pub(crate) consumer: Consumer,
}

impl Consumer {
    /// The consumer of every broker that this benchmark configures.
    pub(crate) fn of_the_bench() -> Self {
        Self {
            client_id: super::login::CLIENT_ID.to_owned(),
            client_secret: super::login::CLIENT_SECRET.to_owned(),
        }
    }
}

impl Client {
    /// A client of the broker at `address` whose provider has no page.
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self, BenchError> {
        Ok(Self {
            broker: Connection::open(address).await?,
            provider: None,
            consumer: Consumer::of_the_bench(),
        })
    }
}
