//! The states of logins, as pure functions of their data and the time.

mod grant;
mod login_session;
mod upstream_login;

use broker::model::login_session::BrowserBinding;
use broker::model::{LoginId, UnixMs};
use contract::{ClientId, Digest, RedirectUri, SessionKey, State};

const NOW: UnixMs = UnixMs(1_790_000_000_000);

fn client(text: &str) -> ClientId {
    text.parse().unwrap()
}

fn callback(text: &str) -> RedirectUri {
    text.parse().unwrap()
}

fn binding(n: u8) -> BrowserBinding {
    BrowserBinding(Digest::of(&[n]))
}

#[test]
fn an_end_is_exclusive() {
    let end = NOW.plus_ms(1);
    assert!(end.is_after(NOW));
    assert!(!end.is_after(end));
    assert!(!end.is_after(end.plus_ms(1)));
}

#[test]
fn time_is_added_without_overflow_and_rounded_down_to_seconds() {
    assert_eq!(UnixMs(i64::MAX).plus_ms(1), UnixMs(i64::MAX));
    assert_eq!(UnixMs(1999).seconds(), 1);
    assert_eq!(UnixMs(2000).seconds(), 2);
    assert_eq!(UnixMs(-1).seconds(), -1);
}

#[test]
fn a_login_id_is_12_characters_that_are_no_part_of_the_secret_or_its_digest() {
    let key = SessionKey::from_random(&[1; 32]);
    let id = LoginId::of_key(&key);
    assert_eq!(id, LoginId::of_key(&key));
    assert_ne!(id, LoginId::of_key(&SessionKey::from_random(&[2; 32])));
    assert_eq!(id.as_str().len(), 12);
    assert!(!key.expose().contains(id.as_str()));
    assert!(!key.digest().to_text().contains(id.as_str()));
    assert_eq!(LoginId::kept(id.as_str().to_owned()), id);
    let state = State::from_random(&[1; 32]);
    assert_eq!(LoginId::of_state(&state).as_str().len(), 12);
}
