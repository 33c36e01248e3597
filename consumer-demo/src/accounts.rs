//! The users of this application: accounts, keyed by `subject`.

use std::sync::Arc;

use contract::{Profile, Subject};
use rusqlite::params;

use crate::database::{Database, json, row};

/// The account of one user.
#[derive(Clone)]
pub(crate) struct Account {
    /// The profile as of the latest sign-in.
    pub(crate) profile: Profile,
    /// The number of sign-ins.
    pub(crate) sign_ins: u32,
    /// The first sign-in, in Unix milliseconds.
    pub(crate) first_seen_ms: i64,
    /// The latest sign-in, in Unix milliseconds.
    pub(crate) last_seen_ms: i64,
    /// The text that the user keeps here: what an account is there for.
    pub(crate) note: String,
}

impl Account {
    /// The name to show: the first of name, username and e-mail address that the
    /// provider sent, else the subject.
    pub(crate) fn display_name(&self) -> &str {
        let profile = &self.profile;
        [&profile.name, &profile.username, &profile.email]
            .into_iter()
            .find_map(Option::as_deref)
            .unwrap_or(profile.subject.as_str())
    }
}

/// All accounts.
///
/// The key is the subject and nothing else. Not the e-mail address: some users
/// have none, others change it, an employer hands it on to the next employee,
/// and two providers may report the same one for two different users. Merging
/// accounts because their addresses are equal lets a user who can show that
/// address at *any* provider into the other one's account.
pub(crate) struct Accounts(Arc<Database>);

impl Accounts {
    /// The accounts in `database`.
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self(database)
    }

    // [sign_in]
    /// Creates the account of the user who signed in, or brings it up to date. One statement:
    /// two sign-ins at once, wherever they end, make one account.
    pub(crate) fn record_sign_in(&self, profile: &Profile, now_ms: i64) {
        let json = serde_json::to_string(profile).expect("texts are JSON");
        // The name, the address and the picture may have changed since the last
        // sign-in; the subject never does.
        let record = "INSERT INTO accounts VALUES (?1, ?2, 1, ?3, ?3, '')
            ON CONFLICT (subject) DO UPDATE SET
                profile = excluded.profile, sign_ins = sign_ins + 1,
                last_seen_ms = excluded.last_seen_ms";
        let parameters = params![profile.subject.as_str(), json, now_ms];
        self.0.run(|db| db.execute(record, parameters));
    }
    // [/]

    /// The account of `subject`.
    pub(crate) fn find(&self, subject: &Subject) -> Option<Account> {
        let find = "SELECT * FROM accounts WHERE subject = ?1";
        self.0.run(|db| {
            row(db, find, [subject.as_str()], |account| {
                Ok(Account {
                    profile: json(account, "profile")?,
                    sign_ins: account.get("sign_ins")?,
                    first_seen_ms: account.get("first_seen_ms")?,
                    last_seen_ms: account.get("last_seen_ms")?,
                    note: account.get("note")?,
                })
            })
        })
    }

    /// Keeps a note in the account of `subject`.
    pub(crate) fn keep_note(&self, subject: &Subject, note: &str) {
        let keep = "UPDATE accounts SET note = ?2 WHERE subject = ?1";
        self.0.run(|db| db.execute(keep, [subject.as_str(), note]));
    }

    /// Forgets every account.
    pub(crate) fn clear(&self) {
        self.0.run(|db| db.execute("DELETE FROM accounts", []));
    }
}
