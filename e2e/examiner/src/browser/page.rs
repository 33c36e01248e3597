//! A page as a browser sees it: its address, its headers, its links and its forms.

use std::sync::LazyLock;

use reqwest::Method;
use reqwest::header::HeaderMap;
use scraper::{ElementRef, Html, Selector};
use url::{Url, form_urlencoded};

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

/// A form of a page, with the values that it has when the page is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) action: Url,
    pub(crate) method: Method,
    /// Hidden and prefilled fields.
    pub(crate) fields: Vec<(String, String)>,
    /// The names of the fields into which a person writes.
    pub(crate) text_fields: Vec<String>,
    /// Whether it asks for a password.
    pub(crate) has_password: bool,
    /// The buttons; a form without one can be sent with the return key.
    pub(crate) buttons: Vec<Button>,
}

/// A button that sends a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Button {
    /// The name and the value that it adds, if it has a name.
    pub(crate) field: Option<(String, String)>,
    pub(crate) text: String,
    /// The `formaction`, if the button has its own.
    pub(crate) action: Option<Url>,
}

/// Something on a page that a person can press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    Link(Link),
    /// A form, with the position of one of its buttons.
    Button(Form, usize),
}

impl Page {
    /// The value of a header, several joined by commas.
    pub(crate) fn header(&self, name: &str) -> String {
        let values = self.headers.get_all(name).iter();
        let values = values.map(|it| String::from_utf8_lossy(it.as_bytes()));
        values.collect::<Vec<_>>().join(", ")
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
        let html = Html::parse_document(&self.body);
        let meta = html.select(&REFERRER).next_back();
        let content = meta.and_then(|it| it.attr("content"));
        content.unwrap_or_default().to_owned()
    }

    /// The target of a `meta` refresh that happens at once.
    pub(crate) fn refresh(&self) -> Option<Url> {
        if !self.is_html() {
            return None;
        }
        let html = Html::parse_document(&self.body);
        let meta = html.select(&REFRESH).next()?;
        let (seconds, target) = meta.attr("content")?.split_once(';')?;
        let (_, target) = target.split_once('=')?;
        let target = target.trim().trim_matches(['"', '\'']);
        let is_soon = seconds.trim().parse::<f64>().is_ok_and(|it| it <= 2.0);
        is_soon.then(|| self.url.join(target).ok()).flatten()
    }

