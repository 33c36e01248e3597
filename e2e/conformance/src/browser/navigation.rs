//! A browser's way from the broker to the consumer.

use url::Url;

/// The user's decision at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    SignIn,
    Decline,
}

/// A browser's way from the broker to the consumer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Navigation<'a> {
    /// The address that the browser opens.
    pub(crate) url: &'a str,
    /// The consumer's callback.
    pub(crate) callback: &'a str,
    /// The broker's address.
    pub(crate) base_url: &'a str,
    pub(crate) aim: Aim,
}

impl Navigation<'_> {
    /// Whether an address is the consumer's: at the callback's origin, and, where the
    /// broker has the same origin, below the callback's path.
    pub(super) fn is_at_consumer(&self, url: &str) -> bool {
        let (Ok(url), Ok(callback)) = (Url::parse(url), Url::parse(self.callback)) else {
            return false;
        };
        let shares = Url::parse(self.base_url).is_ok_and(|base| base.origin() == callback.origin());
        url.origin() == callback.origin() && (!shares || url.path().starts_with(callback.path()))
    }
}
