//! The pages `/docs`: the documents of the repository, with the addresses of this stack and the
//! commands that the reader has.

use askama::Template;
use rocket::http::ContentType;
use rocket::http::uri::Segments;
use rocket::http::uri::fmt::Path as InPath;
use rocket::response::content::{RawHtml, RawText};
use rocket::{Either, Route, get, routes};

use crate::documents::{DOCUMENTS, Document, PICTURES};
use crate::page::{PageHeader, asset, html};
use crate::request::Runtime;
use crate::wording::Wording;

pub(super) fn routes() -> Vec<Route> {
    let style = include_str!("../../static/docs.css");
    let pictures = PICTURES.iter();
    let pictures = pictures.map(|(path, picture)| asset(path, ContentType::PNG, *picture));
    let style = asset("/docs.css", ContentType::CSS, style);
    let pages = routes![index, page];
    pages.into_iter().chain(pictures).chain([style]).collect()
}

/// A page, or its text.
pub(super) type PageOrText = Either<RawHtml<String>, RawText<String>>;

#[derive(Template)]
#[template(path = "docs/index.html")]
struct IndexPage {
    header: PageHeader,
}

#[get("/docs")]
fn index(runtime: &Runtime) -> RawHtml<String> {
    let header = PageHeader::new(runtime);
    html(&IndexPage { header })
}

#[derive(Template)]
#[template(path = "docs/page.html")]
struct DocumentPage {
    header: PageHeader,
    document: &'static Document,
    html: String,
}

/// One document; with `?raw` as plain text.
#[get("/docs/<path..>?<raw>")]
fn page(path: Segments<'_, InPath>, raw: Option<&str>, runtime: &Runtime) -> Option<PageOrText> {
    let document = Document::at(&path.collect::<Vec<_>>().join("/"))?;
    let text = Wording::of(document, runtime).apply(document.text);
    if raw.is_some() {
        return Some(Either::Right(RawText(text)));
    }
    Some(Either::Left(html(&DocumentPage {
        header: PageHeader::new(runtime),
        document,
        html: document.html(&text),
    })))
}
