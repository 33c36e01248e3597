//! The addresses of a running stack.

use contract::Origin;

/// The URLs of a running stack, without trailing slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackUrls {
    /// The demo.
    pub consumer: String,
    /// The broker, through the proxy.
    pub broker: String,
    /// The control address.
    pub control: String,
    /// The imitation of Google.
    pub google: String,
    /// The imitation of GitHub.
    pub github: String,
}

/// The origin of one of the stack's own URLs.
pub(crate) fn loopback_origin(url: &str) -> Origin {
    url.parse()
        .expect("the addresses of a stack are loopback origins")
}