    /// The text that a person reads, white space folded.
    pub(crate) fn text(&self) -> String {
        let html = Html::parse_document(&self.body);
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

    /// The elements that `css` finds, as their links, forms and buttons.
    ///
    /// # Errors
    ///
    /// If `css` is no selector.
    pub(crate) fn find(&self, css: &str) -> Result<Vec<Control>, String> {
        let selector = Selector::parse(css).map_err(|_| format!("`{css}` is no CSS selector"))?;
        let html = Html::parse_document(&self.body);
        let found = html.select(&selector);
        Ok(found.filter_map(|it| self.control(it)).collect())
    }

    /// Everything that a person can press, in the order of the page.
    pub(crate) fn controls(&self) -> Vec<Control> {
        let html = Html::parse_document(&self.body);
        let mut controls = Vec::new();
        for element in html.select(&CONTROLS) {
            if element.value().name() == "a" {
                controls.extend(self.link(element).map(Control::Link));
            } else if let Some(form) = self.form(element) {
                let buttons = form.buttons.len().max(1);
                controls.extend((0..buttons).map(|index| Control::Button(form.clone(), index)));
            }
        }
        controls
    }

    /// The forms of the page.
    pub(crate) fn forms(&self) -> Vec<Form> {
        let html = Html::parse_document(&self.body);
        let forms = html.select(&FORMS);
        forms.filter_map(|it| self.form(it)).collect()
    }

    /// The addresses that the page loads by itself: scripts, images, styles, frames.
    pub(crate) fn resources(&self) -> Vec<Url> {
        let html = Html::parse_document(&self.body);
        let loaded = html.select(&RESOURCES);
        loaded
            .filter_map(|it| it.attr("src").or_else(|| it.attr("href")))
            .filter_map(|it| self.url.join(it).ok())
            .collect()
    }

    fn control(&self, element: ElementRef<'_>) -> Option<Control> {
        match element.value().name() {
            "a" => self.link(element).map(Control::Link),
            "form" => Some(Control::Button(self.form(element)?, 0)),
            _ => {
                let form = element
                    .ancestors()
                    .filter_map(ElementRef::wrap)
                    .find(|it| it.value().name() == "form")?;
                let buttons = form.select(&BUTTONS);
                let position = buttons.take_while(|it| it.id() != element.id()).count();
                Some(Control::Button(self.form(form)?, position))
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

    fn form(&self, element: ElementRef<'_>) -> Option<Form> {
        let action = match element.attr("action") {
            Some(action) if !action.is_empty() => self.url.join(action).ok()?,
            _ => self.url.clone(),
        };
        let is_post = element
            .attr("method")
            .is_some_and(|it| it.eq_ignore_ascii_case("post"));
        let mut form = Form {
            action,
            method: if is_post { Method::POST } else { Method::GET },
            fields: Vec::new(),
            text_fields: Vec::new(),
            has_password: false,
            buttons: Vec::new(),
        };
        for field in element.select(&FIELDS) {
            form.add_field(field);
        }
        for button in element.select(&BUTTONS) {
            let name = button.attr("name").map(str::to_owned);
            let value = button.attr("value").unwrap_or_default().to_owned();
            form.buttons.push(Button {
                field: name.map(|name| (name, value.clone())),
                text: match text_of(button) {
                    text if text.is_empty() => value,
                    text => text,
                },
                action: button
                    .attr("formaction")
                    .and_then(|action| self.url.join(action).ok()),
            });
        }
        Some(form)
    }
}

impl Form {
    fn add_field(&mut self, field: ElementRef<'_>) {
        let Some(name) = field.attr("name") else {
            return;
        };
        let kind = match field.value().name() {
            "input" => field.attr("type").unwrap_or("text"),
            other => other,
        };
        let value = field.attr("value").unwrap_or_default();
        match kind {
            "submit" | "image" | "button" | "reset" | "file" => return,
            "checkbox" | "radio" if field.attr("checked").is_none() => return,
            "checkbox" | "radio" => {
                let value = field.attr("value").unwrap_or("on");
                self.fields.push((name.to_owned(), value.to_owned()));
                return;
            }
            "select" => {
                let chosen = field.select(&CHOSEN).chain(field.select(&OPTIONS)).next();
                let chosen =
                    chosen.map(|it| it.attr("value").map_or_else(|| text_of(it), str::to_owned));
                self.fields
                    .push((name.to_owned(), chosen.unwrap_or_default()));
                return;
            }
            "password" => self.has_password = true,
            "hidden" => {}
            _ => self.text_fields.push(name.to_owned()),
        }
        self.fields.push((name.to_owned(), value.to_owned()));
    }

    /// The address and the fields that a press of the button sends.
    pub(crate) fn press(&self, button: usize) -> (Url, Vec<(String, String)>) {
        let button = self.buttons.get(button);
        let mut fields = self.fields.clone();
        fields.extend(button.and_then(|it| it.field.clone()));
        let action = button.and_then(|it| it.action.clone());
        (action.unwrap_or_else(|| self.action.clone()), fields)
    }

    /// Fills in a field, whether or not the page has it.
    pub(crate) fn fill(&mut self, name: &str, value: &str) {
        match self.fields.iter_mut().find(|(its, _)| its == name) {
            Some((_, old)) => value.clone_into(old),
            None => self.fields.push((name.to_owned(), value.to_owned())),
        }
    }
}

impl Control {
    /// The words on it.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Link(link) => &link.text,
            Self::Button(form, index) => form.buttons.get(*index).map_or("", |it| &it.text),
        }
    }

    /// The address that a press asks for.
    pub(crate) fn target(&self) -> Url {
        match self {
            Self::Link(link) => link.target.clone(),
            Self::Button(form, index) => form.press(*index).0,
        }
    }

    /// The control in one line: `POST /login "Sign in"`.
    pub(crate) fn describe(&self) -> String {
        let method = match self {
            Self::Link(_) => Method::GET,
            Self::Button(form, _) => form.method.clone(),
        };
        format!(
            "{method} {} \u{201C}{}\u{201D}",
            self.target().path(),
            self.text()
        )
    }
}

/// The fields of a form as its body or its query.
pub(crate) fn encode(fields: &[(String, String)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
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
