//! The provider's account picker.

/// Whether the provider must show its account picker, so that the user clicks once, or
/// may redirect a user who approved before at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountPicker {
    /// The provider must show it.
    Always,
    /// The provider decides.
    ProviderDecides,
}

impl AccountPicker {
    /// The query parameter of both providers' authorization endpoints.
    pub(super) fn parameter(self) -> Option<(&'static str, &'static str)> {
        match self {
            AccountPicker::Always => Some(("prompt", "select_account")),
            AccountPicker::ProviderDecides => None,
        }
    }
}
