//! The people every mock knows, each with the reason why.

use super::{Person, Visibility};
use crate::Provider;

/// A person with an account at both providers.
#[derive(Clone, Debug)]
pub struct Seeded {
    /// A short name, stable for tests: `data-person` of the button.
    pub key: &'static str,
    /// Why this person is here, as a sentence.
    pub why: &'static str,
    google: Person,
    github: Person,
}

impl Seeded {
    /// The account at `provider`.
    #[must_use]
    pub fn at(&self, provider: Provider) -> &Person {
        match provider {
            Provider::Google => &self.google,
            Provider::GitHub => &self.github,
        }
    }
}

/// The default person: nothing is unusual about her account.
#[must_use]
pub fn ada() -> Seeded {
    let why = "The ordinary case and the default: everything is there and verified.";
    someone("ada", 1, "Ada Lovelace", why)
}

/// Everyone, in the order of the page.
#[must_use]
pub fn seeded() -> Vec<Seeded> {
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

fn nameless() -> Seeded {
    let why = "Has no name: Google leaves it out, GitHub sends null.";
    someone("grace", 2, "Grace Hopper", why).with(|account| account.name = None)
}

fn private() -> Seeded {
    let why =
        "Keeps the address private: Google sends none, GitHub lists it in /user/emails alone.";
    let mut person = someone("hedy", 3, "Hedy Lamarr", why);
    person.github.visibility = Visibility::Private;
    person.google.email = None;
    person.google.email_verified = false;
    person
}

fn unverified() -> Seeded {
    let why = "Never confirmed the address: it must not be taken for verified.";
    someone("alan", 4, "Alan Turing", why).with(|account| account.email_verified = false)
}

fn emoji() -> Seeded {
    let why = "Has an emoji in the name, made of several code points.";
    someone("zoe", 5, "Zoë 👩🏽‍🚀 Stern", why)
}

fn right_to_left() -> Seeded {
    let why = "Writes the name from right to left.";
    someone("musa", 6, "محمد بن موسى الخوارزمي", why)
}

fn sharing(key: &'static str, number: u64, name: &str) -> Seeded {
    let why = "Shares an address with another account: still somebody else.";
    someone(key, number, name, why).with(|account| {
        account.email = Some("algebra@goettingen.example".to_owned());
    })
}

fn at_work() -> Seeded {
    let why = "Signs in with a Workspace account, the second one in the browser: Google adds hd.";
    let mut person = someone("katherine", 9, "Katherine Johnson", why);
    person.google.hosted_domain = Some("people.example".to_owned());
    person
}

fn with_many_addresses() -> Seeded {
    let why = "Has forty addresses at GitHub; the primary one is the last, on the second page.";
    let mut person = someone("sofia", 10, "Sofia Kovalevskaya", why);
    person.github.other_emails = (1..40)
        .map(|number| format!("sofia+{number}@people.example"))
        .collect();
    person
}

/// Somebody whose accounts have everything. `number` tells the ids apart.
fn someone(key: &'static str, number: u64, name: &str, why: &'static str) -> Seeded {
    Seeded {
        key,
        why,
        google: Person {
            // 21 digits, like Google's own.
            id: format!("1000000000000000000{number:02}"),
            picture: Some(format!("https://pictures.example/google/{key}=s96-c")),
            ..account(key, name)
        },
        github: Person {
            id: format!("{}", 9_000_000 + number),
            username: Some(format!("{key}-mock")),
            picture: Some(format!("https://pictures.example/github/{key}?v=4")),
            ..account(key, name)
        },
    }
}

fn account(key: &str, name: &str) -> Person {
    Person {
        name: Some(name.to_owned()),
        email: Some(format!("{key}@people.example")),
        email_verified: true,
        ..Person::default()
    }
}

impl Seeded {
    /// The same change to both accounts.
    fn with(mut self, change: impl Fn(&mut Person)) -> Self {
        change(&mut self.google);
        change(&mut self.github);
        self
    }
}
