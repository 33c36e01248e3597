//! Whether the providers can be reached from here, before the first person tries:
//! what `broker check --online` asks. No credential is sent.

use contract::Origin;

use super::Failure;
use super::client::{Client, Hear};
use super::google::keys::Keys;
use crate::clock::Clock;
use crate::config::{GitHubConfig, GoogleConfig, UpstreamConfig};

/// Nobody's login is behind these calls.
const UNHEARD: Hear<'static> = &|_| {};

/// What came of one question.
#[derive(Debug)]
pub struct Finding {
    /// What was asked for.
    pub what: String,
    /// What was found, in words.
    pub found: Result<String, Failure>,
}

/// Asks the servers of every provider that is configured.
///
/// # Errors
///
/// When the HTTP client cannot be made.
pub async fn ask(config: &UpstreamConfig, clock: &Clock) -> reqwest::Result<Vec<Finding>> {
    let client = Client::new(config)?;
    let mut findings = Vec::new();
    if let Some(google) = &config.google {
        findings.extend(ask_google(google, &client, clock).await);
    }
    if let Some(github) = &config.github {
        findings.extend(ask_github(github, &client).await);
    }
    Ok(findings)
}

async fn ask_google(google: &GoogleConfig, client: &Client, clock: &Clock) -> Vec<Finding> {
    let keys = Keys::new(google.issuer.clone(), client.clone(), clock.clone());
    let discovery = Finding {
        what: format!("google, discovery of {}", google.issuer),
        found: keys.endpoints(UNHEARD).await.map(|found| {
            format!(
                "people sign in at {}, codes are exchanged at {}",
                found.authorization, found.token
            )
        }),
    };
    if discovery.found.is_err() {
        return vec![discovery];
    }
    let keys = Finding {
        what: "google, keys".to_owned(),
        found: keys.key_set(UNHEARD).await.map(|(set, kept_for)| {
            let seconds = kept_for.as_secs();
            format!("{} that sign with RS256, kept for {seconds} s", set.len())
        }),
    };
    vec![discovery, keys]
}

async fn ask_github(github: &GitHubConfig, client: &Client) -> [Finding; 2] {
    [
        Finding {
            what: format!("github, sign-in at {}", github.web_url),
            found: reach(&github.web_url, client).await,
        },
        Finding {
            what: format!("github, API at {}", github.api_url),
            found: reach(&github.api_url, client).await,
        },
    ]
}

/// Any answer will do that does not speak of trouble: what stands at the root of
/// these hosts is nobody's promise.
async fn reach(origin: &Origin, client: &Client) -> Result<String, Failure> {
    let request = client.get(&format!("{origin}/robots.txt"));
    let answer = client.send("GET robots", request, UNHEARD).await;
    match answer {
        // It came from there, however long it is.
        Err(Failure::TooLarge) => Ok("answers".to_owned()),
        Err(failure) => Err(failure),
        Ok(answer) if answer.status.is_server_error() => Err(Failure::ServerTrouble),
        Ok(answer) => Ok(format!("answers ({})", answer.status.as_u16())),
    }
}

/// What an operator can do about `failure`.
pub fn advice(failure: Failure) -> &'static str {
    match failure {
        Failure::Unreachable => {
            "check the name service, the firewall, and whether the way out is a proxy \
             (upstream.proxy)"
        }
        Failure::Timeout => {
            "something swallows the connection: check the firewall and upstream.proxy, \
             or give it more time with upstream.timeout_ms"
        }
        Failure::Broken => "something on the way closes the connection: check upstream.proxy",
        Failure::Untrusted => {
            "something on the way may be reading along; if that is a proxy of your own, add \
             its certificate to the system's"
        }
        Failure::RateLimited => "wait some minutes and ask again",
        Failure::ServerTrouble => "look at the provider's status page and ask again later",
        Failure::DocumentIssuer => {
            "upstream.google.issuer must be exactly what its discovery document calls itself"
        }
        Failure::DocumentHost => {
            "something else than the issuer seems to answer in its place; if Google moved an \
             endpoint, a newer version of this broker is needed"
        }
        _ => {
            "something else than the provider seems to answer in its place: check \
             upstream.proxy and the addresses under [upstream]"
        }
    }
}
