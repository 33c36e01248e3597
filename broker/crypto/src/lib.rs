//! One cryptography library for TLS and for JSON Web Tokens: ring, which Rocket's TLS needs.
//! By themselves reqwest and jsonwebtoken bring a second one, aws-lc, whose C takes longer to
//! compile than any other dependency.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::error::KeyRejected;
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature as rsa;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RsaEncoding, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;

/// Has this process use ring. Call it before a client of reqwest is built, and before a token
/// is signed or verified; again, it does nothing.
pub fn install() {
    // Each fails if there is one already, which is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let _ = PROVIDER.install_default();
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| {
        let signer = With::new(*algorithm, key.clone(), key.family())?;
        Ok(Box::new(signer))
    },
    verifier_factory: |algorithm, key| {
        let verifier = With::new(*algorithm, key.clone(), key.family())?;
        Ok(Box::new(verifier))
    },
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: public_half,
        ..KeyUtils::new_unimplemented()
    },
};

/// A committed private key, of PEM, as both kinds of key are made of it.
///
/// # Panics
///
/// If it is none.
#[must_use]
pub fn pkcs8(pem: &[u8]) -> Vec<u8> {
    let key = PrivatePkcs8KeyDer::from_pem_slice(pem).expect("a private key in PEM");
    key.secret_pkcs8_der().to_vec()
}

/// The pair of PKCS #8, or of the form into which jsonwebtoken converts PEM.
fn rsa_pair(private: &[u8]) -> std::result::Result<RsaKeyPair, KeyRejected> {
    RsaKeyPair::from_pkcs8(private).or_else(|_| RsaKeyPair::from_der(private))
}

/// The modulus and the exponent.
fn public_half(private: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
    let pair = rsa_pair(private).map_err(|error| ErrorKind::InvalidRsaKey(error.to_string()))?;
    let public = PublicKeyComponents::from(pair.public());
    Ok((public.n, public.e))
}

/// An algorithm with a key of its family.
struct With<Key>(Algorithm, Key);

impl<Key> With<Key> {
    /// Google signs by RS256; by the others an imitation forges.
    fn new(algorithm: Algorithm, key: Key, family: AlgorithmFamily) -> Result<Self> {
        use Algorithm as A;
        match algorithm {
            A::RS256 | A::RS384 | A::RS512 | A::PS256 | A::ES256 | A::HS256
                if algorithm.family() == family =>
            {
                Ok(Self(algorithm, key))
            }
            _ => Err(ErrorKind::InvalidAlgorithm.into()),
        }
    }
}

impl Signer<Vec<u8>> for With<EncodingKey> {
    fn try_sign(&self, message: &[u8]) -> signature::Result<Vec<u8>> {
        let key = self.1.as_bytes();
        let random = SystemRandom::new();
        let encoding: &dyn RsaEncoding = match self.0 {
            Algorithm::HS256 => {
                let tag = hmac::sign(&hmac::Key::new(HMAC_SHA256, key), message);
                return Ok(tag.as_ref().to_vec());
            }
            Algorithm::ES256 => {
                let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let pair = EcdsaKeyPair::from_pkcs8(curve, key, &random);
                let signed = pair.map_err(failed)?.sign(&random, message);
                return Ok(signed.map_err(failed)?.as_ref().to_vec());
            }
            Algorithm::RS384 => &rsa::RSA_PKCS1_SHA384,
            Algorithm::RS512 => &rsa::RSA_PKCS1_SHA512,
            Algorithm::PS256 => &rsa::RSA_PSS_SHA256,
            _ => &rsa::RSA_PKCS1_SHA256,
        };
        let pair = rsa_pair(key).map_err(failed)?;
        let mut signed = vec![0; pair.public().modulus_len()];
        let outcome = pair.sign(encoding, &random, message, &mut signed);
        outcome.map_err(failed).map(|()| signed)
    }
}

impl Verifier<Vec<u8>> for With<DecodingKey> {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> signature::Result<()> {
        let rs256 = &rsa::RSA_PKCS1_2048_8192_SHA256;
        let outcome = match (self.0, self.1.kind()) {
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                PublicKeyComponents { n, e }.verify(rs256, message, signed)
            }
            (Algorithm::RS256, DecodingKeyKind::SecretOrDer(public)) => {
                rsa::UnparsedPublicKey::new(rs256, public).verify(message, signed)
            }
            (Algorithm::HS256, DecodingKeyKind::SecretOrDer(secret)) => {
                hmac::verify(&hmac::Key::new(HMAC_SHA256, secret), message, signed)
            }
            _ => Err(ring::error::Unspecified),
        };
        outcome.map_err(failed)
    }
}

impl JwtSigner for With<EncodingKey> {
    fn algorithm(&self) -> Algorithm {
        self.0
    }
}

impl JwtVerifier for With<DecodingKey> {
    fn algorithm(&self) -> Algorithm {
        self.0
    }
}

/// ring does not say why, either.
fn failed<E>(_: E) -> signature::Error {
    signature::Error::new()
}
