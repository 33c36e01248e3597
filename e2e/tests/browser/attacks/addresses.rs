//! The addresses and secrets of a scene: what the model numbers, as it was seen.

use consistency::guards::{Address, Flow, Guard, Kind, Place};
use testkit::fresh;
use url::Url;

use super::scene::Scene;

/// A handle of 32 zero bytes: the first that an attacker tries.
const GUESSED_HANDLE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl Scene {
    pub(super) fn demo(&self, path: &str) -> String {
        format!("{}{path}", self.stack.urls().consumer)
    }

    /// The address of the app's form.
    pub(super) fn start(&self, flow: Flow) -> String {
        self.demo(["/login/google", "/legacy/login/google"][flow as usize])
    }

    /// The beginnings of the addresses of a place.
    pub(super) fn places(&self, place: Place) -> Vec<String> {
        let urls = self.stack.urls();
        let one = match place {
            Place::Login => format!("{}/login/", urls.broker),
            Place::Authorize | Place::AuthorizeToMallory => format!("{}/authorize?", urls.broker),
            Place::Provider => return vec![urls.google.clone(), urls.github.clone()],
            Place::Callback => format!("{}/callback/", urls.broker),
            Place::AppCallback => self.demo("/callback"),
            Place::LegacyCallback => self.demo("/legacy/callback?"),
            Place::MallorysCallback => self.site.url("/callback?"),
        };
        vec![one]
    }

    /// The address that the model means: as it was seen, or written from what was.
    pub(super) fn url(&self, at: Address) -> String {
        let is_guessed = at.place == Place::Login && self.off.contains(&Guard::SecretHandle);
        if let Some(url) = self.urls.get(&at).filter(|_| !is_guessed) {
            return url.clone();
        }
        let [first, second] = self.values(at);
        let place = &self.places(at.place)[0];
        match at.place {
            Place::Login => format!("{place}{first}"),
            Place::AppCallback => place.clone(),
            Place::AuthorizeToMallory => {
                let honest = Address {
                    place: Place::Authorize,
                    ..at
                };
                with(
                    &self.url(honest),
                    "redirect_uri",
                    &self.site.url("/callback"),
                )
            }
            Place::Callback => {
                let bare = format!(
                    "{place}google?code={second}&iss={}",
                    self.stack.urls().google
                );
                with(self.seen(at).unwrap_or(&bare), "state", &first)
            }
            Place::LegacyCallback | Place::MallorysCallback => {
                format!("{place}state={first}&code={second}")
            }
            Place::Provider | Place::Authorize => {
                let seen = self.seen(at).expect("an address that was seen");
                with(seen, "state", &first)
            }
        }
    }

    /// The secrets of an address.
    fn values(&self, at: Address) -> [String; 2] {
        let [first, second] = at.place.kinds();
        [self.value(first, at.first), self.value(second, at.second)]
    }

    pub(super) fn value(&self, kind: Option<Kind>, number: Option<usize>) -> String {
        if kind == Some(Kind::Handle) && self.off.contains(&Guard::SecretHandle) {
            return GUESSED_HANDLE.to_owned();
        }
        let known = kind.zip(number).and_then(|it| self.secrets.get(&it));
        known.map_or_else(fresh::secret, Clone::clone)
    }

    /// An address of the same place that differs in its first secret alone.
    fn seen(&self, at: Address) -> Option<&String> {
        let mut seen = self.urls.iter();
        let found = seen.find(|(it, _)| it.place == at.place && it.second == at.second);
        found.map(|(_, url)| url)
    }
}

/// The secret of this kind in an address; empty if there is none.
pub(super) fn secret_in(url: &str, kind: Kind) -> String {
    let url = Url::parse(url).unwrap();
    let name = match kind {
        Kind::Handle => return url.path().rsplit('/').next().unwrap_or_default().to_owned(),
        Kind::Challenge | Kind::Proof => "code_challenge",
        Kind::ProviderCode | Kind::Code => "code",
        _ => "state",
    };
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(it, _)| it == name);
    found
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// The address with another value of a parameter.
fn with(url: &str, name: &str, value: &str) -> String {
    let mut url = Url::parse(url).unwrap();
    let others = url.query_pairs().into_owned().filter(|(it, _)| it != name);
    let mut pairs: Vec<_> = others.collect();
    pairs.push((name.to_owned(), value.to_owned()));
    url.query_pairs_mut().clear().extend_pairs(pairs);
    url.into()
}
