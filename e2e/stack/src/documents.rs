//! The documents of the repository, as they were compiled: who has only the program reads them
//! at its control address.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use url::Url;

use crate::sources::SourceFile;

/// A document in Markdown.
#[derive(Debug)]
pub struct Document {
    /// The path below the repository: `docs/CONNECT.md`.
    pub path: &'static str,
    /// The text.
    pub text: &'static str,
}

macro_rules! documents {
    ($($path:literal)+) => {
        &[$(Document { path: $path, text: include_str!(concat!("../../../", $path)) }),+]
    };
}

/// Every document, in reading order.
pub static DOCUMENTS: &[Document] = documents! {
    "README.md"
    "docs/CONNECT.md" "docs/EXAMINE.md" "docs/TESTING.md" "docs/SANDBOXES.md"
    "docs/CONTROL.md" "docs/INSPECTOR.md" "docs/PRACTICE.md" "docs/TEACH.md" "docs/PROTECTION.md"
    "docs/GLOSSARY.md" "docs/INSTALL.md" "docs/PROVIDERS.md" "docs/OPERATE.md" "docs/DEPLOY.md"
    "docs/LOG.md" "docs/CONFORMANCE.md" "docs/PROOF.md" "docs/ARCHITECTURE.md"
    "docs/CONTRIBUTING.md"
    "consumer-demo/README.md" "e2e/consumers/README.md" "broker/README.md"
    "mock-upstream/README.md"
};

/// A picture in the documents, with its path below `docs`.
pub(crate) static PICTURES: [(&str, &[u8]); 3] = [
    (
        "/docs/pictures/inspector.png",
        include_bytes!("../../../docs/pictures/inspector.png"),
    ),
    (
        "/docs/pictures/lost-answer.png",
        include_bytes!("../../../docs/pictures/lost-answer.png"),
    ),
    (
        "/docs/pictures/profile.png",
        include_bytes!("../../../docs/pictures/profile.png"),
    ),
];

/// A heading below the title.
pub(crate) struct Heading {
    /// The anchor, as GitHub makes it: `the-legacy-flow`.
    pub(crate) id: String,
    pub(crate) text: String,
}

impl Document {
    /// The document at a path below `/docs/`.
    pub fn at(path: &str) -> Option<&'static Self> {
        DOCUMENTS.iter().find(|it| it.below_docs() == path)
    }

    /// The path of its page: `/docs/CONNECT.md`.
    pub fn href(&self) -> String {
        format!("/docs/{}", self.below_docs())
    }

    fn below_docs(&self) -> &'static str {
        self.path.strip_prefix("docs/").unwrap_or(self.path)
    }

    /// The title: its first line.
    pub(crate) fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// The headings of its sections.
    pub(crate) fn headings(&self) -> Vec<Heading> {
        let events: Vec<_> = events(self.text).collect();
        let sections = headings(&events).into_values();
        sections
            .filter_map(|(level, heading)| (level == 2).then_some(heading))
            .collect()
    }

    /// `text`, which is that of the document or made of it, as HTML. Links lead to the pages of
    /// documents and files; those to files that only the repository has are text.
    pub(crate) fn html(&self, text: &str) -> String {
        let events: Vec<_> = events(text).collect();
        let mut headings = headings(&events);
        let (mut codes, mut links) = (0, Vec::new());
        let shown = events
            .into_iter()
            .enumerate()
            .flat_map(|(index, event)| match event {
                Event::Start(Tag::Heading {
                    level,
                    classes,
                    attrs,
                    ..
                }) => {
                    let id = headings
                        .remove(&index)
                        .map(|(_, heading)| heading.id.into());
                    vec![Event::Start(Tag::Heading {
                        level,
                        id,
                        classes,
                        attrs,
                    })]
                }
                Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    title,
                    id,
                }) => {
                    let target = self.target(&dest_url);
                    links.push(target.is_some());
                    let dest_url = target.map(CowStr::from);
                    let link = dest_url.map(|dest_url| Tag::Link {
                        link_type,
                        dest_url,
                        title,
                        id,
                    });
                    link.map(Event::Start).into_iter().collect()
                }
                Event::End(TagEnd::Link) if links.pop() == Some(false) => Vec::new(),
                Event::Start(Tag::CodeBlock(_)) => {
                    codes += 1;
                    vec![Event::Html(code_begins(codes).into())]
                }
                Event::End(TagEnd::CodeBlock) => vec![Event::Html(code_ends(codes).into())],
                Event::Start(Tag::Table(_)) => vec![Event::Html(TABLE_BEGINS.into()), event],
                Event::End(TagEnd::Table) => vec![event, Event::Html("</div>".into())],
                Event::Html(tags) => vec![Event::Html(with_pictures(&tags).into())],
                event => vec![event],
            });
        let mut page = String::new();
        html::push_html(&mut page, shown);
        // The policy of the pages allows no styles in elements.
        page.replace(" style=\"text-align: right\"", " class=\"right\"")
            .replace(" style=\"text-align: center\"", "")
    }

    /// The address to which a link leads; `None` if only the repository has what is there.
    fn target(&self, link: &str) -> Option<String> {
        if link.starts_with('#') || link.contains("://") {
            return Some(link.to_owned());
        }
        let own = Url::parse("file:///").and_then(|top| top.join(self.path));
        let url = own.and_then(|own| own.join(link)).ok()?;
        let path = url.path().trim_start_matches('/');
        let document = DOCUMENTS.iter().find(|it| it.path == path);
        let file = || SourceFile::at(path).map(SourceFile::href);
        let mut page = document.map(Self::href).or_else(file)?;
        if let Some(anchor) = url.fragment() {
            page = format!("{page}#{anchor}");
        }
        Some(page)
    }
}

