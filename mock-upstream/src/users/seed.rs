//! The users that every mock has, each with its reason.

use super::user::{User, Visibility};
use crate::Provider;

/// A user with an account at both providers.
#[derive(Clone, Debug)]
pub struct SeedUser {
    /// The short name that tests use: `data-person` of the button.
    pub key: &'static str,
    /// The reason for this user, as a sentence.
    pub reason: &'static str,
    google: User,
    github: User,
}

impl SeedUser {
    /// The account at `provider`.
    #[must_use]
    pub fn at(&self, provider: Provider) -> &User {
        match provider {
            Provider::Google => &self.google,
            Provider::GitHub => &self.github,
        }
    }
}

/// The default user, whose account has nothing unusual.
#[must_use]
pub fn ada() -> SeedUser {
    let reason = "The ordinary case and the default: everything is there and verified.";
    seed_user("ada", 1, "Ada Lovelace", reason)
}

/// All seed users, in the order of the page.
#[must_use]
pub fn seed_users() -> Vec<SeedUser> {
    vec![
        ada(),
        nameless(),
        private(),
        unverified(),
        emoji(),
        right_to_left(),
        sharing("emmy", 7, "Emmy Noether"),
        sharing("david", 8, "David Hilbert"),
        at_work(),
        with_many_addresses(),
    ]
}

fn nameless() -> SeedUser {
    let reason = "Has no name: Google leaves it out, GitHub sends null.";
    seed_user("grace", 2, "Grace Hopper", reason).with_both(|account| account.name = None)
}

fn private() -> SeedUser {
    let reason =
        "Keeps the address private: Google sends none, GitHub lists it in /user/emails alone.";
    let mut user = seed_user("hedy", 3, "Hedy Lamarr", reason);
    user.github.visibility = Visibility::Private;
    user.google.email = None;
    user.google.email_verified = false;
    user
}

fn unverified() -> SeedUser {
    let reason = "Never confirmed the address: it must not be taken for verified.";
    seed_user("alan", 4, "Alan Turing", reason).with_both(|account| account.email_verified = false)
}

fn emoji() -> SeedUser {
    let reason = "Has an emoji in the name, made of several code points.";
    seed_user("zoe", 5, "Zoë 👩🏽‍🚀 Stern", reason)
}

fn right_to_left() -> SeedUser {
    let reason = "Writes the name from right to left.";
    seed_user("musa", 6, "محمد بن موسى الخوارزمي", reason)
}

fn sharing(key: &'static str, number: u64, name: &str) -> SeedUser {
    let reason = "Shares an address with another account: still a different person.";
    seed_user(key, number, name, reason).with_both(|account| {
        account.email = Some("algebra@goettingen.example".to_owned());
    })
}

fn at_work() -> SeedUser {
    let reason =
        "Signs in with a Workspace account, the second one in the browser: Google adds hd.";
    let mut user = seed_user("katherine", 9, "Katherine Johnson", reason);
    user.google.hosted_domain = Some("people.example".to_owned());
    user
}

fn with_many_addresses() -> SeedUser {
    let reason = "Has forty addresses at GitHub; the primary one is the last, on the second page.";
    let mut user = seed_user("sofia", 10, "Sofia Kovalevskaya", reason);
    user.github.other_emails = (1..40)
        .map(|number| format!("sofia+{number}@people.example"))
        .collect();
    user
}

/// A user whose accounts have every member. `number` makes the ids unique.
fn seed_user(key: &'static str, number: u64, name: &str, reason: &'static str) -> SeedUser {
    SeedUser {
        key,
        reason,
        google: User {
            // 21 digits, as Google's own have.
            id: format!("1000000000000000000{number:02}"),
            picture: Some(format!("https://pictures.example/google/{key}=s96-c")),
            ..account(key, name)
        },
        github: User {
            id: format!("{}", 9_000_000 + number),
            username: Some(format!("{key}-mock")),
            picture: Some(format!("https://pictures.example/github/{key}?v=4")),
            ..account(key, name)
        },
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

impl SeedUser {
    /// Applies `change` to both accounts.
    fn with_both(mut self, change: impl Fn(&mut User)) -> Self {
        change(&mut self.google);
        change(&mut self.github);
        self
    }
}
