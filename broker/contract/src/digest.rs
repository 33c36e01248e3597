//! SHA-256: the only form in which a secret is stored or compared.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::rules::{Malformed, Rule};

/// 32 bytes of SHA-256. Equality takes constant time.
///
/// All secrets of the broker are 256-bit random values, so a fast hash suffices: there is
/// nothing to guess that a slow one would protect.
#[derive(Clone, Copy, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hashes `bytes` for one `purpose`, so that the same secret used for two
    /// things yields two unrelated values.
    pub fn derive(purpose: &str, bytes: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(purpose.as_bytes());
        hash.update([0x1F]);
        hash.update(bytes);
        Self(hash.finalize().into())
    }

    /// The bytes, for a database column.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest read back from 32 stored bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// 43 characters of base64url, the form used in configuration and cookies.
    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

impl std::str::FromStr for Digest {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| Malformed(Rule::DigestText))?;
        bytes
            .try_into()
            .map(Self)
            .map_err(|_| Malformed(Rule::DigestText))
    }
}

impl TryFrom<String> for Digest {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digest(…)")
    }
}
