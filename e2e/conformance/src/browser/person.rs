//! A person at a browser of theirs, who is asked to open an address and, if they
//! like, says where they came back to.

use std::{fmt, io};

use super::Aim;
use crate::run::Stop;

/// Asks a question and waits for one line.
type Ask = Box<dyn Fn(&str) -> io::Result<String> + Send + Sync>;

/// Somebody who can be asked.
pub struct Person(Ask);

impl Person {
    /// A person who hears questions and answers each with one line.
    pub fn new(ask: impl Fn(&str) -> io::Result<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(ask))
    }

    pub(super) fn go(&self, url: &str, callback: &str, aim: Aim) -> Result<Option<String>, Stop> {
        let what = match aim {
            Aim::SignIn => "sign in, always as the same person",
            Aim::Decline => "CANCEL at the provider, this time",
        };
        let question = format!(
            "Open this in a browser and {what}:\n\n  {url}\n\n\
             When you are back at {callback}, paste the address that you see there and press \
             Enter (or only Enter, to leave out what it shows): "
        );
        let said = (self.0)(&question)
            .map_err(|error| Stop::Harness(format!("nobody can be asked: {error}")))?;
        let said = said.trim();
        Ok((!said.is_empty()).then(|| said.to_owned()))
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Person")
    }
}
