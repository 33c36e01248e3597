//! A story as a picture: an SVG for the page, or one that stands alone.

use askama::Template;

use super::layout::{self, Layout, Mark};
use super::story::{Party, Row};
use super::words;

/// Its colours and letters, on the page and alone.
pub(crate) const STYLE: &str = include_str!("../../static/diagram.css");

/// Who takes part, by the names on the lifelines.
#[derive(Debug, Clone)]
pub(crate) struct Cast {
    /// The project, as people know it.
    pub(crate) consumer: String,
    /// `google` or `github`, once that is known.
    pub(crate) provider: Option<&'static str>,
}

#[derive(Template)]
#[template(path = "diagram.svg")]
struct Picture<'a> {
    /// In the page, arrows lead to their exchanges; alone, they lead nowhere.
    page: Option<&'a Links<'a>>,
    style: &'static str,
    title: String,
    width: i32,
    top: i32,
    layout: Layout,
    lifelines: [Lifeline; 4],
}

/// Where the arrows of a page lead.
#[derive(Debug)]
pub(crate) struct Links<'a> {
    /// The path of the login's page.
    pub(crate) path: &'a str,
    /// The exchange that is shown.
    pub(crate) chosen: Option<&'a str>,
}

struct Lifeline {
    x: i32,
    name: &'static str,
    who: String,
}

/// The picture in a page.
pub(crate) fn in_page(rows: &[Row], cast: &Cast, links: &Links<'_>) -> String {
    draw(rows, cast, Some(links))
}

/// The picture by itself.
pub(crate) fn alone(rows: &[Row], cast: &Cast) -> String {
    draw(rows, cast, None)
}

fn draw(rows: &[Row], cast: &Cast, page: Option<&Links<'_>>) -> String {
    let picture = Picture {
        page,
        style: STYLE,
        title: format!("Sequence diagram: {} signs somebody in", cast.consumer),
        width: layout::WIDTH,
        top: layout::TOP,
        layout: layout::place(rows, &|row| cast.says(row)),
        lifelines: cast.lifelines(),
    };
    picture.render().expect("the template only writes strings")
}

impl Links<'_> {
    pub(crate) fn to(&self, exchange: &str) -> String {
        format!("{}?call={exchange}", self.path)
    }

    pub(crate) fn is_chosen(&self, exchange: &str) -> bool {
        self.chosen == Some(exchange)
    }
}

impl Cast {
    fn lifelines(&self) -> [Lifeline; 4] {
        let lifeline = |party, name, who: &str| Lifeline {
            x: layout::x(party),
            name,
            who: shortened(who),
        };
        [
            lifeline(Party::Browser, "Browser", "of the person"),
            lifeline(Party::Consumer, "Consumer", &self.consumer),
            lifeline(Party::Broker, "Broker", "the service"),
            lifeline(
                Party::Provider,
                words::provider(self.provider),
                "the provider",
            ),
        ]
    }

    pub(crate) fn name(&self, party: Party) -> &'static str {
        match party {
            Party::Browser => "Browser",
            Party::Consumer => "Consumer",
            Party::Broker => "Broker",
            Party::Provider => words::provider(self.provider),
        }
    }

    /// `row`, for somebody who does not see the picture.
    pub(crate) fn says(&self, row: &Row) -> String {
        match row {
            Row::Arrow(arrow) => {
                let (from, to) = (self.name(arrow.from), self.name(arrow.to));
                let end = if arrow.arrives {
                    ""
                } else {
                    " (does not arrive)"
                };
                format!("{from} to {to}: {}{end}", arrow.words)
            }
            Row::Committed(steps) => {
                let steps: Vec<_> = steps.iter().map(|step| words::step(step)).collect();
                format!("Broker commits: {}", steps.join(" "))
            }
            Row::Aside(aside) => aside.title.clone(),
            Row::Pause(words) => words.clone(),
        }
    }
}

/// So much of a name as stands above a lifeline.
fn shortened(name: &str) -> String {
    const MOST: usize = 22;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    let start: String = name.chars().take(MOST - 1).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspector::story::{Arrow, Mood};

    const HOSTILE: &str = r#""><script>alert('x')</script>&"#;

    fn rows() -> [Row; 1] {
        [Row::Arrow(Arrow {
            id: "c1-ask".to_owned(),
            from: Party::Consumer,
            to: Party::Broker,
            words: HOSTILE.to_owned(),
            mood: Mood::Plain,
            arrives: true,
            exchange: Some("anExchange".to_owned()),
        })]
    }

    fn cast() -> Cast {
        Cast {
            consumer: HOSTILE.to_owned(),
            provider: Some("github"),
        }
    }

    #[test]
    fn whatever_it_is_told_is_escaped() {
        let links = Links {
            path: "/logins/aLogin",
            chosen: None,
        };
        for svg in [alone(&rows(), &cast()), in_page(&rows(), &cast(), &links)] {
            assert!(!svg.contains("<script") && !svg.contains("\"\">"), "{svg}");
            assert!(svg.contains("&#60;script&#62;"), "{svg}");
        }
    }

    #[test]
    fn in_a_page_an_arrow_leads_to_its_exchange_and_says_if_it_is_open() {
        for (chosen, is_marked) in [
            (None, false),
            (Some("another"), false),
            (Some("anExchange"), true),
        ] {
            let path = "/logins/aLogin";
            let svg = in_page(&rows(), &cast(), &Links { path, chosen });
            assert!(svg.contains(r#"href="/logins/aLogin?call=anExchange""#));
            assert_eq!(svg.contains("aria-current"), is_marked, "{chosen:?}");
            assert!(!svg.contains("<style"));
        }
    }

    #[test]
    fn alone_it_has_its_style_and_leads_nowhere() {
        let svg = alone(&rows(), &cast());
        assert!(svg.contains(STYLE) && !svg.contains("href"));
    }

    #[test]
    fn a_long_name_is_cut_by_letters() {
        assert_eq!(shortened("The demo"), "The demo");
        let cut = shortened(&"ä".repeat(40));
        assert_eq!((cut.chars().count(), cut.ends_with('…')), (22, true));
    }
}
