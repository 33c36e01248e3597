//! Scopes: GitHub accepts spaces and commas, and answers with commas.

use std::collections::BTreeSet;

use crate::provider::HeapSize;
use crate::provider::pages::Permission;

/// The requested scopes. Unknown names are kept: GitHub has dozens.
#[derive(Clone)]
pub(super) struct Scopes(BTreeSet<String>);

/// The approximate size of an entry of the set beside its text.
const ENTRY_BYTES: usize = 64;

impl HeapSize for Scopes {
    fn heap_bytes(&self) -> usize {
        self.0.iter().map(|scope| scope.len() + ENTRY_BYTES).sum()
    }
}

impl Scopes {
    pub(super) fn parse(list: &str) -> Self {
        let is_separator = |character: char| character == ',' || character.is_whitespace();
        let names = list.split(is_separator).filter(|name| !name.is_empty());
        Self(names.map(str::to_owned).collect())
    }

    /// Whether `/user` shows the private part of the account.
    pub(super) fn allow_private_profile(&self) -> bool {
        self.contain("read:user")
    }

    pub(super) fn allow_emails(&self) -> bool {
        self.contain("user:email")
    }

    /// The scopes of the token response.
    pub(super) fn with_commas(&self) -> String {
        self.joined(",")
    }

    /// The permissions in the words of GitHub's page; an unknown scope by its name.
    pub(super) fn permissions(&self) -> Vec<Permission> {
        let permission = |scope: &String| Permission {
            text: match scope.as_str() {
                "user:email" => "See your e-mail addresses".to_owned(),
                "read:user" => "See your profile".to_owned(),
                "user" => "See and change your profile".to_owned(),
                other => other.to_owned(),
            },
            scope: scope.clone(),
        };
        self.0.iter().map(permission).collect()
    }

    pub(super) fn joined(&self, separator: &str) -> String {
        let names: Vec<_> = self.0.iter().map(String::as_str).collect();
        names.join(separator)
    }

    /// Whether `scope` was requested, alone or as a part of `user`.
    fn contain(&self, scope: &str) -> bool {
        self.0.contains(scope) || self.0.contains("user")
    }
}
