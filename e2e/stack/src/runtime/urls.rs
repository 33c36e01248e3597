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

/// The URLs of the servers that run; a sandbox may have no demo.
#[derive(Debug, Clone)]
pub(crate) struct ServerUrls {
    pub(crate) consumer: Option<String>,
    pub(crate) broker: String,
    pub(crate) control: String,
    pub(crate) google: String,
    pub(crate) github: String,
}

impl ServerUrls {
    /// The URLs of a stack that has a demo.
    pub(crate) fn with_demo(&self) -> StackUrls {
        let Self {
            consumer,
            broker,
            control,
            google,
            github,
        } = self.clone();
        StackUrls {
            consumer: consumer.expect("a stack that is no sandbox has a demo"),
            broker,
            control,
            google,
            github,
        }
    }
}

/// The origin of one of the stack's own URLs.
pub(crate) fn own_origin(url: &str) -> Origin {
    url.parse()
        .expect("the addresses of a stack are on loopback, or https")
}
