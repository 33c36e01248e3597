//! A developer's answer to a finding: the reference consumer in the language of the app, where
//! it does what the check demands, and the command that repeats the check, for a shell and
//! without secrets.

use std::ffi::OsStr;
use std::path::Path;

use stack::mask::{mask, scrub};
use stack::regions::pieces_of;

use super::Report;
use crate::catalogue::Fix;

/// A language of the fixes, with the reference consumer in it.
#[derive(Debug)]
pub(super) struct Language {
    /// The name: `JavaScript`.
    pub(super) name: &'static str,
    /// The sign that begins a comment.
    comment: &'static str,
    /// The programs that start an app in it, and the extensions of its files.
    signs: &'static [&'static str],
    /// The paths and the texts of the consumer's files.
    sources: &'static [(&'static str, &'static str)],
}

macro_rules! sources {
    ($folder:literal: $($file:literal)+) => {
        &[$((
            concat!($folder, $file),
            include_str!(concat!("../../../../", $folder, $file)),
        )),+]
    };
}

/// Every language; the first is that of an app of which nothing is known.
pub(super) static LANGUAGES: [Language; 7] = [
    Language {
        name: "Python",
        comment: "#",
        signs: &[
            "python", "python3", "flask", "gunicorn", "uvicorn", "uv", "py",
        ],
        sources: sources!("e2e/consumers/python/": "app.py" "broker.py" "templates/page.html" "requirements.txt"),
    },
    Language {
        name: "JavaScript",
        comment: "//",
        signs: &[
            "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "js", "mjs", "cjs", "ts",
        ],
        sources: sources!(
            "e2e/consumers/node/": "app.mjs" "broker.mjs" "page.mjs" "database.mjs" "package.json"
            "package-lock.json"
        ),
    },
    Language {
        name: "Rust",
        comment: "//",
        signs: &["cargo", "rs"],
        sources: sources!(
            "consumer-demo/": "src/clean.rs" "src/legacy.rs" "src/site.rs" "src/accounts.rs"
            "src/browser.rs" "src/session.rs" "src/session_store.rs" "src/cookies.rs" "src/guards.rs"
            "src/server.rs" "src/pages.rs" "src/pages/problem.rs" "src/broker.rs"
            "templates/profile.html"
        ),
    },
    Language {
        name: "Go",
        comment: "//",
        signs: &["go"],
        sources: sources!("e2e/consumers/go/": "app.go" "broker.go" "sessions.go"),
    },
    Language {
        name: "Java",
        comment: "//",
        signs: &["java", "mvn", "mvnw", "gradle", "gradlew", "jar"],
        sources: sources!("e2e/consumers/java/": "App.java" "Broker.java" "Session.java" "Page.java"),
    },
    Language {
        name: "PHP",
        comment: "//",
        signs: &["php", "composer", "symfony"],
        sources: sources!("e2e/consumers/php/": "app.php" "broker.php" "sessions.php" "page.php"),
    },
    Language {
        name: "Ruby",
        comment: "#",
        signs: &["ruby", "bundle", "rails", "rackup", "puma", "rb", "ru"],
        sources: sources!("e2e/consumers/ruby/": "app.rb" "broker.rb" "sessions.rb"),
    },
];

/// The paths and the texts of the reference consumer in this folder of `e2e/consumers`.
pub(crate) fn sources_of(consumer: &str) -> &'static [(&'static str, &'static str)] {
    let folder = format!("e2e/consumers/{consumer}/");
    let mut languages = LANGUAGES.iter();
    let is_its = |it: &&Language| it.sources[0].0.starts_with(&folder);
    languages.find(is_its).map_or(&[], |it| it.sources)
}

impl Language {
    /// The language that the first telling word of a command suggests; the first if none does.
    fn of_command(command: &[String]) -> &'static Self {
        let words = command.iter().map(Path::new);
        let parts = words.flat_map(|word| [word.file_stem(), word.extension()]);
        let mut parts = parts.flatten().filter_map(OsStr::to_str);
        let language = |part| LANGUAGES.iter().find(|it| it.signs.contains(&part));
        parts.find_map(language).unwrap_or(&LANGUAGES[0])
    }

    /// The name in lower case, for classes and code fences.
    pub(super) fn tag(&self) -> String {
        self.name.to_lowercase()
    }

    /// The regions of a fix, behind the names of their files.
    pub(super) fn code(&self, fix: &Fix) -> String {
        let regions = fix.code.iter();
        let pieces: Vec<_> = regions.flat_map(|region| self.pieces(region)).collect();
        let files = pieces.chunk_by(|(one, _), (next, _)| one == next);
        let files = files.map(|pieces| {
            let codes: Vec<_> = pieces.iter().map(|(_, code)| code.as_str()).collect();
            format!("{} {}\n\n{}", self.comment, pieces[0].0, codes.join("\n\n"))
        });
        files.collect::<Vec<_>>().join("\n\n")
    }

    /// The pieces of a region, with the paths of their files.
    fn pieces(&self, region: &str) -> Vec<(&'static str, String)> {
        let files = self.sources.iter();
        let pieces = files.flat_map(|(file, text)| {
            let pieces = pieces_of(text, region).into_iter();
            pieces.map(|(_, code)| (*file, code))
        });
        pieces.collect()
    }
}

