//! A developer's answer to a finding: the fix of its check, in the language of the app and
//! with the names that fixes share, and the command that repeats it, for a shell and without
//! secrets.

use std::path::Path;

use stack::mask::{mask, scrub};

use super::Report;
use crate::catalogue::{Fix, SharedName, shared_names};

/// The rule for names in the other two languages.
pub(super) const OTHER_SPELLINGS: &str =
    "In JavaScript the names are in camel case; in Rust they are those of consumer-demo.";

/// A language of the fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Rust,
}

impl Language {
    pub(super) const ALL: [Self; 3] = [Self::Python, Self::JavaScript, Self::Rust];

    /// The language that the command of an app suggests; Python if it suggests none.
    pub(super) fn of_command(command: &[String]) -> Self {
        let stem = |word: &String| Some(Path::new(word).file_stem()?.to_str()?.to_owned());
        let extension = |word: &String| Some(Path::new(word).extension()?.to_str()?.to_owned());
        let program = command.first().and_then(stem).unwrap_or_default();
        let extensions: Vec<_> = command.iter().filter_map(extension).collect();
        let has = |names: &[&str]| extensions.iter().any(|it| names.contains(&it.as_str()));
        match program.as_str() {
            "node" | "npm" | "npx" | "pnpm" | "yarn" | "bun" | "deno" => Self::JavaScript,
            "cargo" => Self::Rust,
            _ if has(&["js", "mjs", "cjs", "ts"]) => Self::JavaScript,
            _ if has(&["rs"]) => Self::Rust,
            _ => Self::Python,
        }
    }

    /// The name: `JavaScript`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::Rust => "Rust",
        }
    }

    /// The name in lower case, for classes and code fences.
    pub(super) fn tag(self) -> String {
        self.name().to_lowercase()
    }

    /// The code of a fix.
    pub(super) fn code(self, fix: &Fix) -> &str {
        let code = match self {
            Self::Python => &fix.python,
            Self::JavaScript => &fix.javascript,
            Self::Rust => &fix.rust,
        };
        code.trim_matches('\n').trim_end()
    }

    /// The shared names that this code contains, as it spells them. Rust has the names of
    /// `consumer-demo`, which explains them itself.
    pub(super) fn names_in(self, code: &str) -> Vec<(String, &'static SharedName)> {
        let spelt = |it: &'static SharedName| match self {
            Self::Python => Some((it.name.clone(), it)),
            Self::JavaScript => Some((camel_case(&it.name), it)),
            Self::Rust => None,
        };
        let words: Vec<_> = code
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .collect();
        let names = shared_names().iter().filter_map(spelt);
        names
            .filter(|(name, _)| words.contains(&name.as_str()))
            .collect()
    }
}

/// `call_broker` as `callBroker`; names without an underscore stay.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.fold(first, |name, word| name + capital(word).as_str())
}

impl Report {
    /// The command that repeats one check. A secret in it is masked.
    pub fn repeat(&self, id: &str) -> String {
        let mut words = vec!["just".to_owned(), "examine".to_owned()];
        words.push(quoted(&shown(&self.target)));
        words.extend(self.flags.iter().map(|it| quoted(&shown(it))));
        words.extend(["--only".to_owned(), id.to_owned()]);
        if !self.command.is_empty() {
            words.push("--".to_owned());
            words.extend(self.command.iter().map(|it| quoted(&shown(it))));
        }
        words.join(" ")
    }
}

/// The parts of a name whose value is a secret.
const SECRET_NAMES: [&str; 4] = ["secret", "password", "token", "key"];

/// A word without secrets: what looks like one, and the value of `X_SECRET=…`.
fn shown(word: &str) -> String {
    let pieces = word.split_inclusive(char::is_whitespace).map(|piece| {
        let (text, end) = piece.split_at(piece.trim_end().len());
        let Some((name, value)) = text.split_once('=').filter(|(_, it)| !it.is_empty()) else {
            return scrub(piece);
        };
        let lower = name.to_lowercase();
        match SECRET_NAMES.iter().any(|part| lower.contains(part)) {
            true => format!("{name}={}{end}", mask(value)),
            false => scrub(piece),
        }
    });
    pieces.collect()
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_language(command: &[&str], expected: Language) {
        let command: Vec<_> = command.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(Language::of_command(&command), expected, "{command:?}");
    }

    #[test]
    fn the_command_of_the_app_chooses_the_language_of_its_fixes() {
        check_language(&[], Language::Python);
        check_language(&["/srv/.venv/bin/python3", "app.py"], Language::Python);
        check_language(&["/usr/bin/node", "app.js"], Language::JavaScript);
        check_language(&["npm", "start"], Language::JavaScript);
        check_language(&["./server.mjs"], Language::JavaScript);
        check_language(&["cargo", "run"], Language::Rust);
        check_language(&["env", "ruby", "app.rb"], Language::Python);
    }

    #[test]
    fn a_fix_is_explained_by_the_names_that_it_contains_as_it_spells_them() {
        let names = |language: Language, code| -> Vec<_> {
            let names = language.names_in(code).into_iter();
            names.map(|(name, _)| name).collect()
        };
        let python = "known = call_broker(\"/v1/token\")";
        assert_eq!(names(Language::Python, python), ["call_broker"]);
        assert_eq!(
            names(Language::JavaScript, "await callBroker(ORIGIN)"),
            ["callBroker", "ORIGIN"]
        );
        assert!(names(Language::Rust, "let digest = now;").is_empty());
    }

    #[test]
    fn a_secret_in_the_command_is_not_repeated() {
        for word in [
            "SIGNIN_CLIENT_SECRET=wrong",
            "API_KEY=wrong exec python app.py",
        ] {
            let shown = shown(word);
            assert!(
                !shown.contains("wrong") && shown.contains("=[masked "),
                "{shown}"
            );
        }
        let long = "QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9p";
        assert!(!shown(long).contains(long));
        for word in [
            "python",
            "app.py",
            "PORT=5000 python  app.py",
            "/srv/shop/app.py",
        ] {
            assert_eq!(shown(word), word);
        }
    }
}
