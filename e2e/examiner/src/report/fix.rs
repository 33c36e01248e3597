//! A developer's answer to a finding: the reference consumer in the language of the app, where
//! it does what the check demands, and the command that repeats the check, for a shell and
//! without secrets.

use std::ffi::OsStr;
use std::path::Path;

use stack::mask::{mask, scrub};

use super::Report;
use crate::catalogue::Fix;

/// A language of the fixes, with the reference consumer in it.
#[derive(Debug)]
pub(super) struct Language {
    /// The name: `JavaScript`.
    pub(super) name: &'static str,
    /// The sign that begins a comment.
    comment: &'static str,
    /// The programs that start an app in it.
    programs: &'static [&'static str],
    /// The extensions of its files.
    extensions: &'static [&'static str],
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
        programs: &["python", "python3", "flask", "gunicorn", "uvicorn", "uv"],
        extensions: &["py"],
        sources: sources!("e2e/consumers/python/": "app.py" "broker.py" "templates/page.html"),
    },
    Language {
        name: "JavaScript",
        comment: "//",
        programs: &["node", "npm", "npx", "pnpm", "yarn", "bun", "deno"],
        extensions: &["js", "mjs", "cjs", "ts"],
        sources: sources!("e2e/consumers/node/": "app.mjs" "broker.mjs" "page.mjs"),
    },
    Language {
        name: "Rust",
        comment: "//",
        programs: &["cargo"],
        extensions: &["rs"],
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
        programs: &["go"],
        extensions: &["go"],
        sources: sources!("e2e/consumers/go/": "app.go" "broker.go" "sessions.go"),
    },
    Language {
        name: "Java",
        comment: "//",
        programs: &["java", "mvn", "mvnw", "gradle", "gradlew"],
        extensions: &["java", "jar"],
        sources: sources!("e2e/consumers/java/": "App.java" "Broker.java" "Session.java" "Page.java"),
    },
    Language {
        name: "PHP",
        comment: "//",
        programs: &["php", "composer", "symfony"],
        extensions: &["php"],
        sources: sources!("e2e/consumers/php/": "app.php" "broker.php" "sessions.php" "page.php"),
    },
    Language {
        name: "Ruby",
        comment: "#",
        programs: &["ruby", "bundle", "rails", "rackup", "puma"],
        extensions: &["rb", "ru"],
        sources: sources!("e2e/consumers/ruby/": "app.rb" "broker.rb" "sessions.rb"),
    },
];

impl Language {
    /// The language that the command of an app suggests; the first if it suggests none.
    pub(super) fn of_command(command: &[String]) -> &'static Self {
        let part = |word: &String, part: fn(&Path) -> Option<&OsStr>| {
            Some(part(Path::new(word))?.to_str()?.to_owned())
        };
        let is_program = |word: &&String| *word != "env" && !word.contains('=');
        let program = command.iter().find(is_program);
        let program = program.and_then(|word| part(word, Path::file_stem));
        let program = program.unwrap_or_default();
        let extensions = command.iter();
        let extensions: Vec<_> = extensions
            .filter_map(|word| part(word, Path::extension))
            .collect();
        let by_program = |it: &&Self| it.programs.contains(&program.as_str());
        let by_extension = |it: &&Self| {
            let mut own = extensions.iter();
            own.any(|extension| it.extensions.contains(&extension.as_str()))
        };
        let found = LANGUAGES.iter().find(by_program);
        let found = found.or_else(|| LANGUAGES.iter().find(by_extension));
        found.unwrap_or(&LANGUAGES[0])
    }

    /// The name in lower case, for classes and code fences.
    pub(super) fn tag(&self) -> String {
        self.name.to_lowercase()
    }

    /// The regions of a fix, behind the names of their files.
    pub(super) fn code(&self, fix: &Fix) -> String {
        let mut last = "";
        let pieces = fix.code.iter().flat_map(|region| self.pieces(region));
        let pieces = pieces.map(
            |(file, code)| match std::mem::replace(&mut last, file) == file {
                true => code,
                false => format!("{} {file}\n\n{code}", self.comment),
            },
        );
        pieces.collect::<Vec<_>>().join("\n\n")
    }

    /// The pieces of a region, with the paths of their files.
    fn pieces(&self, region: &str) -> Vec<(&'static str, String)> {
        let files = self.sources.iter();
        let all = files.flat_map(|(file, text)| {
            let pieces = marked(text).into_iter();
            pieces.map(move |(name, lines)| (name, *file, lines))
        });
        let own = all.filter(|(name, ..)| *name == region);
        own.map(|(_, file, lines)| (file, left_aligned(&lines)))
            .collect()
    }
}

