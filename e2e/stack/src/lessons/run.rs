//! The beginning of a lesson, which its address carries: `?run=…&since=…`.

use crate::event_log::EventLog;

/// The place in the event log at which a student began a lesson.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LessonRun {
    /// The event log's own run, which a reset ends.
    run: String,
    /// The sequence number of the last event before the lesson.
    pub(crate) since: u64,
}

/// The content of a lesson's address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The lesson has not begun.
    None,
    /// It began in a run that a reset, or the end of the stack, has ended.
    Reset,
    /// It has begun.
    At(LessonRun),
}

impl LessonRun {
    /// A lesson that begins now.
    pub(crate) fn begin(event_log: &EventLog) -> Self {
        Self {
            run: event_log.run(),
            since: event_log.last_seq(),
        }
    }

    /// The path of the lesson `id`, with the login that the student chose.
    pub(crate) fn path(&self, id: &str, login: Option<&str>) -> String {
        let Self { run, since } = self;
        let login = login.map(|login| format!("&login={login}"));
        let login = login.unwrap_or_default();
        format!("/lessons/{id}?run={run}&since={since}{login}")
    }
}

impl Beginning {
    /// Reads the parameters of an address. One that no page has written is not begun.
    pub(crate) fn parse(run: Option<&str>, since: Option<&str>, event_log: &EventLog) -> Self {
        let since = since.and_then(|since| since.parse().ok());
        let (Some(run), Some(since)) = (run, since) else {
            return Self::None;
        };
        if run != event_log.run() {
            return Self::Reset;
        }
        Self::At(LessonRun {
            run: run.to_owned(),
            since,
        })
    }
}
