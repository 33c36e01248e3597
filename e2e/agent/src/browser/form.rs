//! The links, forms and buttons of a page.

use std::sync::Arc;

use reqwest::Method;
use scraper::ElementRef;
use url::Url;

use super::document::{BUTTONS, CHOSEN, FIELDS, OPTIONS, text_of};

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The address to which it leads.
    pub target: Url,
    /// The words on it.
    pub text: String,
}

/// A form of a page, with the values that it has when the page is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The address to which it is sent.
    pub action: Url,
    /// GET or POST.
    pub method: Method,
    /// Hidden and prefilled fields.
    pub fields: Vec<(String, String)>,
    /// The names of the fields into which a person writes.
    pub text_fields: Vec<String>,
    /// Whether it asks for a password.
    pub has_password: bool,
    /// The buttons; a form without one can be sent with the return key.
    pub buttons: Vec<Button>,
}

/// A button that sends a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The name and the value that it adds, if it has a name.
    pub field: Option<(String, String)>,
    /// The words on it.
    pub text: String,
    /// The `formaction`, if the button has its own.
    pub action: Option<Url>,
}

/// Something on a page that a person can press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clickable {
    /// A link.
    Link(Link),
    /// A form, with the position of one of its buttons.
    Button(Arc<Form>, usize),
}

impl Form {
    /// The form `element` of the page at `page`; none if its address is no address.
    pub(super) fn of(element: ElementRef<'_>, page: &Url) -> Option<Self> {
        let action = match element.attr("action") {
            Some(action) if !action.is_empty() => page.join(action).ok()?,
            _ => page.clone(),
        };
        let is_post = element
            .attr("method")
            .is_some_and(|it| it.eq_ignore_ascii_case("post"));
        let mut form = Self {
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
                    .and_then(|action| page.join(action).ok()),
            });
        }
        Some(form)
    }

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
    pub fn press(&self, button: usize) -> (Url, Vec<(String, String)>) {
        let mut fields = self.fields.clone();
        fields.extend(self.buttons.get(button).and_then(|it| it.field.clone()));
        (self.target(button).clone(), fields)
    }

    fn target(&self, button: usize) -> &Url {
        let action = self.buttons.get(button).and_then(|it| it.action.as_ref());
        action.unwrap_or(&self.action)
    }

    /// Fills in a field, whether or not the page has it.
    pub fn fill(&mut self, name: &str, value: &str) {
        match self.fields.iter_mut().find(|(its, _)| its == name) {
            Some((_, old)) => value.clone_into(old),
            None => self.fields.push((name.to_owned(), value.to_owned())),
        }
    }
}

impl Clickable {
    /// The words on it.
    pub fn text(&self) -> &str {
        match self {
            Self::Link(link) => &link.text,
            Self::Button(form, index) => form.buttons.get(*index).map_or("", |it| &it.text),
        }
    }

    /// The address that a press asks for.
    pub fn target(&self) -> Url {
        match self {
            Self::Link(link) => link.target.clone(),
            Self::Button(form, index) => form.target(*index).clone(),
        }
    }

    /// It in one line: `POST /login "Sign in"`.
    pub fn describe(&self) -> String {
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
