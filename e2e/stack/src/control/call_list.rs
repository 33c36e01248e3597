//! The page `/calls`: the addresses of the stack, the credentials of its projects, and the
//! calls of the control address, from their routes.

use std::convert::Infallible;

use askama::Template;
use rocket::request::{FromRequest, Outcome};
use rocket::response::content::RawHtml;
use rocket::{Request, Route, get};

use crate::page::{PageHeader, html};
use crate::projects::ProjectCredentials;
use crate::request::Runtime;
use crate::runtime::ServerUrls;
use crate::snippets::{self, Snippets};

/// One call of the control address.
pub struct Call {
    pub(crate) route: Route,
    /// An example of its body, or `?…` of its query; empty for a call without either.
    pub(crate) example: &'static str,
    /// The sentence that says what it does.
    pub sentence: &'static str,
}

/// The calls of handlers: `handler, "example" => "sentence";`.
macro_rules! calls {
    ($($handler:ident $(, $example:literal)? => $sentence:literal;)+) => {
        vec![$($crate::control::call_list::Call {
            route: rocket::routes![$handler].remove(0),
            example: concat!($($example)?),
            sentence: $sentence,
        }),+]
    };
}

pub(crate) use calls;

/// The calls that every control address has.
pub(super) struct ControlCalls(pub(super) Vec<Call>);

/// The calls that only a stack has: a sandbox has no sandboxes.
pub(crate) struct SandboxCalls(pub(crate) Vec<Call>);

/// The groups of calls, each with the first segments of their paths; the last has all others.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Clock", &["clock"]),
    ("Next sign-in", &["upstreams"]),
    ("Faults", &["faults", "fault-kinds", "held"]),
    ("Look", &["events", "exchanges", "logins"]),
    ("Sandboxes", &["sandboxes"]),
    ("Stack and projects", &[]),
];

impl Call {
    /// The method.
    pub fn method(&self) -> &'static str {
        self.route.method.as_str()
    }

    /// The path, with its parameters in braces, and an example of its query, if it has one.
    pub fn path(&self) -> String {
        let path = self.route.uri.path().replace('<', "{").replace('>', "}");
        let query = Some(self.example).filter(|it| it.starts_with('?'));
        format!("{path}{}", query.unwrap_or_default())
    }

    /// The names of its parameters: those of the path, then those of the query.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let names = self.route.uri.as_str().split('<').skip(1);
        names.filter_map(|it| Some(it.split_once('>')?.0))
    }

    /// An example of the body, in JSON; empty if the call has none.
    pub fn body(&self) -> &'static str {
        match self.example {
            query if query.starts_with('?') => "",
            body => body,
        }
    }

    /// The id on the page: `POST-api-clock-advance`.
    fn id(&self) -> String {
        let id = format!("{} {}", self.route.method, self.route.uri.path());
        id.replace(['<', '>'], "")
            .replace([' ', '/'], "-")
            .replace("--", "-")
    }

    /// Whether it belongs to the group of this name.
    fn is_in(&self, name: &str) -> bool {
        let mut segments = self.route.uri.path().split('/');
        let first = segments.nth(2).unwrap_or_default();
        let own = GROUPS.iter().find(|(_, paths)| paths.contains(&first));
        own.unwrap_or(&GROUPS[GROUPS.len() - 1]).0 == name
    }

    /// The path with the ids filled in that each stack has.
    fn filled_path(&self) -> String {
        let path = self.path().replace("{provider}", "google");
        path.replace("{client_id}", "demo")
    }

    /// A command that makes the call at `control`, once the ids in it are filled in.
    pub(super) fn curl(&self, control: &str) -> String {
        let path = self.filled_path();
        let url = match path.contains(['?', '{']) {
            true => format!("'{control}{path}'"),
            false => format!("{control}{path}"),
        };
        let method = match (self.method(), self.body()) {
            ("GET", _) => String::new(),
            // With a body, POST is what curl sends.
            ("POST", body) if !body.is_empty() => String::new(),
            (method, _) => format!("-X {method} "),
        };
        match self.body() {
            "" => format!("curl {method}{url}"),
            body => format!("curl {method}{url} --json '{body}'"),
        }
    }
}

#[derive(Template)]
#[template(path = "control.html")]
struct CallList<'a> {
    header: PageHeader,
    urls: &'a ServerUrls,
    projects: Vec<ProjectCredentials>,
    snippets: Option<Snippets>,
    calls: Vec<&'a Call>,
}

/// Every call of the control address.
pub(super) struct AllCalls<'r>(pub(super) Vec<&'r Call>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for AllCalls<'r> {
    type Error = Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Infallible> {
        let own = request.rocket().state::<ControlCalls>();
        let of_sandboxes = request.rocket().state::<SandboxCalls>();
        let own = own.into_iter().flat_map(|it| &it.0);
        let all = own.chain(of_sandboxes.into_iter().flat_map(|it| &it.0));
        Outcome::Success(Self(all.collect()))
    }
}

#[get("/calls")]
pub(super) fn page(runtime: &Runtime, calls: AllCalls<'_>) -> RawHtml<String> {
    html(&CallList {
        header: PageHeader::new(runtime),
        urls: &runtime.urls,
        projects: runtime.projects.list(),
        snippets: snippets::of(runtime),
        calls: calls.0,
    })
}

#[cfg(test)]
mod tests {
    #[rocket::post("/api/things/<id>?<after>")]
    fn thing(id: &str, after: &str) -> String {
        [id, after].concat()
    }

    #[rocket::put("/api/upstreams/<provider>")]
    fn switch(provider: &str) -> String {
        provider.to_owned()
    }

    #[test]
    fn a_command_has_the_method_and_the_body_of_its_call() {
        let calls = calls! {
            thing, r#"{"seconds":600}"# => "";
            thing, "?after=0" => "";
            switch => "";
            switch, "{}" => "";
        };
        let commands = calls.iter().map(|call| call.curl("http://127.0.0.1:8010"));
        let expected = [
            r#"curl 'http://127.0.0.1:8010/api/things/{id}' --json '{"seconds":600}'"#,
            "curl -X POST 'http://127.0.0.1:8010/api/things/{id}?after=0'",
            "curl -X PUT http://127.0.0.1:8010/api/upstreams/google",
            "curl -X PUT http://127.0.0.1:8010/api/upstreams/google --json '{}'",
        ];
        assert_eq!(commands.collect::<Vec<_>>(), expected);
    }
}
