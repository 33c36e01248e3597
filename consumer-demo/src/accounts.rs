//! Who our users are: accounts, keyed by `subject`.
//!
//! In an application of your own this is a table with a unique column `subject`.
//! This one lives in memory and is gone when the program ends.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use contract::{Profile, Subject};

/// One user of this application.
#[derive(Clone)]
pub(crate) struct Account {
    /// As the broker described them at their latest sign-in.
    pub(crate) profile: Profile,
    /// How often they have signed in.
    pub(crate) sign_ins: u32,
    /// Their first sign-in, in Unix milliseconds.
    pub(crate) first_seen_ms: i64,
    /// Their latest sign-in, in Unix milliseconds.
    pub(crate) last_seen_ms: i64,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Accounts {
    // The key is the subject and nothing else. Not the e-mail address: it is
    // absent for some people, changes for others, is handed on to the next
    // employee, and two providers may report the same one for two different
    // people. Merging accounts because their addresses are equal gives whoever
    // can show that address at *any* provider the other one's account.
    by_subject: Mutex<HashMap<Subject, Account>>,
}

impl Accounts {
    /// Someone signed in: makes their account, or brings it up to date.
    pub(crate) fn record_sign_in(&self, profile: Profile, now_ms: i64) {
        let mut accounts = self.lock();
        let account = accounts
            .entry(profile.subject.clone())
            .or_insert_with(|| Account {
                profile: profile.clone(),
                sign_ins: 0,
                first_seen_ms: now_ms,
                last_seen_ms: now_ms,
            });
        // A name, an address or a picture may have changed since last time; the
        // subject never does. So what else we know of them follows.
        account.profile = profile;
        account.sign_ins = account.sign_ins.saturating_add(1);
        account.last_seen_ms = now_ms;
    }

    /// The account of `subject`.
    pub(crate) fn find(&self, subject: &Subject) -> Option<Account> {
        self.lock().get(subject).cloned()
    }

    /// Forgets everybody.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Account>> {
        self.by_subject
            .lock()
            .expect("nothing panics while holding it")
    }
}
