//! Scopes, which Google takes short and answers long.

/// The scopes the mock knows; anything else is `invalid_scope`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    OpenId,
    Email,
    Profile,
}

const EMAIL: &str = "https://www.googleapis.com/auth/userinfo.email";
const PROFILE: &str = "https://www.googleapis.com/auth/userinfo.profile";

/// What was asked for.
#[derive(Clone)]
pub(super) struct Scopes(Vec<Scope>);

impl Scopes {
    /// Reads a space-delimited list; nothing if it holds an unknown scope.
    pub(super) fn parse(list: &str) -> Option<Self> {
        list.split_whitespace()
            .map(Scope::parse)
            .collect::<Option<_>>()
            .map(Self)
    }

    pub(super) fn contain(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// As the callback names them: short and long, `openid` last.
    pub(super) fn in_callback(&self) -> String {
        self.listed(&[
            (Scope::Email, "email"),
            (Scope::Profile, "profile"),
            (Scope::Profile, PROFILE),
            (Scope::Email, EMAIL),
            (Scope::OpenId, "openid"),
        ])
    }

    /// As the token answer names them: `openid` first, the others long.
    pub(super) fn in_token_answer(&self) -> String {
        self.listed(&[
            (Scope::OpenId, "openid"),
            (Scope::Email, EMAIL),
            (Scope::Profile, PROFILE),
        ])
    }

    fn listed(&self, names: &[(Scope, &'static str)]) -> String {
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
