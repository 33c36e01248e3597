//! The steps of a person in an app. A step is found again on a later page, where a token or a
//! hidden field may differ.

use agent::url::path_and_query;
use serde::Serialize;

use crate::browser::{Clickable, Page, Visit, encode};
use crate::verdict::{Outcome, Stop};

/// A press, or a request, that leads from one page to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) enum Step {
    /// The first element that a CSS selector finds.
    Css(String),
    /// The control with this target: it is found again on a later page, whose hidden
    /// fields may differ.
    Target {
        method: String,
        path: String,
        /// The fields of its form, by which it differs from one with the same target.
        fields: Vec<(String, String)>,
        /// The field that the button adds.
        field: Option<(String, String)>,
    },
    /// A request without a control, for pages whose scripts make it.
    Request {
        method: String,
        path: String,
        body: String,
    },
}

impl Step {
    /// The step that finds `control` again.
    pub(crate) fn to(control: &Clickable) -> Self {
        let (method, fields, field) = match control {
            Clickable::Link(_) => ("GET".to_owned(), Vec::new(), None),
            Clickable::Button(form, index) => {
                let button = form.buttons.get(*index);
                let field = button.and_then(|it| it.field.clone());
                (form.method.to_string(), form.fields.clone(), field)
            }
        };
        Self::Target {
            method,
            path: path_and_query(&control.target()),
            fields,
            field,
        }
    }

    /// The request that the step makes from `page`; the end of a check if the page lacks it.
    /// `setting` names the control.
    pub(crate) fn required_on(&self, page: &Page, setting: &str) -> Outcome<Visit> {
        self.on_page(page).ok_or_else(|| {
            Stop::not_testable(format!(
                "the page {} (status {}) has no {} any more: if it is another control now, name it with {setting}",
                page.url.path(),
                page.status,
                self.describe()
            ))
        })
    }

    /// Whether the steps of two controls differ at most in tokens, which are new on each page.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.describe() == other.describe()
    }

    /// Whether they differ at most in tokens, and in the fields of their forms.
    fn has_target_of(&self, other: &Self) -> bool {
        self.without_fields().is_like(&other.without_fields())
    }

    fn without_fields(&self) -> Self {
        let mut step = self.clone();
        if let Self::Target { fields, .. } = &mut step {
            fields.clear();
        }
        step
    }

    /// The request that the step makes from `page`; none if the page lacks it.
    pub(crate) fn on_page(&self, page: &Page) -> Option<Visit> {
        match self {
            Self::Css(css) => {
                let found = page.find(css).ok()??;
                Some(Visit::press(page, &found))
            }
            Self::Target { .. } => {
                let controls = page.controls();
                let steps: Vec<_> = controls.iter().map(Self::to).collect();
                // Of several, the one that differs least.
                let likeness = [Self::eq, Self::is_like, Self::has_target_of];
                let mut found = likeness.iter().filter_map(|is_like| {
                    let mut steps = steps.iter();
                    steps.position(|it| is_like(it, self))
                });
                Some(Visit::press(page, &controls[found.next()?]))
            }
            Self::Request { method, path, body } => request_of(page, method, path, body),
        }
    }

    /// The request that the step makes from a tab that was opened earlier: many pages hide
    /// the sign-in from a user who is signed in.
    pub(crate) fn in_another_tab(&self, page: &Page) -> Option<Visit> {
        match self {
            Self::Target {
                method,
                path,
                fields,
                field,
            } => {
                let body: Vec<_> = fields.iter().chain(field).cloned().collect();
                request_of(page, method, path, &encode(&body))
            }
            Self::Css(_) | Self::Request { .. } => None,
        }
    }

    /// The step as the report shows it, without tokens.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Css(css) => format!("css:{css}"),
            Self::Target {
                method,
                path,
                fields,
                field,
            } => {
                let is_shown = |(_, it): &&(String, String)| !it.is_empty() && !is_token(it);
                let shown = fields.iter().filter(is_shown).chain(field);
                let shown = shown.map(|(name, value)| match is_token(value) {
                    true => format!("{name}=\u{2026}"),
                    false => format!("{name}={value}"),
                });
                let shown: Vec<_> = shown.collect();
                let with = if shown.is_empty() { "" } else { " with " };
                let path = shown_target(path);
                format!("{method} {path}{with}{}", shown.join("&"))
            }
            Self::Request { method, path, .. } => format!("{method} {}", shown_target(path)),
        }
    }

    /// The step that a person wrote: `css:#google`, or `POST /login/google`. An error begins with
    /// `place`.
    pub(crate) fn parse(place: &str, text: &str) -> Result<Self, String> {
        if let Some(css) = text.strip_prefix("css:") {
            let parsed = scraper::Selector::parse(css).map(|_| Self::Css(css.to_owned()));
            return parsed.map_err(|_| format!("{place}: `{css}` is no CSS selector"));
        }
        let mut words = text.splitn(3, ' ');
        match (words.next(), words.next()) {
            (Some(method @ ("GET" | "POST")), Some(path)) if path.starts_with('/') => {
                Ok(Self::Request {
                    method: method.to_owned(),
                    path: path.to_owned(),
                    body: words.next().unwrap_or_default().to_owned(),
                })
            }
            _ => Err(format!(
                "{place}: expected css:SELECTOR or POST /path, not `{text}`"
            )),
        }
    }

    /// The step as `examine.toml` and a flag take it, and [`Step::parse`] reads it.
    pub(crate) fn setting(&self) -> String {
        match self {
            Self::Request { method, path, body } => {
                format!("{method} {path} {body}").trim_end().to_owned()
            }
            _ => self.describe(),
        }
    }

    /// The path that the step asks for, if it is known without a page.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Css(_) => None,
            Self::Target { path, .. } | Self::Request { path, .. } => Some(path),
        }
    }
}

