//! A certificate authority that signs one certificate, and never another.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CidrSubnet, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, KeyPair, KeyUsagePurpose, NameConstraints,
    SanType, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use url::Host;

/// A certificate's age at its start: the clocks of two machines may differ.
const AGE: Duration = Duration::from_secs(60 * 60);

/// The life of a certificate that is over.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The remaining lifetime. Browsers reject a server's certificate of 398 days or more.
const LIFETIME: Duration = Duration::from_secs(397 * 24 * 60 * 60 - 2 * 60 * 60);

/// An authority without its key, and the server whose certificate it signed.
///
/// To trust it is harmless: its certificate is constrained to the names of the stack, and
/// its key existed only until the one signature was made.
#[derive(Debug)]
pub(super) struct CertificateAuthority {
    /// Its certificate in PEM.
    pub(super) pem: String,
    /// The settings of a TLS server with the signed certificate.
    pub(super) server: Arc<ServerConfig>,
}

impl CertificateAuthority {
    /// An authority for a server that has all of these names.
    pub(super) fn new(hosts: &[Host]) -> Self {
        let issuer = issuer(hosts);
        Self {
            pem: issuer.pem(),
            server: server(&issuer, hosts, valid_from_now()),
        }
    }
}

pub(super) type Issuer = CertifiedIssuer<'static, KeyPair>;

/// The authority, which may sign for these names alone.
pub(super) fn issuer(hosts: &[Host]) -> Issuer {
    let mut params = valid_from_now();
    // A fresh name each time: in a store with the authorities of earlier stacks, some
    // clients look for the signer by its name alone.
    params.distinguished_name = named(format!("Sign-in stack, authority {}", random_suffix()));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: hosts.iter().map(subtree).collect(),
        excluded_subtrees: Vec::new(),
    });
    CertifiedIssuer::self_signed(params, new_key()).expect("the parameters are complete")
}

/// A certificate for `key` and these names, of the time of `params`, which `issuer` signs.
fn leaf(
    issuer: &Issuer,
    hosts: &[Host],
    key: &KeyPair,
    mut params: CertificateParams,
) -> CertificateDer<'static> {
    params.distinguished_name = named("Sign-in stack".to_owned());
    params.subject_alt_names = hosts.iter().map(alternative_name).collect();
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(key, issuer);
    certificate.expect("they are complete").der().clone()
}

/// The settings of a TLS server with these names, whose certificate `issuer` signs, for the
/// time of `params`.
pub(super) fn server(
    issuer: &Issuer,
    hosts: &[Host],
    params: CertificateParams,
) -> Arc<ServerConfig> {
    let key = new_key();
    let certificate = leaf(issuer, hosts, &key, params);
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    // The program links two providers, so that there is no default one.
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions that are safe")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .expect("the key is that of the certificate");
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(server)
}

#[expect(
    clippy::disallowed_methods,
    reason = "clients judge certificates by the system's time"
)]
pub(super) fn valid_from_now() -> CertificateParams {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = date_time_ymd(1970, 1, 1) + since_1970.unwrap_or_default();
    let mut params = CertificateParams::default();
    params.not_before = now - AGE;
    params.not_after = now + LIFETIME;
    params
}

/// The time of a certificate that is over since yesterday.
pub(super) fn over() -> CertificateParams {
    let mut params = valid_from_now();
    params.not_after = params.not_before - DAY;
    params.not_before = params.not_after - DAY;
    params
}

fn named(name: String) -> DistinguishedName {
    let mut distinguished_name = DistinguishedName::new();
    distinguished_name.push(DnType::CommonName, name);
    distinguished_name
}

fn random_suffix() -> String {
    let [a, b, c, d, ..] = broker::random::bytes32();
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("the system has randomness")
}

fn subtree(host: &Host) -> GeneralSubtree {
    let one = |ip: IpAddr, bits| GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(ip, bits));
    match host {
        Host::Domain(name) => GeneralSubtree::DnsName(name.clone()),
        Host::Ipv4(ip) => one((*ip).into(), 32),
        Host::Ipv6(ip) => one((*ip).into(), 128),
    }
}

fn alternative_name(host: &Host) -> SanType {
    match host {
        Host::Domain(name) => {
            SanType::DnsName(name.as_str().try_into().expect("a host name is ASCII"))
        }
        Host::Ipv4(ip) => SanType::IpAddress((*ip).into()),
        Host::Ipv6(ip) => SanType::IpAddress((*ip).into()),
    }
}

#[cfg(test)]
mod tests {
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
        leaf(issuer, hosts, &new_key(), valid_from_now()).to_vec()
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
                    CertificateError::NotValidForName
                        | CertificateError::NotValidForNameContext { .. }
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
}
