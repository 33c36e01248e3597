//! The certificates of an authority, as a client of TLS judges them.

use std::net::{Ipv4Addr, Ipv6Addr};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};

use super::*;

fn hosts() -> Vec<Host> {
    vec![
        Host::Domain("localhost".to_owned()),
        Host::Domain("stack.internal".to_owned()),
        Host::Ipv4(Ipv4Addr::LOCALHOST),
        Host::Ipv6(Ipv6Addr::LOCALHOST),
    ]
}

/// A client's verdict at `when` on the certificate of a server for `name`, of a client
/// that trusts the authority.
fn verdict(ca_pem: &str, leaf: &[u8], name: &str, when: UnixTime) -> Result<(), Error> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let leaf = CertificateDer::from(leaf.to_vec());
    let verifier = verifier.build().unwrap();
    let verified = verifier.verify_server_cert(&leaf, &[], &name, &[], when);
    verified.map(drop)
}

fn leaf_of(issuer: &Issuer, hosts: &[Host]) -> Vec<u8> {
    leaf(issuer, hosts, &new_key()).to_vec()
}

/// `seconds` from now.
fn at(seconds: i64) -> UnixTime {
    let now = UnixTime::now().as_secs();
    UnixTime::since_unix_epoch(Duration::from_secs(now.saturating_add_signed(seconds)))
}

#[test]
fn the_certificate_is_valid_for_each_of_its_names_and_no_other() {
    let issuer = issuer(&hosts());
    let (ca, leaf) = (issuer.pem(), leaf_of(&issuer, &hosts()));
    for name in ["localhost", "stack.internal", "127.0.0.1", "::1"] {
        assert_eq!(verdict(&ca, &leaf, name, at(0)), Ok(()), "{name}");
    }
    for name in ["example.com", "127.0.0.2", "a.localhost"] {
        let refused = verdict(&ca, &leaf, name, at(0)).unwrap_err();
        let is_name_error = matches!(
            refused,
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
            )
        );
        assert!(is_name_error, "{name}: {refused}");
    }
}

#[test]
fn a_certificate_that_the_authority_signed_for_another_name_is_not_trusted() {
    let issuer = issuer(&hosts());
    for (name, host) in [
        ("example.com", Host::Domain("example.com".to_owned())),
        ("internal", Host::Domain("internal".to_owned())),
        ("127.0.0.2", Host::Ipv4(Ipv4Addr::new(127, 0, 0, 2))),
        ("10.0.0.7", Host::Ipv4(Ipv4Addr::new(10, 0, 0, 7))),
        ("::2", Host::Ipv6(Ipv6Addr::from_bits(2))),
    ] {
        let leaf = leaf_of(&issuer, &[host]);
        let refused = verdict(&issuer.pem(), &leaf, name, at(0)).unwrap_err();
        assert!(refused.to_string().contains("NameConstraint"), "{refused}");
    }
}

#[test]
fn a_certificate_is_valid_from_an_hour_ago_and_for_less_than_398_days() {
    const DAY: i64 = 24 * 60 * 60;
    let issuer = issuer(&hosts());
    let (ca, leaf) = (issuer.pem(), leaf_of(&issuer, &hosts()));
    for valid in [-3_500, 0, 390 * DAY] {
        assert_eq!(verdict(&ca, &leaf, "localhost", at(valid)), Ok(()));
    }
    for invalid in [-3_700, 398 * DAY - 3_600] {
        assert!(verdict(&ca, &leaf, "localhost", at(invalid)).is_err());
    }
}

#[test]
fn two_authorities_have_different_names_and_do_not_vouch_for_each_other() {
    let [one, other] = [(); 2].map(|()| issuer(&hosts()));
    let leaf = leaf_of(&one, &hosts());
    assert!(verdict(&other.pem(), &leaf, "localhost", at(0)).is_err());
    let name = |issuer: &Issuer| subject(issuer.der());
    assert_ne!(name(&one), name(&other));
}

/// The common name in a certificate of ours, which is in clear text.
fn subject(certificate: &[u8]) -> String {
    let text = String::from_utf8_lossy(certificate).into_owned();
    let (_, name) = text.split_once("authority ").unwrap();
    name[..8].to_owned()
}
