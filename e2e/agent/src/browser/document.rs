//! The document of a page, parsed, and its parts. A server may send anything, and the time
//! of the parser grows with the square of the nesting: pages have limits here, and none is
//! a reason to wait.

use std::sync::LazyLock;
use std::time::Duration;

use html5ever::driver;
use html5ever::tendril::{StrTendril, TendrilSink as _};
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};

use crate::time::Stopwatch;

/// The length of a page that is read.
pub(super) const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;

/// The depth of a document, with which Chromium stops nesting as well.
const MAX_DEPTH: usize = 512;

/// The elements, texts and comments of a document. Big pages have some thousand.
const MAX_NODES: usize = 20_000;

/// The time that a document has, for what else makes parsing slow: attributes without end.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The part that is parsed between two looks at the limits.
const PIECE_BYTES: usize = 1024;

/// Declares selectors, each parsed on its first use.
macro_rules! selectors {
    ($($name:ident = $css:literal;)+) => {
        $(pub(super) static $name: LazyLock<Selector> =
            LazyLock::new(|| Selector::parse($css).expect("the selectors of this file are valid"));)+
    };
}

selectors! {
    REFERRER = "meta[name=referrer]";
    REFRESH = "meta[http-equiv=refresh i]";
    BODY = "body";
    CONTROLS = "a[href], form";
    FORMS = "form";
    RESOURCES = "script[src], img[src], iframe[src], link[href]";
    FIELDS = "input, textarea, select";
    CHOSEN = "option[selected]";
    OPTIONS = "option";
    BUTTONS = "button:not([type=button]):not([type=reset]):not([disabled]), input[type=submit], input[type=image]";
}

/// Parses a page.
///
/// # Errors
///
/// The limit beyond which the page is, as the end of a sentence about it.
pub(super) fn parse(body: &str) -> Result<Html, &'static str> {
    parse_within(TIME_LIMIT, body)
}

fn parse_within(limit: Duration, body: &str) -> Result<Html, &'static str> {
    if body.len() > MAX_PAGE_BYTES {
        return Err("is longer than 2 MiB");
    }
    let watch = Stopwatch::start();
    let sink = HtmlTreeSink::new(Html::new_document());
    let mut parser = driver::parse_document(sink, driver::ParseOpts::default());
    let (mut rest, mut known) = (body, 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        parser.process(StrTendril::from(piece));
        rest = after;
        let html = parser.tokenizer.sink.sink.0.borrow();
        if has_node_too_deep(&html, known) {
            return Err("nests elements more than 512 deep");
        }
        known = html.tree.nodes().len();
        if known > MAX_NODES {
            return Err("has more than 20,000 elements and texts");
        }
        if watch.elapsed() >= limit {
            return Err("takes longer than 5 s to parse");
        }
    }
    Ok(parser.finish())
}

/// Whether one of the nodes after the first `known` is too deep.
fn has_node_too_deep(html: &Html, known: usize) -> bool {
    let mut new = html.tree.nodes().rev();
    let count = new.len().saturating_sub(known);
    new.by_ref()
        .take(count)
        .any(|node| node.ancestors().nth(MAX_DEPTH).is_some())
}

/// The words on an element.
pub(super) fn text_of(element: ElementRef<'_>) -> String {
    let text: String = element.text().collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        let label = element.attr("aria-label").or(element.attr("title"));
        return label.unwrap_or_default().to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_refused(body: &str, reason: &str) {
        assert_eq!(parse(body).err(), Some(reason));
    }

    #[test]
    fn a_page_beyond_a_limit_is_refused() {
        let deep = "nests elements more than 512 deep";
        let many = "has more than 20,000 elements and texts";
        is_refused(&"<div>".repeat(200_000), deep);
        // What follows the end of a document is not deep itself.
        let hidden = format!("{}</body><!---->", "<div>".repeat(202));
        is_refused(&hidden.repeat(1_000), deep);
        is_refused(&"<br>".repeat(200_000), many);
        // Each paragraph has all of the bold elements before it again.
        is_refused(&"<b><p>".repeat(100_000), many);
        is_refused(&"x".repeat(MAX_PAGE_BYTES + 1), "is longer than 2 MiB");
    }

    #[test]
    fn a_page_that_is_slow_to_parse_is_refused_within_a_tag() {
        let attributes: String = (0..1_000).map(|n| format!(" a{n}")).collect();
        let parsed = parse_within(Duration::ZERO, &format!("<p{attributes}>"));
        assert_eq!(parsed.err(), Some("takes longer than 5 s to parse"));
    }

    #[test]
    fn a_page_in_pieces_is_the_same_as_in_one() {
        let body = format!(
            "<title>Ä</title>{}<textarea>€</textarea>{}",
            "<ul><li>one<li>two</ul>".repeat(300),
            "<div>".repeat(500)
        );
        assert_eq!(
            parse(&body).unwrap().html(),
            Html::parse_document(&body).html()
        );
    }
}
