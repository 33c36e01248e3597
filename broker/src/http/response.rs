//! The types that handlers answer with.

pub(crate) mod client_redirect;
pub(crate) mod headers;
pub(crate) mod pages;
pub(crate) mod refusal;
pub(crate) mod see_other;
