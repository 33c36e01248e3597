//! The user who signs in.

use contract::{Profile, Provider, Subject};

pub(crate) fn ada() -> Profile {
    Profile {
        subject: Subject::of(Provider::GitHub, "583231"),
        provider: Provider::GitHub,
        provider_subject: "583231".to_owned(),
        name: Some("Ada Lovelace".to_owned()),
        username: Some("ada".to_owned()),
        email: Some("ada@mail.example".to_owned()),
        email_verified: true,
        avatar_url: None,
    }
}