/// The request that a script makes from `page`: without a body, of JSON, or of the fields of a
/// form.
fn request_of(page: &Page, method: &str, path: &str, body: &str) -> Option<Visit> {
    let visit = Visit::typed(&page.url.join(path).ok()?).by_page_of(&page.url);
    let mut visit = visit.with_method(method.parse().ok()?);
    visit.is_by_script = true;
    let fields = || url::form_urlencoded::parse(body.as_bytes()).into_owned();
    match method {
        "GET" => {}
        _ if body.starts_with('{') => visit.json = Some(body.to_owned()),
        _ => visit.fields = Some(fields().collect()),
    }
    Some(visit)
}

/// The shortest value of a parameter that may be a token.
const MIN_TOKEN: usize = 8;

/// The length from which a value without a digit may be one, if it has letters of both cases: of
/// 43 random characters one in 1,500 has no digit, and an examination sees hundreds of pages.
const MIN_RANDOM: usize = 22;

/// Whether the value may be a token against forged requests: `a1b2c3d4e5`, not `google`.
fn is_token(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.=+/~:".contains(c);
    let has = |is_such: fn(&char) -> bool| value.chars().any(|c| is_such(&c));
    let is_mixed = || has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase);
    value.len() >= MIN_TOKEN
        && !value.starts_with('/')
        && value.chars().all(is_part)
        && (has(char::is_ascii_digit) || (value.len() >= MIN_RANDOM && is_mixed()))
}

