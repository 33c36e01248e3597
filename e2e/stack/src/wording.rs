//! Commands and addresses in the project's texts, as their reader can use them. The texts are
//! written in a checkout, for a stack at the usual addresses; who has only the program
//! `signin-kit` reads its commands, and every reader the addresses of this stack.

use std::ffi::OsStr;

use contract::DEVELOPMENT_SECRET;

use crate::documents::Document;
use crate::runtime::StackRuntime;

/// The commands of a checkout, and those of the program. The first that fits is taken; what
/// only a checkout has stays as it is.
const COMMANDS: [(&str, &str); 9] = [
    ("just up", "signin-kit up"),
    ("just examine", "signin-kit examine"),
    ("just practice", "signin-kit practice"),
    ("just conformance", "signin-kit conformance"),
    ("just broker", "signin-kit broker"),
    ("just consumer", "signin-kit consumer"),
    ("cargo run -p", "cargo run -p"),
    ("cargo run --", "signin-kit up"),
    ("cargo run", "signin-kit up"),
];

/// The documents about a checkout itself, whose commands stay as they are.
const OF_A_CHECKOUT: [&str; 2] = ["docs/INSTALL.md", "docs/CONTRIBUTING.md"];

/// The text with the commands that the reader of this program has.
pub fn commands(text: &str) -> String {
    Wording::of_program(is_checkout()).apply(text)
}

/// Whether this program was built here, and is not `signin-kit`.
fn is_checkout() -> bool {
    let path = std::env::current_exe().unwrap_or_default();
    let is_built_here = path.iter().any(|part| part == "target");
    is_built_here && path.file_name() != Some(OsStr::new("signin-kit"))
}

/// The replacements in a text.
pub(crate) struct Wording(Vec<(&'static str, String)>);

impl Wording {
    /// Those of the commands alone.
    fn of_program(is_checkout: bool) -> Self {
        let commands = COMMANDS.into_iter().filter(|_| !is_checkout);
        Self(commands.map(|(from, to)| (from, to.to_owned())).collect())
    }

    /// Those of a document on a stack's pages: also its addresses, and the secret of its demo.
    pub(crate) fn of(document: &Document, runtime: &StackRuntime) -> Self {
        let urls = &runtime.urls;
        let addresses = [
            ("http://127.0.0.1:8000", Some(&urls.broker)),
            ("http://127.0.0.1:8010", Some(&urls.control)),
            ("http://127.0.0.1:8020", Some(&urls.upstreams.google)),
            ("http://127.0.0.1:8030", Some(&urls.upstreams.github)),
            ("http://localhost:3000", urls.consumer.as_ref()),
        ];
        let addresses = addresses
            .into_iter()
            .filter_map(|(from, to)| Some((from, to?)));
        // A command may leave the scheme out where that is HTTP.
        let addresses = addresses.flat_map(|(from, to)| {
            let bare = from.trim_start_matches("http://");
            let bare = (bare, to.trim_start_matches("http://").to_owned());
            [(from, to.clone()), bare]
        });
        let projects = runtime.projects.list();
        let demo = projects.iter().find(|it| it.client_id.as_str() == "demo");
        let secret = demo.map(|it| (DEVELOPMENT_SECRET, it.client_secret.expose().to_owned()));
        let keeps_commands = is_checkout() || OF_A_CHECKOUT.contains(&document.path);
        let Self(commands) = Self::of_program(keeps_commands);
        Self(
            commands
                .into_iter()
                .chain(addresses)
                .chain(secret)
                .collect(),
        )
    }

    /// The text with everything replaced, once.
    pub(crate) fn apply(&self, text: &str) -> String {
        let ends_there =
            |rest: &str| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '-');
        let (mut made, mut rest) = (String::new(), text);
        while let Some(next) = rest.chars().next() {
            let fits = |(from, _): &&(&str, _)| rest.strip_prefix(from).is_some_and(ends_there);
            let length = match self.0.iter().find(fits) {
                Some((from, to)) => {
                    made.push_str(to);
                    from.len()
                }
                None => {
                    made.push(next);
                    next.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_replaces_a_checkout_in_every_command_that_it_has() {
        let program = Wording::of_program(false);
        for (text, expected) in [
            (
                "`just up --quiet`, `just broker`",
                "`signin-kit up --quiet`, `signin-kit broker`",
            ),
            ("cargo run -- --callback X", "signin-kit up --callback X"),
            ("cargo run\n", "signin-kit up\n"),
            ("cargo run -p e2e", "cargo run -p e2e"),
            (
                "just examiner-matrix, just test",
                "just examiner-matrix, just test",
            ),
        ] {
            assert_eq!(program.apply(text), expected);
            assert_eq!(Wording::of_program(true).apply(text), text);
        }
    }
}
