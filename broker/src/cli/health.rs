//! `broker health`: asks a running broker whether it is ready, where no other program can,
//! as in a container.

use std::error::Error;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Client, StatusCode, redirect};

use crate::config::Config;

/// Shorter than the time that a container's engine waits for a check.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Asks the broker that serves with `config`.
pub(super) async fn health(config: &Config) -> Result<(), Box<dyn Error>> {
    let address = address(config.bind)?;
    let scheme = match config.tls {
        None => "http",
        Some(_) => "https",
    };
    let url = format!("{scheme}://{address}/readyz");
    match status_at(&url).await? {
        StatusCode::OK => Ok(writeln!(std::io::stdout(), "ready")?),
        status => Err(format!("not ready: {url} answers {status}; its log says why").into()),
    }
}

/// The status of the answer at `url`, which is an address of this machine.
///
/// # Errors
///
/// If there is no answer.
pub async fn status_at(url: &str) -> Result<StatusCode, Box<dyn Error>> {
    crypto::install();
    let client = Client::builder()
        .timeout(TIME_LIMIT)
        .redirect(redirect::Policy::none())
        .no_proxy()
        // The certificate is for a name of the broker's, not for this address; the request
        // contains no secret, and nothing of the answer but its status is read.
        .tls_danger_accept_invalid_certs(true)
        .build()?;
    match client.get(url).send().await {
        Ok(response) => Ok(response.status()),
        Err(error) if error.is_timeout() => {
            Err(format!("{url} does not answer within {} s", TIME_LIMIT.as_secs()).into())
        }
        Err(_) => Err(format!("no server answers at {url}: is it running?").into()),
    }
}

/// The address at which a server that listens on `bind` can be reached from this machine.
fn address(bind: SocketAddr) -> Result<SocketAddr, &'static str> {
    if bind.port() == 0 {
        return Err("bind has port 0, any free one: set the port to ask");
    }
    let ip = match bind.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    Ok(SocketAddr::new(ip, bind.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bind: &str, expected: &str) {
        let address = address(bind.parse().unwrap()).unwrap();
        assert_eq!(address.to_string(), expected);
    }

    #[test]
    fn a_broker_on_one_address_is_asked_there_and_one_on_every_address_on_loopback() {
        check("0.0.0.0:8000", "127.0.0.1:8000");
        check("[::]:8000", "[::1]:8000");
        check("10.0.0.11:8000", "10.0.0.11:8000");
        check("[fd00::1]:8000", "[fd00::1]:8000");
    }
}
