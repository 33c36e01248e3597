//! `--health`: asks a running stack whether it is up, where no other program can, as in a
//! container.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;

use broker::cli::health::status_at;

/// Asks the stack with this control address, by HTTP and by HTTPS: a stack serves one.
pub(super) async fn ask(control: SocketAddr) -> Result<(), Box<dyn Error>> {
    let call = |scheme| format!("{scheme}://{control}/api/stack");
    let answer = match status_at(&call("http")).await {
        Ok(status) if status.is_success() => Ok(status),
        _ => status_at(&call("https")).await,
    };
    match answer {
        Ok(status) if status.is_success() => Ok(writeln!(std::io::stdout(), "up")?),
        _ => Err(format!("no stack answers at {control}; --control is its address").into()),
    }
}
