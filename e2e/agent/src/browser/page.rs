//! A page as a browser sees it: its address, its headers, its links and its forms.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use url::Url;

use super::document::{
    self, BODY, BUTTONS, CONTROLS, FORMS, REFERRER, REFRESH, RESOURCES, text_of,
};
use super::form::{Clickable, Form, Link};
use crate::http::Response;

/// The controls of a page that are looked at.
const MAX_CONTROLS: usize = 1_000;

/// An answer to a browser, with the body as text; what is no UTF-8 is replaced.
pub type Page = Response<String>;

impl Page {
    /// The value of a header, several joined by commas.
    pub fn header(&self, name: &str) -> String {
        joined(&self.headers, name)
    }

    /// Whether it is a redirect, by its status.
    pub fn is_redirect(&self) -> bool {
        is_redirect(self.status)
    }

    /// The document. One beyond the limits is empty here: see [`Page::excess`].
    pub fn document(&self) -> Html {
        document::parse(&self.body).unwrap_or_else(|_| Html::new_document())
    }

    /// The limit beyond which the page is, as the end of a sentence about it.
    pub fn excess(&self) -> Option<&'static str> {
        self.is_html().then(|| document::parse(&self.body).err())?
    }

    /// Whether it is HTML.
    pub fn is_html(&self) -> bool {
        self.header("content-type").contains("html")
    }

    /// The policy for `Referer`: the header's, or that of the page's `meta`.
    pub fn referrer_policy(&self) -> String {
        let header = self.header("referrer-policy");
        if !header.is_empty() {
            return header;
        }
        let html = self.document();
        let meta = html.select(&REFERRER).next_back();
        let content = meta.and_then(|it| it.attr("content"));
        content.unwrap_or_default().to_owned()
    }

    /// The target of a `meta` refresh that happens at once.
    pub fn refresh(&self) -> Option<Url> {
        if !self.is_html() {
            return None;
        }
        let html = self.document();
        let meta = html.select(&REFRESH).next()?;
        let (seconds, target) = meta.attr("content")?.split_once(';')?;
        let (_, target) = target.split_once('=')?;
        let target = target.trim().trim_matches(['"', '\'']);
        let is_soon = seconds.trim().parse::<f64>().is_ok_and(|it| it <= 2.0);
        is_soon.then(|| self.url.join(target).ok()).flatten()
    }

    /// The text that a person reads, white space folded.
    pub fn text(&self) -> String {
        let html = self.document();
        let body = html.select(&BODY).next();
        let Some(body) = body else {
            return String::new();
        };
        let mut text = String::new();
        for node in body.descendants() {
            let Some(piece) = node.value().as_text() else {
                continue;
            };
            let parent = node.parent().and_then(ElementRef::wrap);
            let is_hidden = parent.is_some_and(|it| {
                matches!(
                    it.value().name(),
                    "script" | "style" | "template" | "noscript"
                )
            });
            if !is_hidden {
                text.push_str(piece);
                text.push(' ');
            }
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether it is JSON.
    pub fn is_json(&self) -> bool {
        self.header("content-type").contains("json")
    }

    /// Every text in a JSON answer; none of another page.
    pub fn json_texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if self.is_json()
            && let Ok(value) = serde_json::from_str(&self.body)
        {
            add_texts(&value, &mut texts);
        }
        texts
    }

    /// Whether a script may change the page.
    pub fn has_script(&self) -> bool {
        self.body.contains("<script")
    }

    /// The first link, form or button that `css` finds.
    ///
    /// # Errors
    ///
    /// If `css` is no selector.
    pub fn find(&self, css: &str) -> Result<Option<Clickable>, String> {
        let selector = Selector::parse(css).map_err(|_| format!("`{css}` is no CSS selector"))?;
        let html = self.document();
        let control = html.select(&selector).find_map(|it| self.control(it));
        Ok(control)
    }

    /// The controls that a person can press, in the order of the page.
    pub fn controls(&self) -> Vec<Clickable> {
        let html = self.document();
        let mut controls = Vec::new();
        for element in html.select(&CONTROLS) {
            if element.value().name() == "a" {
                controls.extend(self.link(element).map(Clickable::Link));
            } else if let Some(form) = Form::of(element, &self.url).map(Arc::new) {
                let buttons = form.buttons.len().max(1);
                controls.extend((0..buttons).map(|index| Clickable::Button(form.clone(), index)));
            }
            if controls.len() > MAX_CONTROLS {
                break;
            }
        }
        controls.truncate(MAX_CONTROLS);
        controls
    }

    /// The forms of the page.
    pub fn forms(&self) -> Vec<Form> {
        let html = self.document();
        let forms = html.select(&FORMS);
        forms.filter_map(|it| Form::of(it, &self.url)).collect()
    }

    /// The addresses that the page loads by itself: scripts, images, styles, frames.
    pub fn resources(&self) -> Vec<Url> {
        let html = self.document();
        let loaded = html.select(&RESOURCES);
        loaded
            .filter_map(|it| it.attr("src").or_else(|| it.attr("href")))
            .filter_map(|it| self.url.join(it).ok())
            .collect()
    }

    fn control(&self, element: ElementRef<'_>) -> Option<Clickable> {
        match element.value().name() {
            "a" => self.link(element).map(Clickable::Link),
            "form" => Some(Clickable::Button(Form::of(element, &self.url)?.into(), 0)),
            _ => {
                let form = element
                    .ancestors()
                    .filter_map(ElementRef::wrap)
                    .find(|it| it.value().name() == "form")?;
                let buttons = form.select(&BUTTONS);
                let position = buttons.take_while(|it| it.id() != element.id()).count();
                Some(Clickable::Button(
                    Form::of(form, &self.url)?.into(),
                    position,
                ))
            }
        }
    }

    fn link(&self, element: ElementRef<'_>) -> Option<Link> {
        let target = self.url.join(element.attr("href")?).ok()?;
        Some(Link {
            target,
            text: text_of(element),
        })
    }
}

/// Whether a browser follows an answer with this status to its `Location`.
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301..=303 | 307 | 308)
}

/// The values of a header, joined by commas.
pub(super) fn joined(headers: &HeaderMap, name: &str) -> String {
    let values = headers.get_all(name).iter();
    let values = values.map(|it| String::from_utf8_lossy(it.as_bytes()));
    values.collect::<Vec<_>>().join(", ")
}

fn add_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, texts)),
        Value::Object(members) => members.values().for_each(|item| add_texts(item, texts)),
        _ => {}
    }
}
