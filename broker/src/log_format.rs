//! The readable format of the log, and the panic hook that writes to it.
//!
//! Each event is one short line, with what happened below it where a rule applied. No line is
//! wider than [`MAX_WIDTH`], except for a word that is.
//!
//! ```text
//! 00:52:24 OCIMty_vJ4bA browser → broker GET /login/…  303 bound (vouched)
//! 00:52:31 OCIMty_vJ4bA consumer → broker POST /v1/login/result  400
//!                       The result was read before · result.once · request=3kV9xQ2mZp7LrT8a
//! 00:52:40 WARN         the system's clock was set back
//! ```
//!
//! The JSON format has every field, and is the one for programs.

use std::fmt::{self, Write as _};

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::audit;
use crate::untrusted::is_disruptive;

/// The width of the widest line, in columns.
pub const MAX_WIDTH: usize = 120;

/// The width of the second column: the id of a login, or the level of another event.
const ID_WIDTH: usize = 12;

/// The readable format.
#[derive(Debug, Clone, Copy)]
pub struct ReadableFormat {
    has_date: bool,
}

impl ReadableFormat {
    /// Lines with the time of day alone, for a program that its user watches.
    pub const WITH_TIME: Self = Self { has_date: false };
    /// Lines with date and time, for a log that is kept.
    pub const WITH_DATE: Self = Self { has_date: true };

    /// The time now, in UTC: `2026-08-09T00:52:24Z` or `00:52:24`.
    fn now(self) -> Result<String, fmt::Error> {
        let mut now = String::new();
        SystemTime.format_time(&mut Writer::new(&mut now))?;
        let (date, time) = now.split_once('T').ok_or(fmt::Error)?;
        let time = time.get(.."hh:mm:ss".len()).ok_or(fmt::Error)?;
        Ok(match self.has_date {
            true => format!("{date}T{time}Z"),
            false => time.to_owned(),
        })
    }
}

impl<S, N> FormatEvent<S, N> for ReadableFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let entry = match event.metadata().target() {
            audit::LOG_TARGET => fields.call(),
            _ => fields.message(*event.metadata().level()),
        };
        let color = match *event.metadata().level() {
            Level::ERROR => "31",
            Level::WARN => "33",
            _ => "0",
        };
        let now = self.now()?;
        let lines = entry.lines(now.len());
        match writer.has_ansi_escapes() {
            true => writeln!(writer, "\x1b[2m{now}\x1b[0m \x1b[{color}m{lines}\x1b[0m"),
            false => writeln!(writer, "{now} {lines}"),
        }
    }
}

/// An event as texts, without its time.
struct Entry {
    id: String,
    text: String,
    /// What happened, and the page that shows it, below the text.
    below: Vec<String>,
}

impl Entry {
    /// The lines, of which the first follows a time of this width.
    fn lines(&self, time_width: usize) -> String {
        let indent = time_width + 1 + ID_WIDTH + 1;
        let line_break = format!("\n{}", " ".repeat(indent));
        let paragraphs = [&self.text].into_iter().chain(&self.below);
        // A word stays whole: it may be an address to follow.
        let wrapping = Options::new(MAX_WIDTH - indent)
            .break_words(false)
            .wrap_algorithm(WrapAlgorithm::FirstFit)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        let lines: Vec<_> = paragraphs
            .flat_map(|text| textwrap::wrap(text, &wrapping))
            .collect();
        format!("{:ID_WIDTH$} {}", self.id, lines.join(&line_break))
    }
}

/// The fields of an event, in their order.
#[derive(Default)]
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(its, _)| *its == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The entry of an event of the audit log.
    fn call(&self) -> Entry {
        let text_of = |name| self.get(name).unwrap_or_default();
        let operation = text_of("operation").replace("{handle}", "…");
        let status = self.get("status").unwrap_or("no answer");
        let steps = text_of("steps").replace(' ', ", ").replace('_', " ");
        let provenance = self.get("provenance").map(|it| format!("({it})"));
        let mut text = format!(
            "{} → {} {operation}  {status}",
            text_of("from"),
            text_of("to")
        );
        for part in [steps, provenance.unwrap_or_default()] {
            if !part.is_empty() {
                let _ = write!(text, " {part}");
            }
        }
        Entry {
            id: text_of("login").to_owned(),
            text,
            below: self.reason(),
        }
    }

    /// What happened, the rule, and the ways to learn more.
    fn reason(&self) -> Vec<String> {
        let names = ["happened", "rule", "why"];
        let parts = names.iter().filter_map(|name| self.get(name));
        let mut parts: Vec<_> = parts.map(ToOwned::to_owned).collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let request = self.get("request_id").map(|id| format!("request={id}"));
        let project = self.get("project").map(|id| format!("project={id}"));
        parts.extend([request, project].into_iter().flatten());
        let page = self.get("page").map(ToOwned::to_owned);
        [parts.join(" · ")].into_iter().chain(page).collect()
    }

    /// The entry of any other event: its message, and its fields as `name=value`.
    fn message(&self, level: Level) -> Entry {
        let mut text = self.get("message").unwrap_or_default().to_owned();
        for (name, value) in self.0.iter().filter(|(name, _)| *name != "message") {
            let _ = match value.is_empty() || value.contains([' ', '"']) {
                true => write!(text, " {name}={value:?}"),
                false => write!(text, " {name}={value}"),
            };
        }
        Entry {
            id: level.to_string(),
            text,
            below: Vec::new(),
        }
    }

    /// Adds a field, as text that cannot break a line or disguise itself as another.
    fn push(&mut self, field: &Field, value: &str) {
        let shown = value.chars().map(|c| match c {
            '\n' | '\t' => ' ',
            c if is_disruptive(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        });
        self.0.push((field.name(), shown.collect()));
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, &format!("{value:?}"));
    }
}

