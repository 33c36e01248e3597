//! The plan of a run: the broker under test, and the means to test it.

use super::browser::BrowserDriver;
use super::control::StackControl;
use super::project::TestProject;

/// The plan of one run.
#[derive(Debug)]
pub struct TestPlan {
    /// The broker, without a trailing slash.
    pub base_url: String,
    /// The project whose backend the run plays.
    pub project: TestProject,
    /// Another project, for the borders between projects.
    pub other: Option<TestProject>,
    /// The browser.
    pub browser: BrowserDriver,
    /// The control address of the stack around the broker, if there is one.
    pub control: Option<StackControl>,
    /// The way to see something expire.
    pub expiry: Expiry,
}

impl TestPlan {
    /// A callback that the other project has registered and the first one has not.
    pub(crate) fn callback_of_other_alone(&self) -> Option<&str> {
        let mut theirs = self.other.as_ref()?.callbacks();
        theirs.find(|it| self.project.callbacks().all(|own| own != *it))
    }
}

/// The way to see something expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The control address moves the clock.
    ByControl,
    /// The run waits: a quarter of an hour.
    InRealTime,
    /// Expiry is not tested.
    LeftOut,
}