/// The pieces between marks such as `# [start]`, with the names of their regions; `[/]` is what
/// belongs to none.
fn marked(text: &str) -> Vec<(&str, Vec<String>)> {
    let mut pieces: Vec<(&str, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let Some((name, says)) = mark(line) else {
            let open = pieces.last_mut();
            open.into_iter()
                .for_each(|(_, lines)| lines.push(line.replace('\t', "    ")));
            continue;
        };
        // What a mark says of its region is a comment of it.
        let comment = line.replacen(&format!("[{name}] "), "", 1);
        let comment = (!says.is_empty()).then(|| comment.replace('\t', "    "));
        pieces.push((name, comment.into_iter().collect()));
    }
    pieces
}

/// The name in a mark, and what it says; none in another line.
fn mark(line: &str) -> Option<(&str, &str)> {
    let signs = ["# [", "// [", "{# ["].into_iter();
    let rest = { signs }.find_map(|sign| line.trim_start().strip_prefix(sign));
    let (name, says) = rest?.split_once(']')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '/';
    name.chars()
        .all(is_name)
        .then(|| (name, says.trim_end_matches("#}").trim()))
}

/// The lines without the indent that they share, and without blank ones at both ends.
fn left_aligned(lines: &[String]) -> String {
    let written = lines.iter().filter(|it| !it.trim().is_empty());
    let indents = written.map(|it| it.len() - it.trim_start().len());
    let indent = indents.min().unwrap_or_default();
    let lines: Vec<_> = lines
        .iter()
        .map(|it| it.get(indent..).unwrap_or_default().trim_end())
        .collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

impl Report {
    /// The command that repeats one check. A secret in it is masked.
    pub fn repeat(&self, id: &str) -> String {
        let mut words = vec![program()];
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
    fn check_language(command: &[&str], expected: &str) {
        let command: Vec<_> = command.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(Language::of_command(&command).name, expected, "{command:?}");
    }

    #[test]
    fn the_command_of_the_app_chooses_the_language_of_its_fixes() {
        check_language(&[], "Python");
        check_language(&["/srv/.venv/bin/python3", "app.py"], "Python");
        check_language(&["/usr/bin/node", "app.js"], "JavaScript");
        check_language(&["npm", "start"], "JavaScript");
        check_language(&["./server.mjs"], "JavaScript");
        check_language(&["cargo", "run"], "Rust");
        check_language(&["go", "run", "."], "Go");
        check_language(&["java", "-jar", "shop.jar"], "Java");
        check_language(&["env", "WORKERS=8", "php", "-S", "localhost:80"], "PHP");
        check_language(&["env", "-i", "app.rb"], "Ruby");
        check_language(&["./shop"], "Python");
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
                let fits = (1..=200).contains(&lines);
                assert!(fits, "{region} in {}: {lines} lines", language.name);
            }
        }
    }

    #[test]
    fn a_region_is_what_stands_between_marks() {
        let text = "a\n  // [one] Says.\n  b\n\n    c\n  // [/]\n#[test]\n# [two]\n\td\n";
        let pieces: Vec<_> = marked(text)
            .into_iter()
            .map(|(name, lines)| (name, left_aligned(&lines)))
            .collect();
        let expected = [
            ("one", "// Says.\nb\n\n  c"),
            ("/", "#[test]"),
            ("two", "d"),
        ];
        assert_eq!(pieces, expected.map(|(name, code)| (name, code.to_owned())));
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
            "SHOP_SESSIONS_DATABASE_2={folder}/sessions.sqlite",
            "/srv/shop/app.py",
        ] {
            assert_eq!(shown(word), word);
        }
    }
}
