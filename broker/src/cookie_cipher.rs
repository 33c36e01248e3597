//! The encryption of cookies: a browser can neither read nor forge what it stores for
//! the broker.
//!
//! The cookie crate's private jar does it (AES-256-GCM, bound to the cookie's
//! name). The newest key encrypts, any key decrypts, so that keys can be rotated.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use contract::redacted;
use cookie::{Cookie, CookieJar, Key};
use serde::{Deserialize, Deserializer};

/// A cookie key: 32 random bytes, written as 43 characters of base64url.
#[derive(Clone)]
pub struct CookieKey(Key);

impl CookieKey {
    /// A key from 32 random bytes.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(Key::derive_from(bytes))
    }

    /// The key in the file at `path`. If there is no file, it is made from `fresh`,
    /// readable by its owner alone.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, or contains no key.
    pub fn kept_at(path: &Path, fresh: [u8; 32]) -> std::io::Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::from_text(text.trim())
                .ok_or_else(|| std::io::Error::new(ErrorKind::InvalidData, KEY_TEXT)),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::store(path, fresh),
            Err(error) => Err(error),
        }
    }

    /// Stores a fresh key at `path`, completely or not at all. If another broker was
    /// faster, returns its key.
    fn store(path: &Path, fresh: [u8; 32]) -> std::io::Result<Self> {
        let draft = path.with_extension(format!("cookie-key.{}", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(URL_SAFE_NO_PAD.encode(fresh).as_bytes())?;
        file.sync_all()?;
        let linked = std::fs::hard_link(&draft, path);
        std::fs::remove_file(&draft)?;
        match linked {
            Ok(()) => Ok(Self::from_random(&fresh)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Self::kept_at(path, fresh),
            Err(error) => Err(error),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        let bytes: [u8; 32] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
        Some(Self::from_random(&bytes))
    }
}

const KEY_TEXT: &str = "a cookie key is 32 random bytes as 43 characters of base64url";

redacted!(CookieKey);

impl<'de> Deserialize<'de> for CookieKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| serde::de::Error::custom(KEY_TEXT))
    }
}

/// Encrypts with the newest key, decrypts with any.
#[derive(Debug, Clone)]
pub struct CookieCipher(Vec<CookieKey>);

impl CookieCipher {
    /// A cipher with these keys, newest first.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn new(keys: Vec<CookieKey>) -> Self {
        assert!(!keys.is_empty(), "a cookie cipher has at least one key");
        Self(keys)
    }

    /// Encrypts `text` for the cookie `name`, in characters that need no escape in a
    /// cookie.
    pub fn encrypt(&self, name: &str, text: String) -> String {
        let mut jar = CookieJar::new();
        jar.private_mut(&self.0[0].0)
            .add(Cookie::new(name.to_owned(), text));
        let encrypted = jar.get(name).expect("it was just added").value();
        encrypted
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_")
    }

    /// Decrypts a value of the cookie `name`; `None` unless one of the keys encrypted it.
    pub fn decrypt(&self, name: &str, encrypted: &str) -> Option<String> {
        // One spelling: padding, `+` and `/` are never the broker's own.
        let bytes = URL_SAFE_NO_PAD.decode(encrypted).ok()?;
        let cookie = Cookie::new(name.to_owned(), STANDARD.encode(bytes));
        self.0.iter().find_map(|key| {
            let decrypted = CookieJar::new().private(&key.0).decrypt(cookie.clone())?;
            Some(decrypted.value().to_owned())
        })
    }
}
