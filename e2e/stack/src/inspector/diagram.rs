//! The sequence diagram of a login, inside a page or as a file of its own.

use super::rows::{Arrow, Participant, Row};
use crate::compared::Compared;
use crate::facts::Style;
use crate::labels;
use crate::sequence_diagram::{DiagramArrow, Frame, SequenceDiagram, shortened};

pub(crate) use crate::sequence_diagram::{Links, STYLE};

/// The maximum length of the second line of an arrow, in characters.
const DETAIL_CHARACTERS: usize = 28;

/// The maximum length of the text below a name, in characters.
const SUBTITLE_CHARACTERS: usize = 22;

/// The names on the lifelines.
#[derive(Debug, Clone)]
pub(crate) struct Participants {
    /// The name of the project.
    pub(crate) consumer: String,
    /// `google` or `github`, once that is known.
    pub(crate) provider: Option<&'static str>,
    /// The host and port of the broker, and of the provider, once that is known.
    pub(crate) broker_host: String,
    pub(crate) provider_host: String,
}

/// The diagram inside a page.
pub(crate) fn in_page(rows: &[Row], participants: &Participants, links: &Links<'_>) -> String {
    participants.diagram(rows).draw(&Frame::Page(links))
}

/// The diagram as a file of its own.
pub(crate) fn standalone(rows: &[Row], participants: &Participants) -> String {
    participants.diagram(rows).draw(&Frame::File)
}

/// The position of a lifeline.
const fn x(participant: Participant) -> i32 {
    match participant {
        Participant::Browser => 110,
        Participant::Consumer => 350,
        Participant::Broker => 605,
        Participant::Provider => 850,
    }
}

impl Participants {
    fn diagram(&self, rows: &[Row]) -> SequenceDiagram {
        let title = format!("Sequence diagram of a login at {}", self.consumer);
        let mut diagram = SequenceDiagram::new(title, 960);
        for (participant, subtitle) in [
            (Participant::Browser, "the user’s"),
            (Participant::Consumer, self.consumer.as_str()),
            (Participant::Broker, &self.broker_host),
            (Participant::Provider, &self.provider_host),
        ] {
            let subtitle = shortened(subtitle, SUBTITLE_CHARACTERS);
            diagram.lifeline(x(participant), 200, self.name(participant), Some(subtitle));
        }
        for row in rows {
            match row {
                Row::Arrow(arrow) => diagram.arrow(self.arrow(arrow)),
                Row::Committed(steps) => {
                    let text = format!("✓ stored: {}", labels::steps_in_short(steps));
                    diagram.pill(x(Participant::Broker), text);
                }
                Row::Note(note) => {
                    let rule = note.rule.as_ref().map(|rule| format!("Rule {rule}"));
                    let advice = note.advice.map(|advice| format!("What to do: {advice}"));
                    let values = note.compared.iter().map(Compared::line);
                    let sentences = note.sentences.iter().cloned().chain(values);
                    let sentences = sentences.chain(rule).chain(advice);
                    diagram.note(note.style.class(), note.title.clone(), sentences);
                }
                Row::Pause(text) => diagram.divider("pause", text.clone()),
                Row::Expiry(expiry) => {
                    let style = if expiry.is_over {
                        "expiry over"
                    } else {
                        "expiry"
                    };
                    diagram.divider(style, expiry.text.clone());
                }
            }
        }
        diagram
    }

    fn arrow(&self, arrow: &Arrow) -> DiagramArrow {
        let detail = arrow.detail.as_deref();
        DiagramArrow {
            from: x(arrow.from),
            to: x(arrow.to),
            is_lost: !arrow.arrives,
            style: arrow.style.class(),
            label: arrow.label.clone(),
            detail: detail.map(|it| shortened(it, DETAIL_CHARACTERS)),
            took: arrow.took.map(|took| match took.as_millis() {
                0 => "< 1 ms".to_owned(),
                ms => format!("{ms} ms"),
            }),
            id: arrow.id.clone(),
            description: self.describe_arrow(arrow),
            exchange: arrow.exchange.clone(),
        }
    }

    fn name(&self, participant: Participant) -> &'static str {
        match participant {
            Participant::Browser => "Browser",
            Participant::Consumer => "Your app",
            Participant::Broker => "Broker",
            Participant::Provider => labels::provider(self.provider),
        }
    }

    /// The row as text, for screen readers and the list of steps.
    pub(crate) fn describe(&self, row: &Row) -> String {
        match row {
            Row::Arrow(arrow) => self.describe_arrow(arrow),
            Row::Committed(steps) => format!("Broker stores: {}", labels::steps_in_short(steps)),
            Row::Note(note) => note.title.clone(),
            Row::Pause(text) => text.clone(),
            Row::Expiry(expiry) => expiry.text.clone(),
        }
    }

    pub(crate) fn describe_arrow(&self, arrow: &Arrow) -> String {
        let (from, to) = (self.name(arrow.from), self.name(arrow.to));
        let end = match (arrow.arrives, arrow.style) {
            (true, Style::Ahead) => " (not yet)",
            (true, _) => "",
            (false, _) => " (does not arrive)",
        };
        let detail = arrow.detail.iter().map(|it| format!(": {it}"));
        let detail: String = detail.collect();
        format!("{from} to {to}: {}{detail}{end}", arrow.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = r#""><script>alert('x')</script>&"#;

    fn rows() -> [Row; 1] {
        [Row::Arrow(Arrow {
            detail: Some(HOSTILE.to_owned()),
            exchange: Some("anExchange".to_owned()),
            ..Arrow::plain(
                "c1".to_owned(),
                Participant::Consumer,
                Participant::Broker,
                HOSTILE,
            )
        })]
    }

    fn participants() -> Participants {
        Participants {
            consumer: HOSTILE.to_owned(),
            provider: Some("github"),
            broker_host: HOSTILE.to_owned(),
            provider_host: HOSTILE.to_owned(),
        }
    }

    #[test]
    fn every_name_is_escaped() {
        let links = Links {
            path: "/logins/aLogin",
            chosen: None,
        };
        for svg in [
            standalone(&rows(), &participants()),
            in_page(&rows(), &participants(), &links),
        ] {
            assert!(!svg.contains("<script") && !svg.contains("\"\">"), "{svg}");
            assert!(svg.contains("&#60;script&#62;"), "{svg}");
        }
    }

    #[test]
    fn in_a_page_an_arrow_links_to_its_exchange_and_shows_if_it_is_open() {
        for (chosen, is_marked) in [
            (None, false),
            (Some("another"), false),
            (Some("anExchange"), true),
        ] {
            let path = "/logins/aLogin";
            let svg = in_page(&rows(), &participants(), &Links { path, chosen });
            assert!(svg.contains(r#"href="/logins/aLogin?call=anExchange""#));
            assert_eq!(svg.contains("aria-current"), is_marked, "{chosen:?}");
            assert!(!svg.contains("<style"));
        }
    }

    #[test]
    fn a_standalone_diagram_has_its_style_and_no_links() {
        let svg = standalone(&rows(), &participants());
        assert!(svg.contains(STYLE) && !svg.contains("href"));
    }

    #[test]
    fn a_long_name_is_cut_by_characters() {
        assert_eq!(shortened("The demo", SUBTITLE_CHARACTERS), "The demo");
        let cut = shortened(&"ä".repeat(40), SUBTITLE_CHARACTERS);
        assert_eq!((cut.chars().count(), cut.ends_with('…')), (22, true));
    }
}
