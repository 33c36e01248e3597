//! The pages `/source`: the files of the reference consumer that teaching texts point at,
//! and the places in them. Only these files are served, from the program itself.

use std::path::Path;

use askama::Template;
use rocket::http::ContentType;
use rocket::http::uri::Segments;
use rocket::http::uri::fmt::Path as InPath;
use rocket::response::content::RawHtml;
use rocket::{Route, get, routes};

use crate::page::{PageHeader, asset, html};
use crate::request::{ControlError, Runtime};
use crate::sources::{Place, SourceFile};

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
    files: Vec<&'static SourceFile>,
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

/// The list of files and places.
#[get("/source")]
fn index(runtime: &Runtime) -> RawHtml<String> {
    html(&IndexPage {
        header: PageHeader::new(runtime),
        files: SourceFile::all().collect(),
    })
}

/// One file, with an anchor at each line.
#[get("/source/<path..>")]
fn file(path: Segments<'_, InPath>, runtime: &Runtime) -> Result<RawHtml<String>, ControlError> {
    let path = path.collect::<Vec<_>>().join("/");
    let file = SourceFile::at(&path).ok_or_else(|| {
        ControlError::not_found("there is no such file; the files are at /source")
    })?;
    Ok(html(&FilePage {
        header: PageHeader::new(runtime),
        file,
        lines: lines(file),
    }))
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
