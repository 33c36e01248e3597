//! The pages `/source`: the files of the reference consumers, and the places in the demo that
//! teaching texts point at. Only these files are served, from the program itself.

use std::path::Path;

use askama::Template;
use rocket::http::ContentType;
use rocket::http::uri::Segments;
use rocket::http::uri::fmt::Path as InPath;
use rocket::response::content::{RawHtml, RawText};
use rocket::{Either, Route, get, routes};

use super::docs_page::PageOrText;
use crate::page::{PageHeader, asset, html};
use crate::request::Runtime;
use crate::sources::{LANGUAGES, Place, SourceFile};

pub(super) fn routes() -> Vec<Route> {
    let style = include_str!("../../static/source.css");
    let mut routes = routes![index, file];
    routes.push(asset("/source.css", ContentType::CSS, style));
    routes
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
