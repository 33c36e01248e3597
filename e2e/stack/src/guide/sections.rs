//! The lists and tables of the documents, section by section.

use rocket::serde::json::{Value, json};

use crate::documents::{DOCUMENTS, Document};

/// The control address in the documents.
const USUAL_CONTROL: &str = "http://127.0.0.1:8010";

/// A section of a document, without its heading.
pub(crate) struct Section {
    document: &'static Document,
    text: &'static str,
}

/// The section with this heading, or the text below the title.
pub(crate) fn section(path: &str, heading: &str) -> Section {
    let document = DOCUMENTS.iter().find(|it| it.path == path);
    let document = document.expect("a test reads the guide");
    let mut sections = document.text.split("\n#");
    let text = sections.find_map(|it| {
        let (title, text) = it.split_once('\n')?;
        (title.trim_start_matches(['#', ' ']) == heading).then_some(text)
    });
    let text = text.expect("a test reads the guide");
    Section { document, text }
}

impl Section {
    /// The items of its list: what is bold, what comes after it, and where the link at the end
    /// leads.
    pub(crate) fn items(&self, control: &str) -> Value {
        let mut items = Vec::<String>::new();
        for line in self.text.lines() {
            match (line.split_once(" **"), items.last_mut()) {
                (_, Some(item)) if line.starts_with("  ") => *item += &format!(" {}", line.trim()),
                (Some((_, item)), _) => items.push(item.to_owned()),
                _ => {}
            }
        }
        let items = items.iter().map(|item| {
            let (rule, rest) = item.split_once("**").unwrap_or((item, ""));
            let (why, link) = rest.split_once('[').unwrap_or((rest, ""));
            let link = link.trim_end_matches(')').split_once("](");
            let link = link.and_then(|(_, it)| self.document.target(it));
            let link = link.map(|it| control.to_owned() + it.trim_start_matches(USUAL_CONTROL));
            json!({ "rule": rule, "why": why.trim(), "in_full": link })
        });
        items.collect()
    }

    /// The rows of its table, below the head.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let rows = self.text.lines().filter(|it| it.starts_with("| "));
        let cells = rows
            .skip(1)
            .map(|it| it.trim_matches(['|', ' ']).split(" | "));
        cells.map(|it| it.map(str::to_owned).collect()).collect()
    }
}