fn events(text: &str) -> impl Iterator<Item = Event<'_>> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The headings with their levels, by the places of their events.
fn headings(events: &[Event<'_>]) -> BTreeMap<usize, (usize, Heading)> {
    let mut used = BTreeMap::<String, usize>::new();
    let starts = events.iter().enumerate();
    let headings = starts.filter_map(|(index, event)| {
        let Event::Start(Tag::Heading { level, .. }) = event else {
            return None;
        };
        let inner = events[index..].iter();
        let inner = inner.take_while(|it| !matches!(it, Event::End(TagEnd::Heading(_))));
        let text: String = inner.filter_map(words).collect();
        let slug = slug(&text);
        let count = used.entry(slug.clone()).or_default();
        let id = match *count {
            0 => slug,
            number => format!("{slug}-{number}"),
        };
        *count += 1;
        Some((index, (*level as usize, Heading { id, text })))
    });
    headings.collect()
}

fn words<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    }
}

/// The anchor of a heading: letters, digits, hyphens and underscores, with hyphens for spaces.
fn slug(heading: &str) -> String {
    let letters = heading.chars().flat_map(char::to_lowercase);
    let kept = letters.filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

const TABLE_BEGINS: &str =
    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">";

fn code_begins(number: usize) -> String {
    format!(
        "<div class=\"code\"><pre id=\"code-{number}\" tabindex=\"0\" role=\"group\" aria-label=\"Code {number}\"><code>"
    )
}

fn code_ends(number: usize) -> String {
    format!(
        "</code></pre><button type=\"button\" class=\"secondary\" data-copy=\"code-{number}\" \
         aria-label=\"Copy code {number}\" hidden data-script>Copy</button></div>"
    )
}

/// Tags with the addresses of the pictures.
fn with_pictures(tags: &str) -> String {
    let tags = tags.replace("src=\"docs/pictures/", "src=\"pictures/");
    tags.replace("src=\"pictures/", "src=\"/docs/pictures/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_page_or_is_text() {
        let page = |path: &str| DOCUMENTS.iter().find(|it| it.path == path);
        let connect = page("docs/CONNECT.md").expect("a document");
        let html = connect.html(
            "# A `b` (c)!\n\n# A b c\n\n[1](#x) [2](../README.md#run-it) \
             [3](../e2e/consumers/go/app.go) [4](../justfile) [5](https://a.example)\n",
        );
        let expected = "<h1 id=\"a-b-c\">A <code>b</code> (c)!</h1>\n<h1 id=\"a-b-c-1\">A b c</h1>\n\
             <p><a href=\"#x\">1</a> <a href=\"/docs/README.md#run-it\">2</a> \
             <a href=\"/source/e2e/consumers/go/app.go\">3</a> 4 <a href=\"https://a.example\">5</a></p>\n";
        assert_eq!(html, expected);
    }
}
