//! The users of this application: accounts, keyed by `subject`.
//!
//! In an application of your own this is a table with a unique column `subject`.
//! Here it is in memory and gone when the program ends.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use contract::{Profile, Subject};

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
#[derive(Default)]
pub(crate) struct Accounts {
    // The key is the subject and nothing else. Not the e-mail address: some users
    // have none, others change it, an employer hands it on to the next employee,
    // and two providers may report the same one for two different users. Merging
    // accounts because their addresses are equal lets a user who can show that
    // address at *any* provider into the other one's account.
    by_subject: Mutex<HashMap<Subject, Account>>,
}

impl Accounts {
    // [sign_in]
    /// Creates the account of the user who signed in, or brings it up to date.
    pub(crate) fn record_sign_in(&self, profile: Profile, now_ms: i64) {
        let mut accounts = self.lock();
        let account = accounts
            .entry(profile.subject.clone())
            .or_insert_with(|| Account {
                profile: profile.clone(),
                sign_ins: 0,
                first_seen_ms: now_ms,
                last_seen_ms: now_ms,
                note: String::new(),
            });
        // The name, the address and the picture may have changed since the last
        // sign-in; the subject never does.
        account.profile = profile;
        account.sign_ins = account.sign_ins.saturating_add(1);
        account.last_seen_ms = now_ms;
    }
    // [/]

    /// The account of `subject`.
    pub(crate) fn find(&self, subject: &Subject) -> Option<Account> {
        self.lock().get(subject).cloned()
    }

    /// Keeps a note in the account of `subject`.
    pub(crate) fn keep_note(&self, subject: &Subject, note: String) {
        if let Some(account) = self.lock().get_mut(subject) {
            account.note = note;
        }
    }

    /// Forgets every account.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Account>> {
        self.by_subject
            .lock()
            .expect("nothing panics while holding it")
    }
}
