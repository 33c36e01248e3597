//! The sequence diagram as SVG, inside a page or as a file of its own.

use askama::Template;

use super::layout::{self, Layout, Shape};
use super::rows::{Participant, Row};
use crate::labels;

/// The style sheet, in the page and in the file.
pub(crate) const STYLE: &str = include_str!("../../static/diagram.css");

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

#[derive(Template)]
#[template(path = "diagram.svg")]
struct Diagram<'a> {
    /// The links from arrows to exchanges; `None` in a file of its own.
    links: Option<&'a Links<'a>>,
    style: &'static str,
    title: String,
    width: i32,
    top: i32,
    layout: Layout,
    lifelines: [Lifeline; 4],
}

/// The links of the arrows in a page.
#[derive(Debug)]
pub(crate) struct Links<'a> {
    /// The path of the login's page.
    pub(crate) path: &'a str,
    /// The id of the exchange that is open.
    pub(crate) chosen: Option<&'a str>,
}

struct Lifeline {
    x: i32,
    name: &'static str,
    subtitle: String,
}

/// The diagram inside a page.
pub(crate) fn in_page(rows: &[Row], participants: &Participants, links: &Links<'_>) -> String {
    draw(rows, participants, Some(links))
}

/// The diagram as a file of its own.
pub(crate) fn standalone(rows: &[Row], participants: &Participants) -> String {
    draw(rows, participants, None)
}

fn draw(rows: &[Row], participants: &Participants, links: Option<&Links<'_>>) -> String {
    let diagram = Diagram {
        links,
        style: STYLE,
        title: format!("Sequence diagram of a login at {}", participants.consumer),
        width: layout::WIDTH,
        top: layout::TOP,
        layout: layout::arrange(rows, &|row| participants.describe(row)),
        lifelines: participants.lifelines(),
    };
    diagram.render().expect("the template only writes strings")
}

impl Links<'_> {
    pub(crate) fn to(&self, exchange: &str) -> String {
        format!("{}?call={exchange}", self.path)
    }

    pub(crate) fn is_chosen(&self, exchange: &str) -> bool {
        self.chosen == Some(exchange)
    }
}

impl Participants {
    fn lifelines(&self) -> [Lifeline; 4] {
        let lifeline = |participant, subtitle: &str| Lifeline {
            x: layout::x(participant),
            name: self.name(participant),
            subtitle: layout::shortened(subtitle, SUBTITLE_CHARACTERS),
        };
        [
            lifeline(Participant::Browser, "the user’s"),
            lifeline(Participant::Consumer, &self.consumer),
            lifeline(Participant::Broker, &self.broker_host),
            lifeline(Participant::Provider, &self.provider_host),
        ]
    }

    fn name(&self, participant: Participant) -> &'static str {
        match participant {
            Participant::Browser => "Browser",
            Participant::Consumer => "Consumer",
            Participant::Broker => "Broker",
            Participant::Provider => labels::provider(self.provider),
        }
    }

    /// The row as text, for screen readers and the list of steps.
    pub(crate) fn describe(&self, row: &Row) -> String {
        match row {
            Row::Arrow(arrow) => {
                let (from, to) = (self.name(arrow.from), self.name(arrow.to));
                let end = if arrow.arrives {
                    ""
                } else {
                    " (does not arrive)"
                };
                let detail = arrow.detail.iter().map(|it| format!(": {it}"));
                let detail: String = detail.collect();
                format!("{from} to {to}: {}{detail}{end}", arrow.label)
            }
            Row::Committed(steps) => format!("Broker stores: {}", labels::steps_in_short(steps)),
            Row::Note(note) => note.title.clone(),
            Row::Pause(text) | Row::Expiry(text) => text.clone(),
        }
    }
}

/// The maximum length of the text below a name, in characters.
const SUBTITLE_CHARACTERS: usize = 22;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspector::rows::Arrow;

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
        let shortened = |name: &str| layout::shortened(name, SUBTITLE_CHARACTERS);
        assert_eq!(shortened("The demo"), "The demo");
        let cut = shortened(&"ä".repeat(40));
        assert_eq!((cut.chars().count(), cut.ends_with('…')), (22, true));
    }
}
