//! Commands and addresses in the project's texts, as their reader can use them. The texts are
//! written in a checkout, for a stack at the usual addresses; who has only the program
//! `signin-kit` reads its commands, and every reader the addresses of this stack.

use std::ffi::OsStr;

use contract::DEVELOPMENT_SECRET;

use crate::documents::Document;
use crate::runtime::StackRuntime;

/// The commands that `just` and `signin-kit` have. What only a checkout has stays as it is.
const COMMANDS: &str = "up examine practice conformance broker consumer";

/// The documents about a checkout itself, whose commands stay as they are.
const OF_A_CHECKOUT: [&str; 2] = ["docs/INSTALL.md", "docs/CONTRIBUTING.md"];

/// The text with the commands that the reader of this program has.
pub fn commands(text: &str) -> String {
    Wording::of_commands(is_checkout()).apply(text)
}

/// Whether this program was built here, and is not `signin-kit`.
fn is_checkout() -> bool {
    let path = std::env::current_exe().unwrap_or_default();
    let is_built_here = path.iter().any(|part| part == "target");
    is_built_here && path.file_name() != Some(OsStr::new("signin-kit"))
}

/// The replacements in a text, of which the first that fits is taken.
pub(crate) struct Wording(Vec<(String, String)>);

impl Wording {
    fn of_commands(is_checkout: bool) -> Self {
        let cargo = [
            ("-p", "cargo run -p"),
            ("--", "signin-kit up"),
            ("", "signin-kit up"),
        ];
        let cargo = cargo.map(|(flag, to)| (format!("cargo run {flag}"), to.to_owned()));
        let cargo = cargo.map(|(from, to)| (from.trim_end().to_owned(), to));
        let just = COMMANDS.split(' ');
        let just = just.map(|it| (format!("just {it}"), format!("signin-kit {it}")));
        Self(just.chain(cargo).filter(|_| !is_checkout).collect())
    }

    /// Those of a document on a stack's pages: also its addresses, and the secret of its demo.
    pub(crate) fn of(document: &Document, runtime: &StackRuntime) -> Self {
        let Self(mut all) =
            Self::of_commands(is_checkout() || OF_A_CHECKOUT.contains(&document.path));
        let urls = &runtime.urls;
        for (usual, own) in [
            ("127.0.0.1:8000", Some(&urls.broker)),
            ("127.0.0.1:8010", Some(&urls.control)),
            ("127.0.0.1:8020", Some(&urls.upstreams.google)),
            ("127.0.0.1:8030", Some(&urls.upstreams.github)),
            ("localhost:3000", urls.consumer.as_ref()),
        ] {
            let Some(own) = own else { continue };
            all.push((format!("http://{usual}"), own.clone()));
            // A command may leave the scheme out where that is HTTP.
            let bare = own.trim_start_matches("http://");
            all.push((usual.to_owned(), bare.to_owned()));
        }
        let secret = runtime.projects.demo_or_first();
        let secret = secret.map(|it| it.client_secret.expose().to_owned());
        all.extend(secret.map(|it| (DEVELOPMENT_SECRET.to_owned(), it)));
        Self(all)
    }

    /// The text with everything replaced, once.
    pub(crate) fn apply(&self, text: &str) -> String {
        let ends_there =
            |rest: &str| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '-');
        let (mut made, mut rest) = (String::new(), text);
        while let Some(next) = rest.chars().next() {
            let fits = |(from, _): &&(String, String)| {
                rest.strip_prefix(from.as_str()).is_some_and(ends_there)
            };
            let (length, to) = match self.0.iter().find(fits) {
                Some((from, to)) => (from.len(), to.as_str()),
                None => (next.len_utf8(), &rest[..next.len_utf8()]),
            };
            made.push_str(to);
            rest = &rest[length..];
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::Wording;

    #[test]
    fn the_program_replaces_a_checkout_in_every_command_that_it_has() {
        let of_a_checkout = "`just up --quiet`, just broker\ncargo run -- --https\ncargo run\n\
             cargo run -p e2e; just examiner-matrix; just test";
        let of_the_program = "`signin-kit up --quiet`, signin-kit broker\nsignin-kit up --https\n\
             signin-kit up\ncargo run -p e2e; just examiner-matrix; just test";
        let made = [true, false].map(|it| Wording::of_commands(it).apply(of_a_checkout));
        assert_eq!(made, [of_a_checkout, of_the_program]);
    }
}
