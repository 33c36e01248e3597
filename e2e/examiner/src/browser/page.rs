//! A page as a browser sees it: its address, its headers, its links and its forms.

mod document;
mod form;

use std::sync::{Arc, LazyLock};

use reqwest::header::HeaderMap;
use scraper::{ElementRef, Html, Selector};
use url::Url;

pub(crate) use document::MAX_PAGE_BYTES;
pub(crate) use form::{Control, Form, encode};

/// The controls of a page that are looked at.
const MAX_CONTROLS: usize = 1_000;

/// Declares selectors, each parsed on its first use.
macro_rules! selectors {
    ($($name:ident = $css:literal;)+) => {
        $(static $name: LazyLock<Selector> =
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

/// An answer to a browser.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: Url,
    pub(crate) text: String,
}

impl Page {
    /// The value of a header, several joined by commas.
    pub(crate) fn header(&self, name: &str) -> String {
        let values = self.headers.get_all(name).iter();
        let values = values.map(|it| String::from_utf8_lossy(it.as_bytes()));
        values.collect::<Vec<_>>().join(", ")
    }

    /// The document. One beyond the limits is empty here, and [`Browser::send`] stops at it.
    ///
    /// [`Browser::send`]: super::Browser::send
    pub(crate) fn document(&self) -> Html {
        document::parse(&self.body).unwrap_or_else(|_| Html::new_document())
    }

    /// The limit beyond which the page is, as the end of a sentence about it.
    pub(super) fn excess(&self) -> Option<&'static str> {
        self.is_html().then(|| document::parse(&self.body).err())?
    }

    pub(crate) fn is_html(&self) -> bool {
        self.header("content-type").contains("html")
    }

    /// The policy for `Referer`: the header's, or that of the page's `meta`.
    pub(crate) fn referrer_policy(&self) -> String {
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
    pub(crate) fn refresh(&self) -> Option<Url> {
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
    pub(crate) fn text(&self) -> String {
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

    /// Whether a script may change the page.
    pub(crate) fn has_script(&self) -> bool {
        self.body.contains("<script")
    }

    /// The first link, form or button that `css` finds.
    ///
    /// # Errors
    ///
    /// If `css` is no selector.
    pub(crate) fn find(&self, css: &str) -> Result<Option<Control>, String> {
        let selector = Selector::parse(css).map_err(|_| format!("`{css}` is no CSS selector"))?;
        let html = self.document();
        let control = html.select(&selector).find_map(|it| self.control(it));
        Ok(control)
    }

    /// The controls that a person can press, in the order of the page.
    pub(crate) fn controls(&self) -> Vec<Control> {
        let html = self.document();
        let mut controls = Vec::new();
        for element in html.select(&CONTROLS) {
            if element.value().name() == "a" {
                controls.extend(self.link(element).map(Control::Link));
            } else if let Some(form) = Form::of(element, &self.url).map(Arc::new) {
                let buttons = form.buttons.len().max(1);
                controls.extend((0..buttons).map(|index| Control::Button(form.clone(), index)));
            }
            if controls.len() > MAX_CONTROLS {
                break;
            }
        }
        controls.truncate(MAX_CONTROLS);
        controls
    }

    /// The forms of the page.
    pub(crate) fn forms(&self) -> Vec<Form> {
        let html = self.document();
        let forms = html.select(&FORMS);
        forms.filter_map(|it| Form::of(it, &self.url)).collect()
    }

    /// The addresses that the page loads by itself: scripts, images, styles, frames.
    pub(crate) fn resources(&self) -> Vec<Url> {
        let html = self.document();
        let loaded = html.select(&RESOURCES);
        loaded
            .filter_map(|it| it.attr("src").or_else(|| it.attr("href")))
            .filter_map(|it| self.url.join(it).ok())
            .collect()
    }

    fn control(&self, element: ElementRef<'_>) -> Option<Control> {
        match element.value().name() {
            "a" => self.link(element).map(Control::Link),
            "form" => Some(Control::Button(Form::of(element, &self.url)?.into(), 0)),
            _ => {
                let form = element
                    .ancestors()
                    .filter_map(ElementRef::wrap)
                    .find(|it| it.value().name() == "form")?;
                let buttons = form.select(&BUTTONS);
                let position = buttons.take_while(|it| it.id() != element.id()).count();
                Some(Control::Button(Form::of(form, &self.url)?.into(), position))
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

fn text_of(element: ElementRef<'_>) -> String {
    let text: String = element.text().collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        let label = element.attr("aria-label").or(element.attr("title"));
        return label.unwrap_or_default().to_owned();
    }
    text
}
