//! The registered projects, their secrets' digests and their callbacks.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use contract::{
    ClientId, ClientSecret, DEVELOPMENT_SECRET, Digest, Origin, RedirectUri, Rule, parsed,
};
use parking_lot::RwLock;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::relay::{RelayGuard, SelectAccount};
use crate::untrusted::is_printable;

/// A registered consumer of the service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// The display name.
    pub name: ProjectName,
    /// The client's identifier on the wire. A registered one is printable:
    /// logs and terminals show it.
    #[serde(deserialize_with = "printable_id")]
    pub client_id: ClientId,
    /// SHA-256 of the client secret, in base64url.
    pub client_secret_sha256: Digest,
    /// SHA-256 of the previous client secret, which stays valid while backends change.
    #[serde(default)]
    pub previous_client_secret_sha256: Option<Digest>,
    /// The registered callbacks. Never empty.
    #[serde(deserialize_with = "callbacks")]
    pub redirect_uris: Vec<RedirectUri>,
    /// The visits that need the user's confirmation.
    #[serde(default)]
    pub relay_guard: RelayGuard,
    /// The origins whose pages start its sign-ins; by default the origin of each login's
    /// callback. Never empty.
    #[serde(default, deserialize_with = "start_origins")]
    pub start_origins: Option<Vec<Origin>>,
    /// The visits that see the provider's account picker.
    #[serde(default)]
    pub select_account: SelectAccount,
}

impl Project {
    /// A project with the default settings.
    pub fn new(
        name: ProjectName,
        client_id: ClientId,
        client_secret_sha256: Digest,
        redirect_uris: Vec<RedirectUri>,
    ) -> Self {
        Self {
            name,
            client_id,
            client_secret_sha256,
            previous_client_secret_sha256: None,
            redirect_uris,
            relay_guard: RelayGuard::default(),
            start_origins: None,
            select_account: SelectAccount::default(),
        }
    }

    /// The origins whose pages start the sign-ins that return to `callback`.
    pub fn start_origins<'a>(&'a self, callback: &'a RedirectUri) -> &'a [Origin] {
        match &self.start_origins {
            Some(origins) => origins,
            None => std::slice::from_ref(callback.origin()),
        }
    }

    /// Checks that `redirect_uri` is one of the callbacks, byte for byte.
    pub fn check_callback(&self, redirect_uri: &RedirectUri) -> Result<(), Rule> {
        if self.redirect_uris.contains(redirect_uri) {
            Ok(())
        } else {
            Err(Rule::RedirectUriRegistered)
        }
    }

    /// The callback with this digest, if it is still registered.
    pub fn callback(&self, digest: &Digest) -> Option<&RedirectUri> {
        self.redirect_uris
            .iter()
            .find(|uri| uri.digest() == *digest)
    }

    /// Whether this project has the public development secret.
    pub fn is_for_development(&self) -> bool {
        let known = Digest::of(DEVELOPMENT_SECRET.as_bytes());
        self.secrets().contains(&known)
    }

    /// The digests of the current and the previous secret; without a previous one, the
    /// current one twice.
    fn secrets(&self) -> [Digest; 2] {
        let current = self.client_secret_sha256;
        [
            current,
            self.previous_client_secret_sha256.unwrap_or(current),
        ]
    }
}

/// The maximum length of a name, in characters: as much as fits a page.
const MAX_CHARS: usize = 80;

/// A project's name: 1 to 80 printable characters, without white space around them.
/// Pages and terminals show it unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProjectName(String);

impl ProjectName {
    /// The text, safe to print.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProjectName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let name = text.trim();
        let has_length = (1..=MAX_CHARS).contains(&name.chars().count());
        match has_length && is_printable(name) {
            true => Ok(Self(name.to_owned())),
            false => Err(
                "a project's name has 1 to 80 printable characters: shorten it, and take out \
                 control characters and those that reorder the text around them",
            ),
        }
    }
}

parsed!(ProjectName);

impl From<ProjectName> for String {
    fn from(name: ProjectName) -> String {
        name.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All projects of a deployment. Clones share them; more may be registered while the
/// broker runs.
#[derive(Debug, Clone, Default)]
pub struct Projects(Arc<RwLock<HashMap<ClientId, Arc<Project>>>>);

impl Projects {
    /// Registers a project; one with the same client id is replaced.
    pub fn register(&self, project: Project) {
        let id = project.client_id.clone();
        self.0.write().insert(id, Arc::new(project));
    }

    /// The project with this client id, for requests without credentials.
    pub fn find(&self, client_id: &ClientId) -> Option<Arc<Project>> {
        self.0.read().get(client_id).cloned()
    }

    /// The project with these credentials. An unknown client and a wrong secret take the
    /// same steps and get the same error.
    pub fn authenticate(
        &self,
        client_id: &str,
        secret: &ClientSecret,
    ) -> Result<Arc<Project>, Rule> {
        let project = client_id.parse().ok().and_then(|id| self.find(&id));
        let [current, previous] = project
            .as_ref()
            .map_or_else(|| [Digest::of(b""); 2], |known| known.secrets());
        let digest = secret.digest();
        let (is_current, is_previous) = (digest == current, digest == previous);
        let project = project
            .filter(|_| is_current | is_previous)
            .ok_or(Rule::ClientRecognised)?;
        if !is_current {
            tracing::info!(
                project = project.client_id.as_str(),
                "authenticated with the previous client secret"
            );
        }
        Ok(project)
    }
}

impl FromIterator<Project> for Projects {
    fn from_iter<I: IntoIterator<Item = Project>>(projects: I) -> Self {
        let all = Projects::default();
        projects
            .into_iter()
            .for_each(|project| all.register(project));
        all
    }
}

fn printable_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ClientId, D::Error> {
    let id = ClientId::deserialize(deserializer)?;
    match is_printable(id.as_str()) {
        true => Ok(id),
        false => Err(D::Error::custom(
            "a client_id is printable: make another with `broker new-project`",
        )),
    }
}

fn callbacks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RedirectUri>, D::Error> {
    non_empty(deserializer, "a project has at least one callback")
}

fn start_origins<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Origin>>, D::Error> {
    let rule = "at least one origin; without the key it is the callback's";
    non_empty(deserializer, rule).map(Some)
}

fn non_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    rule: &'static str,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(deserializer)?;
    match list.is_empty() {
        true => Err(D::Error::custom(rule)),
        false => Ok(list),
    }
}
