//! Sequence diagrams as SVG: lifelines, and rows from top to bottom. The inspector draws logins,
//! and the examiner the runs of its checks. Lengths are in the units of the SVG, which is scaled
//! to the page.

use std::borrow::Cow;

use askama::Template;

/// The style sheet, for a page with diagrams. A file has it inside.
pub const STYLE: &str = include_str!("../static/diagram.css");

/// The upper end of the lifelines.
const TOP: i32 = 76;

/// The height of a line at an arrow.
const LINE_HEIGHT: i32 = 22;

/// The height of a line in a note, and its maximum length in characters.
const NOTE_LINE_HEIGHT: i32 = 23;
const NOTE_CHARACTERS: i32 = 102;

/// The approximate width of a character.
const CHARACTER_WIDTH: i32 = 10;

/// The lines of the longest name on a lifeline.
const MAX_NAME_LINES: usize = 3;

/// A sequence diagram, to which rows are added at the bottom.
#[derive(Debug)]
pub struct SequenceDiagram {
    title: String,
    width: i32,
    bottom: i32,
    lifelines: Vec<Lifeline>,
    shapes: Vec<Shape>,
}

/// A message from one lifeline to another.
#[derive(Debug, Default)]
pub struct DiagramArrow {
    /// The position of the sender's lifeline.
    pub from: i32,
    /// The position of the receiver's.
    pub to: i32,
    /// Whether the arrow ends before the receiver.
    pub is_lost: bool,
    /// The class of its looks.
    pub style: &'static str,
    /// The text above the arrow.
    pub label: String,
    /// The text below the arrow.
    pub detail: Option<String>,
    /// The duration, in the right margin.
    pub took: Option<String>,
    /// The id of its element; none in a figure.
    pub id: String,
    /// The whole arrow as text, for screen readers; none in a figure.
    pub description: String,
    /// The exchange that it links to in a page, or a path.
    pub exchange: Option<String>,
}

/// The document that a diagram is part of.
#[derive(Debug)]
pub enum Frame<'a> {
    /// A page, in which arrows link to exchanges.
    Page(&'a Links<'a>),
    /// A file of its own.
    File,
    /// A picture in a page that has its text as well.
    Figure,
}

/// The links of the arrows in a page.
#[derive(Debug)]
pub struct Links<'a> {
    /// The path of the login's page.
    pub path: &'a str,
    /// The id of the exchange that is open.
    pub chosen: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "diagram.svg")]
struct Drawing<'a> {
    diagram: &'a SequenceDiagram,
    frame: &'a Frame<'a>,
    style: &'static str,
    top: i32,
    height: i32,
}

#[derive(Debug)]
struct Lifeline {
    x: i32,
    /// The width of the box with the name.
    width: i32,
    /// Each with its position and its class.
    lines: Vec<(i32, &'static str, String)>,
}

#[derive(Debug)]
enum Shape {
    Arrow(PlacedArrow),
    Pill {
        y: i32,
        x: i32,
        width: i32,
        text: String,
    },
    Note {
        y: i32,
        height: i32,
        style: &'static str,
        title: String,
        /// Each with its position.
        lines: Vec<(i32, String)>,
    },
    Divider {
        y: i32,
        style: &'static str,
        text: String,
    },
}

#[derive(Debug)]
struct PlacedArrow {
    arrow: DiagramArrow,
    /// Counted from 1.
    number: usize,
    y: i32,
    /// The end: at a lifeline, or before it.
    to: i32,
    head: String,
    /// The lines above the arrow and below it, each with its position.
    label: Vec<(i32, i32, String)>,
    detail: Vec<(i32, i32, String)>,
}

impl SequenceDiagram {
    /// A diagram without rows; screen readers have its title.
    pub fn new(title: String, width: i32) -> Self {
        Self {
            title,
            width,
            bottom: TOP + 10,
            lifelines: Vec::new(),
            shapes: Vec::new(),
        }
    }

