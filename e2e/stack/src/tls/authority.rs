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
            server: server(&issuer, hosts),
        }
    }
}

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// The authority, which may sign for these names alone.
fn issuer(hosts: &[Host]) -> Issuer {
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

/// A certificate for `key` and these names, which `issuer` signs.
fn leaf(issuer: &Issuer, hosts: &[Host], key: &KeyPair) -> CertificateDer<'static> {
    let mut params = valid_from_now();
    params.distinguished_name = named("Sign-in stack".to_owned());
    params.subject_alt_names = hosts.iter().map(alternative_name).collect();
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(key, issuer);
    certificate.expect("they are complete").der().clone()
}

/// The settings of a TLS server with these names, whose certificate `issuer` signs.
fn server(issuer: &Issuer, hosts: &[Host]) -> Arc<ServerConfig> {
    let key = new_key();
    let certificate = leaf(issuer, hosts, &key);
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
fn valid_from_now() -> CertificateParams {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = date_time_ymd(1970, 1, 1) + since_1970.unwrap_or_default();
    let mut params = CertificateParams::default();
    params.not_before = now - AGE;
    params.not_after = now + LIFETIME;
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
mod tests;