/// The target for a person: the values that may be tokens are left out.
pub(crate) fn shown_target(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return stack::mask::scrub(target);
    };
    let masked = |pair: &str| match url::form_urlencoded::parse(pair.as_bytes()).next() {
        Some((name, value)) if is_token(&value) => format!("{name}=\u{2026}"),
        _ => pair.to_owned(),
    };
    let pairs: Vec<_> = query.split('&').map(masked).collect();
    stack::mask::scrub(&format!("{path}?{}", pairs.join("&")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::browser::tests::html;

    fn step_to(link: &str) -> Step {
        Step::to(&html(&format!("<a href='{link}'>x</a>")).controls()[0])
    }

    #[test]
    fn of_a_form_of_thousands_of_buttons_the_first_thousand_are_looked_at_and_share_it() {
        let body = format!("<form>{}</form>", "<button>x</button>".repeat(5_000));
        let controls = html(&body).controls();
        assert_eq!(controls.len(), 1_000);
        assert!(matches!(
            &controls[..2],
            [Clickable::Button(one, _), Clickable::Button(other, _)] if Arc::ptr_eq(one, other)
        ));
    }

    #[test]
    fn a_link_is_found_again_with_another_token_and_no_other_difference() {
        let github = "<a href='/login?provider=github&csrf=f6e7d8c9b0'>x</a>";
        let google = "<a href='/login?provider=google&csrf=f6e7d8c9b0'>x</a>";
        for (link, later, found) in [
            (
                "/logout?_wpnonce=a1b2c3d4e5&all=yes",
                "<a href='/help'>?</a><a href='/logout?_wpnonce=f6e7d8c9b0&all=yes'>x</a>",
                Some("_wpnonce=f6e7d8c9b0&all=yes"),
            ),
            ("/login?provider=google&csrf=a1b2c3d4e5", github, None),
            (
                "/login?provider=google&csrf=a1b2c3d4e5",
                &format!("{github}{google}"),
                Some("provider=google&csrf=f6e7d8c9b0"),
            ),
            (
                "/go?state=RJJKfcUcFqYGoeXOGrhVGBGqPVy",
                "<a href='/go?state=ZcUcFqYGoeXOGrhVGBGqPVyCksh'>x</a>",
                Some("state=ZcUcFqYGoeXOGrhVGBGqPVyCksh"),
            ),
            // Of two, the one with the same token is taken.
            (
                "/item?id=12345678",
                "<a href='/item?id=87654321'>x</a><a href='/item?id=12345678'>x</a>",
                Some("id=12345678"),
            ),
        ] {
            let visit = step_to(link).on_page(&html(later));
            let query = visit.as_ref().and_then(|it| it.url.query());
            assert_eq!(query, found, "{link}");
        }
    }

    #[test]
    fn of_two_forms_with_one_target_the_one_with_the_same_fields_is_taken() {
        let form = |flow: &str, token: &str| {
            let fields = format!("<input name=flow value={flow}><input name=csrf value={token}>");
            format!("<form>{fields}<button>Go</button></form>")
        };
        let page_with = |token| html(&[form("clean", token), form("legacy", token)].concat());
        let page = page_with("a1b2c3d4e5");
        let [clean, legacy] = [0, 1].map(|index| Step::to(&page.controls()[index]));
        assert!(!clean.is_like(&legacy));
        assert_eq!(legacy.describe(), "GET / with flow=legacy");
        let later = page_with("f6e7d8c9b0");
        for (step, flow) in [(&clean, "clean"), (&legacy, "legacy")] {
            let query = step.on_page(&later).unwrap().url.query().map(str::to_owned);
            assert_eq!(query, Some(format!("flow={flow}&csrf=f6e7d8c9b0")));
        }
        // Where its fields have other values, it is still the form with that target.
        assert!(legacy.on_page(&html(&form("other", "x"))).is_some());
    }

    #[test]
    fn a_missing_control_is_named_without_its_tokens_and_with_the_setting_that_replaces_it() {
        let step = step_to("/logout?_wpnonce=a1b2c3d4e5&all=yes");
        let visit = step.required_on(&html("<p>Hello"), "sign_out");
        let sentence = "the page / (status 200) has no GET /logout?_wpnonce=\u{2026}&all=yes any more: if it is another control now, name it with sign_out";
        assert_eq!(visit.unwrap_err(), Stop::not_testable(sentence));
        let button = "<form><button name=csrf value=a1b2c3d4e5>Go</button></form>";
        let printed = Step::to(&html(button).controls()[0]).describe();
        assert_eq!(printed, "GET / with csrf=\u{2026}");
    }

    #[test]
    fn a_step_is_a_selector_or_a_request_and_is_read_as_it_is_written() {
        let parse = |text| Step::parse("sign_out", text);
        for (text, path) in [("css:#out", None), ("POST /logout a=1 2", Some("/logout"))] {
            let step = parse(text).unwrap();
            assert_eq!((step.setting().as_str(), step.path()), (text, path));
        }
        for wrong in ["#out", "PUT /logout", "POST logout", "css:["] {
            assert!(parse(wrong).unwrap_err().starts_with("sign_out: "));
        }
    }
}
