//! Snippets with the values of a stack: the settings of an app, and each call of both flows for
//! a shell (`snippets.toml`), beside the region of the reference consumers that does the same.

use contract::RedirectUri;
use serde::{Deserialize, Serialize};
use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::labels::quoted;
use crate::projects::ProjectCredentials;
use crate::regions::{Excerpt, excerpts};
use crate::runtime::StackRuntime;

/// The snippets of one project.
#[derive(Deserialize, Serialize)]
pub(crate) struct Snippets {
    /// The environment of a reference consumer, as a file for a shell.
    pub(crate) environment: String,
    pub(crate) clean: Vec<Snippet>,
    pub(crate) legacy: Vec<Snippet>,
    #[serde(skip_serializing)]
    other: String,
}

/// One call of a flow.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Snippet {
    /// Method and path: `POST /v1/login/session`.
    pub(crate) operation: String,
    /// The purpose, as a sentence.
    pub(crate) title: String,
    /// The commands for a POSIX shell.
    pub(crate) command: String,
    /// The region of the reference consumers, if it is a call of theirs.
    region: Option<String>,
}

impl Snippet {
    /// The same in each language.
    pub(crate) fn code(&self) -> Vec<Excerpt> {
        self.region.iter().flat_map(|it| excerpts(it)).collect()
    }

    /// The id on a page: `POST-v1-login-session`.
    pub(crate) fn id(&self) -> String {
        self.operation
            .replace(" /", "-")
            .replace(['/', '{', '}'], "-")
    }
}

/// The snippets for the newest project that is not the demo's, or for the demo; none without a
/// project.
pub(crate) fn of(runtime: &StackRuntime) -> Option<Snippets> {
    let projects = runtime.projects.list();
    let own = projects.iter().rfind(|it| it.client_id.as_str() != "demo");
    let project = own.or(projects.first())?;
    Some(Snippets::new(&runtime.urls.broker, project))
}

impl Snippets {
    pub(crate) fn new(broker: &str, project: &ProjectCredentials) -> Self {
        let mut callbacks = project.redirect_uris.iter().map(RedirectUri::as_str);
        let clean = callbacks.next().unwrap_or_default();
        let legacy = callbacks.next().unwrap_or(clean);
        let app = Url::parse(clean).expect("a callback is a URL");
        // Each is between single quotes, which a callback may contain.
        let inner = |text| quoted(text).trim_matches('\'').to_owned();
        let values = [
            ("{broker}", broker.to_owned()),
            ("{client_id}", inner(project.client_id.as_str())),
            ("{client_secret}", inner(project.client_secret.expose())),
            ("{callback}", inner(clean)),
            ("{legacy_callback}", inner(legacy)),
            (
                "{query_callback}",
                byte_serialize(legacy.as_bytes()).collect(),
            ),
            ("{origin}", app.origin().ascii_serialization()),
            (
                "{port}",
                app.port_or_known_default().unwrap_or_default().to_string(),
            ),
        ];
        let fill = |text: &str| {
            let text = text.trim_end().to_owned();
            values
                .iter()
                .fold(text, |text, (from, to)| text.replace(from, to))
        };
        let snippets = toml::from_str(include_str!("snippets.toml"));
        let mut snippets: Self = snippets.expect("every test of a page reads it");
        for call in snippets.clean.iter_mut().chain(&mut snippets.legacy) {
            call.command = fill(&call.command);
        }
        snippets.environment = fill(&snippets.environment);
        snippets.other = fill(&snippets.other);
        snippets
    }

    /// The call of any operation of the contract; one that no app makes, as it is.
    pub(crate) fn of_operation(&self, method: &str, path: &str) -> Snippet {
        let method = method.to_uppercase();
        let operation = format!("{method} {path}");
        let mut calls = self.clean.iter().chain(&self.legacy);
        let known = calls.find(|it| it.operation == operation).cloned();
        let flags = match method.as_str() {
            "HEAD" => "-I",
            other => &format!("-i -X {other}"),
        };
        known.unwrap_or_else(|| Snippet {
            operation,
            title: "On the command line".to_owned(),
            command: self.other.replace("{flags}", flags).replace("{path}", path),
            region: None,
        })
    }
}
