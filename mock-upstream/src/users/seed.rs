//! The users that every mock has, each with its reason.

use super::user::{KnownUser, User, Visibility};
use crate::Provider;

/// The default user, whose account has nothing unusual.
#[must_use]
pub fn ada() -> KnownUser {
    let reason = "Everything is there and verified.";
    seed_user("ada", 1, "Ada Lovelace", reason)
}

/// All seed users, in the order of the page.
#[must_use]
pub fn seed_users() -> Vec<KnownUser> {
    vec![
        ada(),
        seed_user("grace", 2, "Grace Hopper", "No name: Google leaves it out.")
            .at_github("No name: GitHub sends null.")
            .with_both(|account| account.name = None),
        seed_user("hedy", 3, "Hedy Lamarr", "No address: Google sends none.")
            .at_github("A private address: not in /user.")
            .with(Provider::GitHub, |account| {
                account.visibility = Visibility::Private;
            })
            .with(Provider::Google, |account| {
                account.email = None;
                account.email_verified = false;
            }),
        seed_user("alan", 4, "Alan Turing", "The address was never verified.")
            .with_both(|account| account.email_verified = false),
        seed_user("zoe", 5, "Zoë 👩🏽‍🚀 Stern", "An emoji in the name."),
        seed_user(
            "musa",
            6,
            "محمد بن موسى الخوارزمي",
            "A name from right to left.",
        ),
        sharing("emmy", 7, "Emmy Noether"),
        sharing("david", 8, "David Hilbert"),
        seed_user(
            "katherine",
            9,
            "Katherine Johnson",
            "A Workspace account: Google adds hd.",
        )
        .at_github("An ordinary account.")
        .with(Provider::Google, |account| {
            account.hosted_domain = Some("people.example".to_owned());
        }),
        seed_user("sofia", 10, "Sofia Kovalevskaya", "An ordinary account.")
            .at_github("Forty addresses, the primary one last.")
            .with(Provider::GitHub, |account| {
                account.other_emails = (1..40)
                    .map(|number| format!("sofia+{number}@people.example"))
                    .collect();
            }),
    ]
}

fn sharing(key: &'static str, number: u64, name: &str) -> KnownUser {
    let reason = "Shares an address with another user.";
    seed_user(key, number, name, reason).with_both(|account| {
        account.email = Some("algebra@goettingen.example".to_owned());
    })
}

/// A user whose accounts have every member. `number` makes the ids unique.
fn seed_user(key: &'static str, number: u64, name: &str, reason: &'static str) -> KnownUser {
    KnownUser {
        key: key.into(),
        reason: reason.into(),
        github_reason: None,
        google: Some(User {
            // 21 digits, as Google's own have.
            id: format!("1000000000000000000{number:02}"),
            picture: Some(format!("https://pictures.example/google/{key}=s96-c")),
            ..account(key, name)
        }),
        github: Some(User {
            id: format!("{}", 9_000_000 + number),
            username: Some(format!("{key}-mock")),
            picture: Some(format!("https://pictures.example/github/{key}?v=4")),
            ..account(key, name)
        }),
    }
}

fn account(key: &str, name: &str) -> User {
    User {
        name: Some(name.to_owned()),
        email: Some(format!("{key}@people.example")),
        email_verified: true,
        ..User::default()
    }
}

impl KnownUser {
    fn at_github(mut self, reason: &'static str) -> Self {
        self.github_reason = Some(reason);
        self
    }

    /// Applies `change` to the account at `provider`.
    fn with(mut self, provider: Provider, change: impl Fn(&mut User)) -> Self {
        let account = match provider {
            Provider::Google => &mut self.google,
            Provider::GitHub => &mut self.github,
        };
        account.iter_mut().for_each(change);
        self
    }

    /// Applies `change` to both accounts.
    fn with_both(self, change: impl Fn(&mut User)) -> Self {
        self.with(Provider::Google, &change)
            .with(Provider::GitHub, &change)
    }
}
