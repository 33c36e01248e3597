//! The report as Markdown, for a pull request.

use askama::Template;

use super::Report;

#[derive(Template)]
#[template(path = "report.md", escape = "none")]
struct Markdown<'a> {
    report: &'a Report,
    asvs: String,
}

impl Report {
    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let markdown = Markdown {
            report: self,
            asvs: self.asvs_line(),
        };
        markdown.render().unwrap_or_else(|error| error.to_string())
    }
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('\n', " ")
        .replace('<', "&lt;")
}
