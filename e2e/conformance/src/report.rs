//! The report of a run: the verdicts, the conclusion, and three ways to write them.

mod json;
mod junit;
mod results;
mod table;

pub use results::{Conclusion, ConformanceReport};

impl ConformanceReport {
    /// The report for readers.
    pub fn table(&self) -> String {
        table::render(self)
    }

    /// The report for programs.
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// The report for build servers.
    pub fn junit(&self) -> String {
        junit::render(self)
    }
}