    /// Adds a participant with a box of this width.
    pub fn lifeline(&mut self, x: i32, width: i32, name: &str, subtitle: Option<String>) {
        let mut names = wrapped(name, width / CHARACTER_WIDTH);
        if names.len() > MAX_NAME_LINES {
            names.truncate(MAX_NAME_LINES);
            names[MAX_NAME_LINES - 1].push('…');
        }
        let names = names.into_iter().map(|it| ("name", it));
        let texts: Vec<_> = names.chain(subtitle.map(|it| ("subtitle", it))).collect();
        let count = number(texts.len());
        let spacing = LINE_HEIGHT.min(56 / count);
        let first = 8 + (60 - count * spacing) / 2 + spacing - 4;
        let lines = downwards(first, spacing).zip(texts);
        let lines = lines.map(|(y, (class, text))| (y, class, text)).collect();
        self.lifelines.push(Lifeline { x, width, lines });
    }

    /// Adds a message.
    pub fn arrow(&mut self, arrow: DiagramArrow) {
        let columns = (self.width - 16) / CHARACTER_WIDTH;
        let label = wrapped(&arrow.label, columns);
        let detail = arrow.detail.as_deref().map(|it| wrapped(it, columns));
        let detail = detail.unwrap_or_default();
        let label_height = number(label.len()) * LINE_HEIGHT;
        let detail_height = (number(detail.len()) * LINE_HEIGHT - 4).max(0);

        let y = self.bottom + 10 + label_height;
        let distance = arrow.to - arrow.from;
        let to = if arrow.is_lost {
            arrow.from + distance * 3 / 4
        } else {
            arrow.to
        };
        // The head points in the direction of the arrow.
        let back = if distance > 0 { -11 } else { 11 };
        let middle = i32::midpoint(arrow.from, to);
        let arrows = self.shapes.iter();
        let before = arrows.filter(|shape| matches!(shape, Shape::Arrow(_)));
        let placed = PlacedArrow {
            number: before.count() + 1,
            y,
            to,
            head: format!("{to},{y} {0},{1} {0},{2}", to + back, y - 6, y + 6),
            label: self.around(middle, y - 9 - label_height + LINE_HEIGHT, label),
            detail: self.around(middle, y + 19, detail),
            arrow,
        };
        self.shapes.push(Shape::Arrow(placed));
        self.bottom += 24 + label_height + detail_height;
    }

    /// Lines around `middle`, or beside it where the diagram ends; the first one is at `y`.
    fn around(&self, middle: i32, y: i32, lines: Vec<String>) -> Vec<(i32, i32, String)> {
        let lines = downwards(y, LINE_HEIGHT).zip(lines).map(|(y, text)| {
            // With room for a font with wider characters.
            let half = (width_of(&text) * 11 / 20 + 6).min(self.width / 2);
            (middle.clamp(half, self.width - half), y, text)
        });
        lines.collect()
    }

    /// Adds a few words on a lifeline.
    pub fn pill(&mut self, x: i32, text: String) {
        self.shapes.push(Shape::Pill {
            y: self.bottom + 7,
            x,
            width: width_of(&text) + 32,
            text,
        });
        self.bottom += 40;
    }

    /// Adds an explanation across the diagram: a title, and sentences on lines of their own.
    pub fn note(
        &mut self,
        style: &'static str,
        title: String,
        sentences: impl Iterator<Item = String>,
    ) {
        let lines: Vec<_> = sentences
            .flat_map(|it| wrapped(&it, NOTE_CHARACTERS))
            .collect();
        let height = 44 + number(lines.len()) * NOTE_LINE_HEIGHT;
        self.shapes.push(Shape::Note {
            y: self.bottom + 6,
            height,
            style,
            title,
            lines: downwards(self.bottom + 55, NOTE_LINE_HEIGHT)
                .zip(lines)
                .collect(),
        });
        self.bottom += height + 18;
    }

    /// Adds a line across the diagram, with words on it.
    pub fn divider(&mut self, style: &'static str, text: String) {
        let y = self.bottom + 24;
        self.shapes.push(Shape::Divider { y, style, text });
        self.bottom += 44;
    }

