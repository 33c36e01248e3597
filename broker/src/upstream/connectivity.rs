//! The connectivity check of `broker check --online`: whether the providers' servers
//! can be reached from this machine. It sends no credentials.

use std::num::NonZeroU32;

use contract::Origin;

use super::client::{Client, ClientError, Observer};
use super::failure::Failure;
use super::google::documents::Documents;
use crate::clock::Clock;
use crate::config::{GitHubConfig, GoogleConfig, UpstreamConfig};

/// No login makes these calls.
const NO_OBSERVER: Observer<'static> = &|_| {};

/// The result of one check.
#[derive(Debug)]
pub struct Diagnosis {
    /// The subject of the check: a provider and one of its addresses.
    pub subject: String,
    /// The finding in words, or the failure.
    pub result: Result<String, Failure>,
}

/// Checks the servers of every provider that is configured.
///
/// # Errors
///
/// If the HTTP client cannot be made.
pub async fn check(config: &UpstreamConfig, clock: &Clock) -> Result<Vec<Diagnosis>, ClientError> {
    let client = Client::new(config, NonZeroU32::MIN)?;
    let mut diagnoses = Vec::new();
    if let Some(google) = &config.google {
        diagnoses.extend(check_google(google, &client, clock).await);
    }
    if let Some(github) = &config.github {
        diagnoses.extend(check_github(github, &client).await);
    }
    Ok(diagnoses)
}

async fn check_google(google: &GoogleConfig, client: &Client, clock: &Clock) -> Vec<Diagnosis> {
    let documents = Documents::new(google.issuer.clone(), client.clone(), clock.clone());
    let discovery = Diagnosis {
        subject: format!("google, discovery of {}", google.issuer),
        result: documents.metadata(NO_OBSERVER).await.map(|metadata| {
            format!(
                "users sign in at {}, codes are exchanged at {}",
                metadata.authorization_endpoint, metadata.token_endpoint
            )
        }),
    };
    if discovery.result.is_err() {
        return vec![discovery];
    }
    let keys = Diagnosis {
        subject: "google, keys".to_owned(),
        result: documents
            .fetch_jwks(NO_OBSERVER)
            .await
            .map(|(jwks, lifetime)| {
                let seconds = lifetime.as_secs();
                format!("{} that sign with RS256, kept for {seconds} s", jwks.len())
            }),
    };
    vec![discovery, keys]
}

async fn check_github(github: &GitHubConfig, client: &Client) -> [Diagnosis; 2] {
    [
        Diagnosis {
            subject: format!("github, sign-in at {}", github.web_url),
            result: reach(&github.web_url, client).await,
        },
        Diagnosis {
            subject: format!("github, API at {}", github.api_url),
            result: reach(&github.api_url, client).await,
        },
    ]
}

/// Accepts every answer but a server error: these hosts do not document what is at
/// their root.
async fn reach(origin: &Origin, client: &Client) -> Result<String, Failure> {
    let request = client.get(format!("{origin}/robots.txt"));
    let answer = client.send("GET robots", request, NO_OBSERVER).await;
    match answer {
        // The server answered, however long the answer is.
        Err(Failure::TooLarge) => Ok("reachable".to_owned()),
        Err(failure) => Err(failure),
        Ok(answer) if answer.status.is_server_error() => Err(Failure::ServerError),
        Ok(answer) => Ok(format!("reachable (HTTP {})", answer.status.as_u16())),
    }
}

/// Advice to the operator about `failure`.
pub fn advice(failure: Failure) -> &'static str {
    match failure {
        Failure::Unreachable => {
            "check DNS, the firewall, and whether you need a proxy (upstream.proxy)"
        }
        Failure::Timeout => {
            "the connection gets no answer: check the firewall and upstream.proxy, or raise \
             the time limit with upstream.timeout_ms"
        }
        Failure::ConnectionBroken => {
            "something on the way closes the connection: check upstream.proxy"
        }
        Failure::Untrusted => {
            "something on the way may be intercepting the connection; if that is your own \
             proxy, name the file of its certificate authority in upstream.ca_file"
        }
        Failure::RateLimited => "wait some minutes and try again",
        Failure::ServerError => "look at the provider's status page and try again later",
        Failure::DocumentIssuer => {
            "upstream.google.issuer must be exactly the issuer in its discovery document"
        }
        Failure::DocumentHost => {
            "another server than the issuer's seems to answer; if Google moved an endpoint, \
             a newer version of this broker is needed"
        }
        _ => {
            "another server than the provider's seems to answer: check upstream.proxy and the \
             addresses under [upstream]"
        }
    }
}