/// Makes every panic of this process one log line with its location alone: its message may
/// contain a secret.
pub fn log_panic_locations() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        // Operators filter by it.
        tracing::error!(target: "broker::panics", location, "a panic");
    }));
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::audit::{AuditLog, Party, Step};
    use crate::model::LoginId;
    use crate::relay::Provenance;
    use contract::{Provider, Rule};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that `work` writes, without their times.
    fn logged(work: impl FnOnce()) -> Vec<String> {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .event_format(ReadableFormat::WITH_TIME)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, work);
        let bytes = written.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        let time = "00:52:24 ".len();
        for line in text.lines() {
            assert!(line.chars().count() <= MAX_WIDTH, "{line}");
        }
        text.lines().map(|line| line[time..].to_owned()).collect()
    }

    fn event(rule: Option<Rule>) -> audit::Event {
        audit::Event {
            request_id: "3kV9xQ2mZp7LrT8a".to_owned(),
            operation: "POST /login/{handle}/continue".to_owned(),
            status: Some(303),
            project: Some("prj_vVYj6OIq3VqvLcPsC0FIbw".parse().unwrap()),
            provider: Some(Provider::Google),
            login: Some(LoginId::of_state(
                &"kJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq8"
                    .parse()
                    .unwrap(),
            )),
            provenance: Some(Provenance::Foreign),
            rule,
            why: rule.map(|_| "the provider's answer has no expiry"),
            steps: vec![Step::UpstreamLoginConsumed, Step::Completed],
            ..audit::Event::between(Party::Browser, Party::Broker)
        }
    }

    #[test]
    fn a_call_is_one_line() {
        let lines = logged(|| AuditLog::new().record(&event(None)));
        let [line] = &lines[..] else {
            panic!("{lines:?}")
        };
        let call = " browser → broker POST /login/…/continue  303 \
            upstream login consumed, completed (foreign)";
        assert!(line.ends_with(call), "{line}");
    }

    #[test]
    fn a_refusal_says_below_what_happened_and_where_it_is_shown() {
        // An overload has one alarm, and no line for each request.
        let logged_rules = Rule::ALL.iter().filter(|it| **it != Rule::BrokerOverload);
        for rule in logged_rules {
            let audit = AuditLog::new().with_pages_at("http://127.0.0.1:8010".to_owned());
            let lines = logged(|| audit.record(&event(Some(*rule))));
            let login = event(None).login.unwrap();
            let page = format!("http://127.0.0.1:8010/logins/{}", login.as_str());
            let below: Vec<_> = lines[1..].iter().map(|line| line.trim_start()).collect();
            let below = below.join(" ");
            for part in [
                rule.id(),
                rule.happened(),
                "request=3kV9xQ2mZp7LrT8a",
                &page,
            ] {
                assert!(below.contains(part), "{part} in {below}");
            }
        }
    }

    #[test]
    fn a_long_message_goes_on_below_and_a_field_cannot_break_its_line() {
        let lines = logged(|| {
            let value = "two\nlines \u{1b}[31m";
            tracing::warn!(value, number = 7, "{}", "word ".repeat(40).trim_end());
        });
        assert!(lines.len() > 1, "{lines:?}");
        assert!(lines[0].starts_with("WARN         word word"), "{lines:?}");
        let last = lines.last().unwrap();
        assert!(last.starts_with("             word"), "{lines:?}");
        assert!(
            last.ends_with("value=\"two lines \u{fffd}[31m\" number=7"),
            "{lines:?}"
        );
    }
}
