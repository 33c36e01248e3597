//! The look of a browser, which a login keeps besides the cookies of the browser that
//! started it.

use contract::Digest;
use rocket::http::HeaderMap;

/// The headers by which browsers differ, and which each sends with every navigation.
const HEADERS: [&str; 5] = [
    "User-Agent",
    "Accept-Language",
    "Sec-CH-UA",
    "Sec-CH-UA-Mobile",
    "Sec-CH-UA-Platform",
];

/// The digest of the headers by which browsers differ. A login ends only in a browser
/// that looks like the one that started it.
///
/// Why, since the cookies tie the login to its browser? **Cookies know no ports.** A page
/// on another port of this host name (a second application, a developer's server) sets
/// any of our cookies in its visitor's browser, `__Host-` or not. An attacker starts a
/// login here, finishes it as themselves, plants its cookies in the victim's browser, and
/// sends it to our callback: the victim would be signed in as the attacker, and save what
/// is theirs in the attacker's account. A cookie can be planted; the headers that the
/// victim's browser sends cannot.
///
/// This is a second line. It does not stop an attacker who starts the login with the
/// headers of the victim's browser, which any page that the victim visits can read, or
/// one who plants a session that is signed in already. What does is a **host name of its
/// own** for your application, which serves nothing else on any port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrowserLook(Digest);

impl BrowserLook {
    /// The look of the browser that sent `headers`. That it did not send one of the
    /// five counts as well.
    pub(crate) fn of(headers: &HeaderMap<'_>) -> Self {
        let values = HEADERS.map(|name| headers.get(name).collect::<Vec<_>>().join(", "));
        Self(Digest::of(values.join("\n").as_bytes()))
    }
}
