//! The grade as a badge: one SVG, which fetches nothing and has its meaning as a title.

use askama::Template;

use super::Report;
use crate::result::Grade;

#[derive(Template)]
#[template(path = "badge.svg", escape = "html")]
struct Badge<'a> {
    grade: &'static str,
    catalogue: &'a str,
    /// White on it has a contrast of more than 4.5.
    colour: &'static str,
}

impl Report {
    /// The badge, as SVG.
    pub fn badge(&self) -> String {
        let badge = Badge {
            grade: self.grade.as_str(),
            catalogue: &self.origin.catalogue,
            colour: match self.grade {
                Grade::APlus | Grade::A => "#1a6b34",
                Grade::B => "#875200",
                Grade::C | Grade::F => "#a8201a",
            },
        };
        badge.render().unwrap_or_else(|error| error.to_string())
    }
}