impl Report {
    /// The language of the app, as far as its command tells.
    pub(super) fn language(&self) -> &'static Language {
        Language::of_command(&self.command)
    }

    /// The command that repeats one check. A secret in it is masked.
    pub fn repeat(&self, id: &str) -> String {
        let only = ["--only".to_owned(), id.to_owned()];
        let command = match self.command.as_slice() {
            [] => Vec::new(),
            command => [&["--".to_owned()], command].concat(),
        };
        let words = [&self.target].into_iter().chain(&self.flags);
        let words = words.chain(&only).chain(&command);
        let words: Vec<_> = words.map(|it| quoted(&shown(it))).collect();
        format!("{} {}", program(), words.join(" "))
    }
}

/// The command that runs this program: from where it was built, `just` builds it anew.
pub(crate) fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let is_built_here = path.iter().any(|part| part == "target");
    let command = match path.file_name().and_then(OsStr::to_str) {
        Some("signin-kit") => "signin-kit examine",
        _ if is_built_here => "just examine",
        _ => "examine",
    };
    command.to_owned()
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
            false if is_setting(name) => format!("{name}={}{end}", scrub(value)),
            false => scrub(piece),
        }
    });
    pieces.collect()
}

/// Whether the name is one of the environment, which may be long: `SHOP_SESSIONS_DATABASE`.
fn is_setting(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.contains('_') && name.chars().all(is_part)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_the_app_chooses_the_language_of_its_fixes() {
        for (command, language) in [
            ("", "Python"),
            ("/srv/.venv/bin/python3 app.py", "Python"),
            ("npm start", "JavaScript"),
            ("./server.mjs", "JavaScript"),
            ("java -jar shop.jar", "Java"),
            ("env WORKERS=8 php -S localhost:80", "PHP"),
            ("env -i app.rb", "Ruby"),
            ("./shop", "Python"),
        ] {
            let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(Language::of_command(&words).name, language, "{command}");
        }
    }

    #[test]
    fn every_check_has_a_change_and_its_regions_are_in_every_language() {
        for check in crate::catalogue::checks() {
            let Fix { change, code } = &check.fix;
            assert!(change.ends_with('.') && !code.is_empty(), "{}", check.id);
            for (language, region) in LANGUAGES
                .iter()
                .flat_map(|it| code.iter().map(move |r| (it, r)))
            {
                let pieces = language.pieces(region);
                let lines: usize = pieces.iter().map(|(_, it)| it.lines().count()).sum();
                assert!(
                    (1..=200).contains(&lines),
                    "{region} in {}: {lines} lines",
                    language.name
                );
            }
        }
    }

    #[test]
    fn a_region_is_what_stands_between_marks() {
        let text = "a\n  // [one] Says.\n  b\n\n    c\n  // [/]\n#[test]\n# [two]\n\td\n";
        assert_eq!(
            pieces_of(text, "one"),
            [(2, "// Says.\nb\n\n  c".to_owned())]
        );
        assert_eq!(pieces_of(text, "/"), [(6, "#[test]".to_owned())]);
        assert_eq!(pieces_of(text, "two"), [(8, "d".to_owned())]);
    }

    #[test]
    fn a_secret_in_the_command_is_not_repeated() {
        let (wrong, long) = (mask("wrong"), "QxZ7vK2mW9pL4tR8sB3nF6hJ1dG5yC0aQxZ7vK2mW9p");
        for (word, says) in [
            (
                "SIGNIN_CLIENT_SECRET=wrong",
                format!("SIGNIN_CLIENT_SECRET={wrong}"),
            ),
            (
                "API_KEY=wrong exec python app.py",
                format!("API_KEY={wrong} exec python app.py"),
            ),
            (long, mask(long)),
            (
                "PORT=5000 python  app.py",
                "PORT=5000 python  app.py".to_owned(),
            ),
            (
                "SHOP_SESSIONS_DATABASE_2={folder}/sessions.sqlite",
                "SHOP_SESSIONS_DATABASE_2={folder}/sessions.sqlite".to_owned(),
            ),
        ] {
            assert_eq!(shown(word), says);
        }
    }
}
