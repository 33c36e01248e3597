//! Scopes: Google accepts short names and answers with long ones.

use std::collections::BTreeSet;

use crate::provider::pages::Permission;

/// The scopes that the mock supports; any other one is `invalid_scope`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    OpenId,
    Email,
    Profile,
}

const EMAIL: &str = "https://www.googleapis.com/auth/userinfo.email";
const PROFILE: &str = "https://www.googleapis.com/auth/userinfo.profile";

/// The requested scopes, each once, however often a request names it.
#[derive(Clone)]
pub(super) struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Reads a list between blanks; `None` if it contains an unknown scope.
    pub(super) fn parse(list: &str) -> Option<Self> {
        list.split_whitespace()
            .map(Scope::parse)
            .collect::<Option<_>>()
            .map(Self)
    }

    pub(super) fn contain(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// The callback's names: short and long, `openid` last.
    pub(super) fn in_callback(&self) -> String {
        self.names(&[
            (Scope::Email, "email"),
            (Scope::Profile, "profile"),
            (Scope::Profile, PROFILE),
            (Scope::Email, EMAIL),
            (Scope::OpenId, "openid"),
        ])
    }

    /// The token response's names: `openid` first, the others long.
    pub(super) fn in_token_response(&self) -> String {
        self.names(&[
            (Scope::OpenId, "openid"),
            (Scope::Email, EMAIL),
            (Scope::Profile, PROFILE),
        ])
    }

    /// The permissions in the words of Google's page.
    pub(super) fn permissions(&self) -> Vec<Permission> {
        let known = [
            (Scope::Email, "See your e-mail address", EMAIL),
            (Scope::Profile, "See your name and picture", PROFILE),
            (Scope::OpenId, "Know your Google account", "openid"),
        ];
        let requested = known.into_iter().filter(|(scope, ..)| self.contain(*scope));
        requested
            .map(|(_, text, scope)| Permission {
                text: text.to_owned(),
                scope: scope.to_owned(),
            })
            .collect()
    }

    fn names(&self, names: &[(Scope, &'static str)]) -> String {
        let granted = names.iter().filter(|(scope, _)| self.contain(*scope));
        granted.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
    }
}

impl Scope {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "openid" => Some(Self::OpenId),
            "email" | EMAIL => Some(Self::Email),
            "profile" | PROFILE => Some(Self::Profile),
            _ => None,
        }
    }
}
