//! A developer's answer to a finding: the reference consumer in the language of the app, where
//! it does what the check demands, and the command that repeats the check, for a shell and
//! without secrets.

use std::ffi::OsStr;
use std::path::Path;

use stack::mask::{mask, scrub};
use stack::regions::pieces_of;
use stack::sources::{LANGUAGES, Language, SourceFile};

use super::Report;
use crate::catalogue::Fix;

/// The signs of each language, in the order of [`LANGUAGES`]: the programs that start an app in
/// it, and the extensions of its files.
const SIGNS: [&[&str]; 7] = [
    &[
        "python", "python3", "flask", "gunicorn", "uvicorn", "uv", "py",
    ],
    &[
        "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "js", "mjs", "cjs", "ts",
    ],
    &["cargo", "rs"],
    &["go"],
    &["java", "mvn", "mvnw", "gradle", "gradlew", "jar"],
    &["php", "composer", "symfony"],
    &["ruby", "bundle", "rails", "rackup", "puma", "rb", "ru"],
];

/// The files of the reference consumer in this folder of `e2e/consumers`.
pub(crate) fn sources_of(consumer: &str) -> &'static [SourceFile] {
    let folder = format!("e2e/consumers/{consumer}/");
    let mut languages = LANGUAGES.iter();
    let is_its = |it: &&Language| it.files[0].path.starts_with(&folder);
    languages.find(is_its).map_or(&[], |it| it.files)
}

/// The language that the first telling word of a command suggests; the first if none does.
fn language_of(command: &[String]) -> &'static Language {
    let words = command.iter().map(Path::new);
    let parts = words.flat_map(|word| [word.file_stem(), word.extension()]);
    let mut parts = parts.flatten().filter_map(OsStr::to_str);
    let sign = |part| SIGNS.iter().position(|signs| signs.contains(&part));
    &LANGUAGES[parts.find_map(sign).unwrap_or(0)]
}

/// A language as reports show it.
pub(super) trait FixLanguage {
    /// The name in lower case, for classes and code fences.
    fn tag(&self) -> String;

    /// The regions of a fix, behind the names of their files.
    fn code(&self, fix: &Fix) -> String;
}

impl FixLanguage for Language {
    fn tag(&self) -> String {
        self.name.to_lowercase()
    }

    fn code(&self, fix: &Fix) -> String {
        let regions = fix.code.iter();
        let pieces: Vec<_> = regions.flat_map(|region| pieces(self, region)).collect();
        let files = pieces.chunk_by(|(one, _), (next, _)| one == next);
        let files = files.map(|pieces| {
            let codes: Vec<_> = pieces.iter().map(|(_, code)| code.as_str()).collect();
            format!("{} {}\n\n{}", self.comment, pieces[0].0, codes.join("\n\n"))
        });
        files.collect::<Vec<_>>().join("\n\n")
    }
}

/// The pieces of a region, with the paths of their files.
fn pieces(language: &Language, region: &str) -> Vec<(&'static str, String)> {
    let files = language.files.iter();
    let pieces = files.flat_map(|file| {
        let pieces = pieces_of(file.text, region).into_iter();
        pieces.map(|(_, code)| (file.path, code))
    });
    pieces.collect()
}

impl Report {
    /// The language of the app, as far as its command tells.
    pub(super) fn language(&self) -> &'static Language {
        language_of(&self.command)
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
    stack::wording::commands("just examine")
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
            assert_eq!(language_of(&words).name, language, "{command}");
        }
    }

    #[test]
    fn every_check_has_a_change_and_its_regions_are_in_every_language() {
        for check in crate::catalogue::checks() {
            let Fix { change, code } = &check.fix;
            assert!(change.ends_with('.') && !code.is_empty(), "{}", check.id);
            let pairs = LANGUAGES
                .iter()
                .flat_map(|it| code.iter().map(move |r| (it, r)));
            for (language, region) in pairs {
                let pieces = pieces(language, region);
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