    /// The diagram as SVG.
    pub fn draw(&self, frame: &Frame<'_>) -> String {
        let drawing = Drawing {
            diagram: self,
            frame,
            style: STYLE,
            top: TOP,
            height: self.bottom + 24,
        };
        drawing.render().expect("the template only writes strings")
    }
}

impl PlacedArrow {
    /// The area that is pressed: its left end, its width and its height.
    fn hit(&self) -> (i32, i32, i32) {
        let (from, to) = (self.arrow.from, self.arrow.to);
        let height = if self.detail.is_empty() { 42 } else { 54 };
        (from.min(to) - 6, (to - from).abs() + 12, height)
    }
}

impl Links<'_> {
    pub(crate) fn to(&self, exchange: &str) -> String {
        match exchange.starts_with('/') {
            true => exchange.to_owned(),
            false => format!("{}?call={exchange}", self.path),
        }
    }

    pub(crate) fn is_chosen(&self, exchange: &str) -> bool {
        self.chosen == Some(exchange)
    }
}

impl Frame<'_> {
    fn is_page(&self) -> bool {
        matches!(self, Self::Page(_))
    }

    fn is_file(&self) -> bool {
        matches!(self, Self::File)
    }

    /// The link of an arrow, and whether it is open.
    fn link(&self, arrow: &DiagramArrow) -> Option<(String, bool)> {
        match (self, arrow.exchange.as_deref()) {
            (Self::Page(links), Some(exchange)) => {
                Some((links.to(exchange), links.is_chosen(exchange)))
            }
            _ => None,
        }
    }
}

/// The text, cut to a number of characters.
pub fn shortened(text: &str, max_characters: usize) -> String {
    if text.chars().count() <= max_characters {
        return text.to_owned();
    }
    let start: String = text.chars().take(max_characters - 1).collect();
    format!("{start}…")
}

/// The text in lines of at most this number of characters.
fn wrapped(text: &str, columns: i32) -> Vec<String> {
    let columns = usize::try_from(columns).unwrap_or(1);
    let options =
        textwrap::Options::new(columns).word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(text, options);
    lines.into_iter().map(Cow::into_owned).collect()
}

/// The positions of lines of this height, from `first` on.
fn downwards(first: i32, height: i32) -> impl Iterator<Item = i32> {
    (0..).map(move |index| first + index * height)
}

fn width_of(text: &str) -> i32 {
    number(text.chars().count()) * CHARACTER_WIDTH
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_lies_inside_the_diagram_and_in_its_row() {
        let mut diagram = SequenceDiagram::new(String::new(), 620);
        for (from, to) in [(77, 230), (500, 600), (600, 20)] {
            let top = diagram.bottom;
            diagram.arrow(DiagramArrow {
                from,
                to,
                label: format!("GET /callback?{}", "parameter=value&".repeat(20)),
                detail: Some("the first sentence of a long answer ".repeat(4)),
                ..DiagramArrow::default()
            });
            let Some(Shape::Arrow(placed)) = diagram.shapes.last() else {
                panic!("it is an arrow");
            };
            assert!(placed.label.len() > 1 && placed.detail.len() > 1);
            for (x, y, text) in placed.label.iter().chain(&placed.detail) {
                let half = width_of(text) / 2;
                assert!(x - half >= 0 && x + half <= 620, "{text}");
                assert!((top..diagram.bottom).contains(y), "{text}");
            }
        }
    }

    #[test]
    fn a_long_sentence_is_wrapped_without_losing_a_word() {
        let text = "word ".repeat(60);
        let lines = wrapped(text.trim(), NOTE_CHARACTERS);
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 102));
        assert_eq!(lines.join(" "), text.trim());
    }

    #[test]
    fn a_long_name_has_three_lines_in_its_box() {
        let mut diagram = SequenceDiagram::new(String::new(), 620);
        diagram.lifeline(77, 154, &"a-long-host.".repeat(8), None);
        let lines = &diagram.lifelines[0].lines;
        let last = lines.last().map(|(y, _, text)| (*y, text.ends_with('…')));
        assert_eq!((lines.len(), last), (3, Some((61, true))));
    }
}
