//! The documents of the repository, as they were compiled: who has only the program reads them
//! at its control address.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
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
    "docs/CONNECT.md" "docs/SHIP.md" "docs/EXAMINE.md" "docs/TESTING.md" "docs/SANDBOXES.md"
    "docs/CONTROL.md" "docs/INSPECTOR.md" "docs/PRACTICE.md" "docs/TEACH.md" "docs/PROTECTION.md"
    "docs/GLOSSARY.md" "docs/INSTALL.md" "docs/PROVIDERS.md" "docs/OPERATE.md" "docs/DEPLOY.md"
    "docs/LOG.md" "docs/CONFORMANCE.md" "docs/PROOF.md" "docs/ARCHITECTURE.md"
    "docs/CONTRIBUTING.md"
    "consumer-demo/README.md" "e2e/consumers/README.md" "broker/README.md"
    "mock-upstream/README.md" "packaging/repository/README.md"
};

macro_rules! pictures {
    ($($name:literal)+) => {
        [$((concat!("/docs/pictures/", $name), include_bytes!(concat!("../../../docs/pictures/", $name)))),+]
    };
}

/// The pictures in the documents, with their paths.
pub(crate) static PICTURES: [(&str, &[u8]); 3] =
    pictures!("inspector.png" "lost-answer.png" "profile.png");

/// The replacements in the HTML that Markdown becomes: tables that scroll, and no styles in
/// elements, which their policy forbids.
const TAGS: [(&str, &str); 6] = [
    ("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>"),
    ("</table>", "</table></div>"),
    (" style=\"text-align: right\"", " class=\"right\""),
    ("<pre>", "<pre tabindex=\"0\">"),
    ("src=\"docs/", "src=\"/docs/"),
    ("src=\"pictures/", "src=\"/docs/pictures/"),
];

/// A heading, with its anchor as GitHub makes it: `the-legacy-flow`.
pub(crate) struct Heading {
    pub(crate) level: HeadingLevel,
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

    /// Its headings; the first is its title.
    pub(crate) fn headings(&self) -> Vec<Heading> {
        let events: Vec<_> = events(self.text).collect();
        headings(&events).into_values().collect()
    }

    /// `text`, which is that of the document or made of it, as HTML. Links lead to the pages of
    /// documents and files; those to files that only the repository has are text.
    pub(crate) fn html(&self, text: &str) -> String {
        let events: Vec<_> = events(text).collect();
        let (mut headings, mut is_kept) = (headings(&events), true);
        let shown = events.into_iter().enumerate();
        let shown = shown.filter_map(|(index, mut event)| {
            match &mut event {
                Event::Start(Tag::Heading { id, .. }) => {
                    *id = headings.remove(&index).map(|it| it.id.into());
                }
                Event::Start(Tag::Link { dest_url, .. }) => {
                    let target = self.target(dest_url);
                    is_kept = target.is_some();
                    *dest_url = target?.into();
                }
                Event::End(TagEnd::Link) if !is_kept => return None,
                _ => {}
            }
            Some(event)
        });
        let mut page = String::new();
        html::push_html(&mut page, shown);
        TAGS.iter()
            .fold(page, |page, (from, to)| page.replace(from, to))
    }

    /// `text` with the links to other documents and files in full, for readers of plain text.
    pub(crate) fn with_whole_links(&self, text: &str, control: &str) -> String {
        let (first, links) = text.split_once("](").unwrap_or((text, ""));
        let links = links.split("](").filter(|it| !it.is_empty());
        links.fold(first.to_owned(), |made, part| {
            let (link, rest) = part.split_once(')').unwrap_or((part, ""));
            let path = self.target(link).filter(|it| it.starts_with('/'));
            let whole = path.map(|path| match path.split_once('#') {
                Some((path, anchor)) => format!("{control}{path}?raw#{anchor}"),
                None => format!("{control}{path}?raw"),
            });
            match whole {
                Some(url) => format!("{made}]({url}){rest}"),
                None => format!("{made}]({part}"),
            }
        })
    }

    /// The address to which a link leads; `None` if only the repository has what is there.
    pub(crate) fn target(&self, link: &str) -> Option<String> {
        if link.starts_with('#') || link.contains("://") {
            return Some(link.to_owned());
        }
        let own = Url::parse("file:///").and_then(|top| top.join(self.path));
        let url = own.and_then(|own| own.join(link)).ok()?;
        let path = url.path().trim_start_matches('/');
        let document = DOCUMENTS.iter().find(|it| it.path == path);
        let file = || SourceFile::at(path).map(SourceFile::href);
        let page = document.map(Self::href).or_else(file)?;
        let anchor = url.fragment().map(|it| format!("#{it}"));
        Some(page + &anchor.unwrap_or_default())
    }
}

fn events(text: &str) -> impl Iterator<Item = Event<'_>> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The headings, by the places of their events. The anchor is made of the letters and digits,
/// with hyphens for spaces; one that was there already gets a number.
fn headings(events: &[Event<'_>]) -> BTreeMap<usize, Heading> {
    let (mut headings, mut used) = (BTreeMap::new(), BTreeSet::new());
    for (index, event) in events.iter().enumerate() {
        let Event::Start(Tag::Heading { level, .. }) = *event else {
            continue;
        };
        let inner = events[index..].iter();
        let inner = inner.take_while(|it| !matches!(it, Event::End(TagEnd::Heading(_))));
        let inner = inner.filter_map(|it| match it {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        });
        let text: String = inner.collect();
        let kept = |it: &char| it.is_alphanumeric() || " -_".contains(*it);
        let slug: String = text.to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let numbers = (1..).map(|number| format!("{slug}-{number}"));
        let mut free = [slug.clone()].into_iter().chain(numbers);
        let id = free.find(|id| used.insert(id.clone())).unwrap_or(slug);
        headings.insert(index, Heading { level, id, text });
    }
    headings
}
