//! The grade as a badge: one SVG, which fetches nothing and has its meaning as a title.

use askama::Template;

use super::Report;
use crate::result::Grade;

#[derive(Template)]
#[template(path = "badge.svg", escape = "html")]
struct Badge<'a> {
    grade: &'static str,
    catalogue: &'a str,
    title: String,
    /// White on it has a contrast of more than 4.5.
    colour: &'static str,
}

impl Report {
    /// The badge, as SVG.
    pub fn badge(&self) -> String {
        let (grade, catalogue) = (self.grade.as_str(), &self.origin.catalogue);
        let badge = Badge {
            grade,
            catalogue,
            title: format!("Sign-in examined by the catalogue {catalogue}: grade {grade}"),
            colour: match self.grade {
                Grade::APlus | Grade::A => "#1a6b34",
                Grade::B => "#875200",
                Grade::C | Grade::F => "#a8201a",
            },
        };
        badge.render().unwrap_or_else(|error| error.to_string())
    }
}
