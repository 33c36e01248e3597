//! The heap size of the values that an [`ExpiringStore`](super::ExpiringStore) keeps.

use crate::script::SignInScript;
use crate::settings::RedirectUri;
use crate::{Client, Misbehaviour, User};

/// A value that knows its size on the heap.
pub(crate) trait HeapSize {
    /// The bytes on the heap, beside the size of the value itself.
    fn heap_bytes(&self) -> usize;
}

impl HeapSize for () {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl HeapSize for Misbehaviour {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl HeapSize for Option<String> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, String::len)
    }
}

impl HeapSize for Client {
    /// Its id, which a browser may choose; its registration is in the settings.
    fn heap_bytes(&self) -> usize {
        self.client_id().len()
    }
}

impl HeapSize for RedirectUri {
    /// A browser chooses it where any is accepted.
    fn heap_bytes(&self) -> usize {
        self.as_str().len() + self.host().len()
    }
}

impl HeapSize for User {
    fn heap_bytes(&self) -> usize {
        let Self {
            name,
            username,
            email,
            picture,
            hosted_domain,
            ..
        } = self;
        let fields = [name, username, email, picture, hosted_domain];
        let fields: usize = fields.into_iter().map(HeapSize::heap_bytes).sum();
        self.id.len() + fields + self.other_emails.iter().map(String::len).sum::<usize>()
    }
}

impl HeapSize for SignInScript {
    fn heap_bytes(&self) -> usize {
        self.user.heap_bytes()
    }
}
