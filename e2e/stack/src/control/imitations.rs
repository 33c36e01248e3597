//! The control address of the imitations alone: the calls about the providers and the clock, by
//! the handlers of a stack's, and their list as text.

use std::net::SocketAddr;

use rocket::{State, get, routes};

use super::call_list::Call;
use super::{NAME, server, stack, upstreams};
use crate::imitations::Imitations;
use crate::runtime::{ServerHandle, silence_rocket};
use crate::settings::StackStartError;

/// Starts the control address, which accepts `host` besides those of the imitations; returns
/// its URL and its server.
pub(crate) async fn serve_imitations(
    imitations: &Imitations,
    host: Option<&str>,
    address: SocketAddr,
) -> Result<(String, ServerHandle), StackStartError> {
    silence_rocket();
    let upstream = &imitations.upstream;
    let port = upstream.reach.bind(NAME, address)?;
    let url = upstream.reach.url_of(&port);
    let build = |address| {
        let calls = [
            stack::common_calls(),
            upstreams::calls(),
            stack::reset_call(),
        ];
        let calls: Vec<Call> = calls.into_iter().flatten().collect();
        let command = |it: &Call| format!("{}\n  {}\n", it.sentence, it.curl(&url));
        let list = calls.iter().map(command).collect::<Vec<_>>().join("\n");
        let server = server(&upstream.reach, host.map(ToOwned::to_owned), address, calls);
        Ok(server
            .manage(upstream.clone())
            .manage(CallText(list))
            .mount("/", routes![list_page]))
    };
    let server = upstream.reach.serve(port, build).await?;
    Ok((url, server))
}

/// The list of calls, each with a command that makes it.
struct CallText(String);

#[get("/calls")]
fn list_page(list: &State<CallText>) -> &str {
    &list.0
}
