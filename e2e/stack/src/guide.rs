//! The guide to an app of one's own, with the addresses and credentials of this stack: the
//! manifest, and the text that is made of it. What a document says is taken from its lists and
//! tables; the rest is in `guide/manifest.toml`, and the layout of the text in `guide/text.toml`.

mod sections;

use std::collections::BTreeMap;
use std::slice;

use contract::openapi::DOCUMENT;
use rocket::serde::json::{Value, json};
use serde::Deserialize;
use textwrap::{Options, WordSeparator, WordSplitter, wrap};
use url::Url;

use crate::documents::DOCUMENTS;
use crate::faults::Fault;
use crate::runtime::StackRuntime;
use crate::snippets;
use crate::sources::{LANGUAGES, Language};
use sections::section;

/// The manifest, with these calls of the control address.
pub(crate) fn manifest(runtime: &StackRuntime, calls: &Value) -> Value {
    let control = &runtime.urls.control;
    let contract: Value = serde_json::from_str(DOCUMENT).expect("it was made when this was built");
    let faults = Fault::ALL.iter();
    let faults = faults.map(|it| json!({ "fault": it.name(), "says": it.description() }));
    let documents = DOCUMENTS.iter().map(|it| {
        let url = format!("{control}{}?raw", it.href());
        let title = it.headings().into_iter().next().map(|it| it.text);
        json!({ "title": title, "url": url })
    });
    let results = section("docs/CONNECT.md", "What the result says").rows();
    let results = results.iter().map(|row| {
        let answer = row[0].trim_matches('`').to_owned();
        (answer, json!({ "means": row[1], "app": row[2] }))
    });
    let mut manifest = json!({
        "manifest": 1,
        "addresses": runtime.urls,
        "ca_file": runtime.reach.ca_file(),
        "projects": runtime.projects.list(),
        "app": app(runtime),
        "results": results.collect::<Value>(),
        "rules": section("docs/CONNECT.md", "Ten rules").items(control),
        "mistakes": section("docs/CONNECT.md", "The most frequent mistakes").items(control),
        "before_you_ship": section("docs/SHIP.md", "Before you ship").items(control),
        "profile": contract["components"]["schemas"]["Profile"],
        "calls": calls,
        "faults": faults.collect::<Value>(),
        "grades": section("docs/EXAMINE.md", "Grades").rows(),
        "verdicts": section("docs/EXAMINE.md", "Verdicts").rows(),
        "snippets": snippets::of(runtime),
        "languages": LANGUAGES.iter().map(|it| consumer(it, control)).collect::<Value>(),
        "documents": documents.collect::<Value>(),
    });
    let texts = toml::from_str(include_str!("guide/manifest.toml"));
    let texts = filled(texts.expect("a test reads the guide"), &manifest);
    if let (Some(members), Value::Object(texts)) = (manifest.as_object_mut(), texts) {
        members.extend(texts);
    }
    manifest
}

/// The texts with what they take out of the manifest.
fn filled(texts: Value, manifest: &Value) -> Value {
    match texts {
        Value::String(text) => line(&text, manifest, 0).into(),
        Value::Array(items) => items.into_iter().map(|it| filled(it, manifest)).collect(),
        Value::Object(mut members) => {
            let values = members.values_mut();
            values.for_each(|it| *it = filled(it.take(), manifest));
            members.into()
        }
        other => other,
    }
}

/// The settings of the app: those of the newest project, or of the demo's.
fn app(runtime: &StackRuntime) -> Value {
    let projects = runtime.projects.list();
    let own = projects.iter().rfind(|it| it.client_id.as_str() != "demo");
    let project = own.or(projects.first());
    let callbacks = project.map_or(&[][..], |it| &it.redirect_uris);
    let address = own.map_or("http://localhost:5000/", |_| callbacks[0].as_str());
    let url = Url::parse(address).expect("a callback is a URL");
    json!({
        "url": url.origin().ascii_serialization(),
        "port": url.port_or_known_default(),
        "client_id": project.map(|it| &it.client_id),
        "client_secret": project.map(|it| &it.client_secret),
        "callback": callbacks.first(),
        "legacy_callback": callbacks.get(1).or(callbacks.first()),
    })
}

/// The reference consumer in a language: its files, what it needs, and what starts it.
fn consumer(language: &Language, control: &str) -> Value {
    let paths = language.files.iter().map(|it| it.path);
    let first = language.files[0].path;
    let has_all = |folder: &&str| paths.clone().all(|it| it.starts_with(*folder));
    let mut folders = first.rmatch_indices('/').map(|(end, _)| &first[..=end]);
    let folder = folders.find(has_all).unwrap_or_default();
    let rows = section("e2e/consumers/README.md", "Start one").rows();
    let row = rows.into_iter().find(|row| row[0] == language.name);
    let row = row.expect("a test reads the guide");
    json!({
        "language": language.name,
        "needs": row[1],
        "starts_by": row[2].trim_matches('`'),
        "folder": format!("{control}/source/{folder}"),
        "files": paths.filter_map(|it| it.strip_prefix(folder)).collect::<Value>(),
    })
}

/// A part of the text: a heading, and a line for each member of a list of the manifest.
#[derive(Deserialize)]
struct Part {
    heading: Option<String>,
    /// The pointer to the list, or to one value.
    list: String,
    /// The line; `{/rule}` is what the pointer leads to in the member, and `{n}` its number.
    line: String,
}

/// The manifest on two pages, with lines of at most 120 characters.
pub(crate) fn text(manifest: &Value) -> String {
    let parts: BTreeMap<String, Vec<Part>> =
        toml::from_str(include_str!("guide/text.toml")).expect("a test reads it");
    let mut lines = Vec::new();
    for part in &parts["part"] {
        part.write(manifest, &mut lines);
    }
    let options = Options::new(120).subsequent_indent("  ").break_words(false);
    let options = options
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let lines = lines.iter().map(|line| {
        let words: Vec<_> = line.split(' ').filter(|it| !it.is_empty()).collect();
        wrap(&words.join(" "), &options).join("\n") + "\n"
    });
    lines.collect::<String>().trim_start().to_owned()
}

impl Part {
    fn write(&self, value: &Value, lines: &mut Vec<String>) {
        if let Some(heading) = &self.heading {
            lines.extend([String::new(), heading.clone()]);
        }
        let members = match value.pointer(&self.list) {
            Some(Value::Array(members)) => &members[..],
            Some(member) => slice::from_ref(member),
            None => &[],
        };
        let members = members.iter().zip(1..);
        lines.extend(members.map(|(member, number)| line(&self.line, member, number)));
    }
}

/// The line with what it takes out of `member`; any other `{name}` stays.
fn line(template: &str, member: &Value, number: usize) -> String {
    let mut parts = template.split('{');
    let mut line = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (pointer, rest) = part.split_once('}').unwrap_or(("?", part));
        match member.pointer(pointer) {
            Some(Value::String(text)) => line += text,
            Some(Value::Null) => {}
            Some(value) => line += &value.to_string(),
            None if pointer == "n" => line += &number.to_string(),
            None if pointer.starts_with('/') => {}
            None => {
                line.push('{');
                line += part;
                continue;
            }
        }
        line += rest;
    }
    line
}
