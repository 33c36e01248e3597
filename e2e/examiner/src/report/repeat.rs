//! The command that repeats one check, for a shell and without secrets.

use stack::mask::{mask, scrub};

use super::Report;

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
