//! What an answer tells whoever asked, without its secrets.

use super::story::Deed;
use crate::client::{Answer, CALLBACK};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// No answer, or somebody else's in the broker's place.
    Nothing,
    /// 503: nothing can be said of what became of it.
    Unable,
    Opened,
    Departed,
    Home,
    /// Home, with a code.
    Code,
    Pending,
    Succeeded(Who),
    Failed(String),
    Token,
    Profile(Who),
    Revoked,
    Refused(u16),
    /// No answer that this can have.
    Strange(String),
}

/// Whom a profile shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Who {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) subject: String,
}

impl Told {
    /// What `answer` to `deed` tells; `None` is no answer of a broker's.
    pub(crate) fn of(deed: Deed, answer: Option<&Answer>) -> Self {
        let Some(answer) = answer else {
            return Self::Nothing;
        };
        match (deed, answer.status) {
            (_, 503) => Self::Unable,
            (_, status @ 400..500) => Self::Refused(status),
            (Deed::Open, 200) => Self::Opened,
            (Deed::Visit | Deed::Intrude | Deed::Return(_) | Deed::Stray, 303) => {
                home_or_away(answer)
            }
            (Deed::Read, 200) => result(answer),
            (Deed::Redeem | Deed::RedeemWrongly, 200) => Self::Token,
            (Deed::Profile, 200) => Self::Profile(Who::of(&answer.json())),
            (Deed::Revoke, 200) => Self::Revoked,
            _ => strange(answer),
        }
    }

    /// Whether it says that the thing was had.
    pub(crate) fn is_grant(&self) -> bool {
        matches!(
            self,
            Self::Opened | Self::Code | Self::Token | Self::Succeeded(_) | Self::Failed(_)
        )
    }

    /// Whether what became of it is open.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Nothing | Self::Unable)
    }

    /// What it is called in a table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "not answered",
            Self::Unable => "503",
            Self::Opened => "opened",
            Self::Departed => "departed",
            Self::Home => "home",
            Self::Code => "home with a code",
            Self::Pending => "pending",
            Self::Succeeded(_) => "succeeded",
            Self::Failed(_) => "failed",
            Self::Token => "token",
            Self::Profile(_) => "profile",
            Self::Revoked => "revoked",
            Self::Refused(_) => "refused",
            Self::Strange(_) => "strange",
        }
    }
}

fn home_or_away(answer: &Answer) -> Told {
    match answer.location.strip_prefix(CALLBACK) {
        None => Told::Departed,
        Some("") => Told::Home,
        Some(_) if answer.code().is_some() => Told::Code,
        Some(_) => match answer.parameter("error") {
            Some(error) => Told::Failed(error),
            None => strange(answer),
        },
    }
}

fn result(answer: &Answer) -> Told {
    let said = answer.json();
    match said["status"].as_str() {
        Some("pending") => Told::Pending,
        Some("succeeded") => Told::Succeeded(Who::of(&said["profile"])),
        Some("failed") => Told::Failed(answer.text("error")),
        _ => strange(answer),
    }
}

fn strange(answer: &Answer) -> Told {
    let (method, path) = &answer.asked;
    Told::Strange(format!("{method} {path}: {}", answer.status))
}

impl Who {
    fn of(profile: &serde_json::Value) -> Self {
        let text = |member: &str| profile[member].as_str().unwrap_or_default().to_owned();
        Self {
            provider: text("provider"),
            id: text("providerSubject"),
            subject: text("subject"),
        }
    }
}
