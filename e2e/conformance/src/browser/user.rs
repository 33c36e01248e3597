//! The user's own browser: the user is asked to open an address, and may paste the
//! address of the callback.

use std::{fmt, io};

use super::navigation::{Aim, Navigation};
use crate::error::Stop;

/// Asks a question and waits for one line.
type Ask = Box<dyn Fn(&str) -> io::Result<String> + Send + Sync>;

/// A user who can be asked.
pub struct UserPrompt(Ask);

impl UserPrompt {
    /// A user who answers each question with one line.
    pub fn new(ask: impl Fn(&str) -> io::Result<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(ask))
    }

    pub(super) fn navigate(&self, navigation: Navigation<'_>) -> Result<Option<String>, Stop> {
        let task = match navigation.aim {
            Aim::SignIn => "sign in, always with the same account",
            Aim::Decline => "CANCEL at the provider, this time",
        };
        let question = format!(
            "Open this in a browser and {task}:\n\n  {}\n\n\
             When you are back at {}, paste the address of that page and press Enter (or only \
             Enter, to skip what the address shows): ",
            navigation.url, navigation.callback
        );
        let line = (self.0)(&question)
            .map_err(|error| Stop::Harness(format!("no user can be asked: {error}")))?;
        let line = line.trim();
        Ok((!line.is_empty()).then(|| line.to_owned()))
    }
}

impl fmt::Debug for UserPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserPrompt")
    }
}
