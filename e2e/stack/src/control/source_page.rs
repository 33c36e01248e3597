//! The pages `/docs`: the documents of the repository, with the addresses of this stack and the
//! commands that the reader has. And the pages `/source`: the files of the reference consumers,
//! and the places in the demo that teaching texts point at. Both come from the program itself.

use std::path::Path;

use askama::Template;
use pulldown_cmark::HeadingLevel;
use rocket::http::ContentType;
use rocket::http::uri::Segments;
use rocket::http::uri::fmt::Path as InPath;
use rocket::response::content::{RawHtml, RawText};
use rocket::{Either, Route, get, routes};

use crate::documents::{DOCUMENTS, Document, PICTURES};
use crate::page::{PageHeader, asset, html};
use crate::request::Runtime;
use crate::sources::{LANGUAGES, Place, SourceFile, TO_COPY};
use crate::wording::Wording;

pub(super) fn routes() -> Vec<Route> {
    let source = include_str!("../../static/source.css");
    let docs = include_str!("../../static/docs.css");
    let pictures = PICTURES.iter();
    let pictures = pictures.map(|(path, picture)| asset(path, ContentType::PNG, *picture));
    let mut routes = routes![documents, document, index, file];
    routes.push(asset("/source.css", ContentType::CSS, source));
    routes.push(asset("/docs.css", ContentType::CSS, docs));
    routes.extend(pictures);
    routes
}

/// A page, or its text.
type PageOrText = Either<RawHtml<String>, RawText<String>>;

#[derive(Template)]
#[template(path = "docs/index.html")]
struct DocumentsPage {
    header: PageHeader,
}

#[derive(Template)]
#[template(path = "docs/page.html")]
struct DocumentPage {
    header: PageHeader,
    document: &'static Document,
    html: String,
}

#[derive(Template)]
#[template(path = "source/index.html")]
struct IndexPage {
    header: PageHeader,
}

#[derive(Template)]
#[template(path = "source/file.html")]
struct FilePage {
    header: PageHeader,
    file: &'static SourceFile,
    lines: Vec<Line>,
}

/// A line of a file.
struct Line {
    number: usize,
    text: &'static str,
    class: &'static str,
}

/// The list of documents and their sections.
#[get("/docs")]
fn documents(runtime: &Runtime) -> RawHtml<String> {
    let header = PageHeader::new(runtime);
    html(&DocumentsPage { header })
}

/// One document; with `?raw` as plain text.
#[get("/docs/<path..>?<raw>")]
fn document(
    path: Segments<'_, InPath>,
    raw: Option<&str>,
    runtime: &Runtime,
) -> Option<PageOrText> {
    let document = Document::at(&path.collect::<Vec<_>>().join("/"))?;
    let text = Wording::of(document, runtime).apply(document.text);
    if raw.is_some() {
        let text = document.with_whole_links(&text, &runtime.urls.control);
        return Some(Either::Right(RawText(text)));
    }
    Some(Either::Left(html(&DocumentPage {
        header: PageHeader::new(runtime),
        document,
        html: document.html(&text),
    })))
}

/// The list of languages, files and places.
#[get("/source")]
fn index(runtime: &Runtime) -> RawHtml<String> {
    let header = PageHeader::new(runtime);
    html(&IndexPage { header })
}

/// One file, with an anchor at each line; with `?raw` as plain text.
#[get("/source/<path..>?<raw>")]
fn file(path: Segments<'_, InPath>, raw: Option<&str>, runtime: &Runtime) -> Option<PageOrText> {
    let file = SourceFile::at(&path.collect::<Vec<_>>().join("/"))?;
    if raw.is_some() {
        return Some(Either::Right(RawText(file.text.to_owned())));
    }
    Some(Either::Left(html(&FilePage {
        header: PageHeader::new(runtime),
        file,
        lines: lines(file),
    })))
}

fn lines(file: &'static SourceFile) -> Vec<Line> {
    let places: Vec<_> = file.places().map(Place::line).collect();
    let lines = file.text.lines().enumerate();
    let lines = lines.map(|(index, text)| Line {
        number: index + 1,
        text,
        class: match text.trim_start().starts_with("//") {
            _ if places.contains(&(index + 1)) => "line place",
            true => "line comment",
            false => "line",
        },
    });
    lines.collect()
}

impl FilePage {
    /// The name of the file: `clean.rs`.
    fn name(&self) -> &'static str {
        let name = Path::new(self.file.path).file_name();
        name.and_then(|name| name.to_str())
            .unwrap_or(self.file.path)
    }
}
