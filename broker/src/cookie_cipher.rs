//! Sealing: what a browser keeps for us, it can neither read nor forge.
//!
//! The cookie crate's private jar does it (AES-256-GCM, bound to the cookie's
//! name). The newest key seals, any key opens, so that keys can be rotated.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cookie::{Cookie, CookieJar, Key};
use serde::{Deserialize, Deserializer};

/// One key: 32 random bytes, written as 43 characters of base64url.
#[derive(Clone)]
pub struct CookieKey(Key);

impl CookieKey {
    /// A key from 32 bytes drawn at random.
    pub fn from_random(bytes: &[u8; 32]) -> Self {
        Self(Key::derive_from(bytes))
    }

    /// The key kept in the file at `path`, which is made from `fresh` bytes when
    /// there is none, readable by its owner alone.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written, or holds something else.
    pub fn kept_at(path: &Path, fresh: [u8; 32]) -> std::io::Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::from_text(text.trim())
                .ok_or_else(|| std::io::Error::new(ErrorKind::InvalidData, KEY_TEXT)),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::keep(path, fresh),
            Err(error) => Err(error),
        }
    }

    /// Keeps a fresh key at `path`, whole or not at all; a broker that was faster
    /// has its key kept.
    fn keep(path: &Path, fresh: [u8; 32]) -> std::io::Result<Self> {
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

impl std::fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieKey([redacted])")
    }
}

impl<'de> Deserialize<'de> for CookieKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| serde::de::Error::custom(KEY_TEXT))
    }
}

/// Seals with the newest key, opens with any.
#[derive(Debug, Clone)]
pub struct CookieCipher(Vec<CookieKey>);

impl CookieCipher {
    /// A cipher with these keys, newest first.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn new(keys: Vec<CookieKey>) -> Self {
        assert!(!keys.is_empty(), "a cookie_cipher has a key");
        Self(keys)
    }

    /// `text`, sealed for the cookie `name`, in characters that a cookie may hold
    /// as they are.
    pub fn encrypt(&self, name: &str, text: String) -> String {
        let mut jar = CookieJar::new();
        jar.private_mut(&self.0[0].0)
            .add(Cookie::new(name.to_owned(), text));
        let sealed = jar.get(name).expect("it was just added").value();
        sealed
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_")
    }

    /// What was sealed for the cookie `name`, if one of our keys did it.
    pub fn open(&self, name: &str, sealed: &str) -> Option<String> {
        let padding = "=".repeat((4 - sealed.len() % 4) % 4);
        let standard = sealed.replace('-', "+").replace('_', "/") + &padding;
        let cookie = Cookie::new(name.to_owned(), standard);
        self.0.iter().find_map(|key| {
            let opened = CookieJar::new().private(&key.0).decrypt(cookie.clone())?;
            Some(opened.value().to_owned())
        })
    }
}
