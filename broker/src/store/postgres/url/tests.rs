//! Addresses, as operators paste them.

use super::*;

fn parse(text: &str) -> PostgresUrl {
    PostgresUrl::parse(text).expect(text)
}

#[test]
fn its_password_is_not_printed() {
    let url = parse("postgres://broker:hush@db/broker");
    assert_eq!(format!("{url:?}"), "PostgresUrl([redacted])");
    assert_eq!(url.expose().get_password(), Some(&b"hush"[..]));
}

#[track_caller]
fn check_encryption(parameters: &str, expected: &Encryption) {
    let url = parse(&format!("postgres://broker@db/broker{parameters}"));
    assert_eq!(url.encryption(), expected);
    let is_on = *expected != Encryption::Off;
    let required = url.expose().get_ssl_mode() == SslMode::Require;
    assert_eq!(required, is_on, "the driver insists on it");
    assert_eq!(url.expose().get_dbname(), Some("broker"));
}

#[test]
fn verify_full_checks_by_the_systems_authorities_or_by_those_of_a_file() {
    let file = |path: &str| Encryption::Verified(Roots::File(path.into()));
    let system = Encryption::Verified(Roots::System);
    check_encryption("", &Encryption::Off);
    check_encryption("?sslmode=disable", &Encryption::Off);
    check_encryption("?sslmode=prefer", &Encryption::Off);
    check_encryption("?sslmode=verify-full", &system);
    check_encryption("?sslrootcert=system", &system);
    check_encryption("?sslmode=verify-full&sslrootcert=system", &system);
    check_encryption(
        "?sslmode=verify-full&sslrootcert=/a/b.pem",
        &file("/a/b.pem"),
    );
    check_encryption(
        "?sslrootcert=%2Fa%20b.pem&target_session_attrs=read-write&sslmode=verify-full",
        &file("/a b.pem"),
    );
}

#[track_caller]
fn check_rejection(parameters: &str, advice: &str) {
    let url = format!("postgres://broker:hush@db/broker?{parameters}");
    let error = PostgresUrl::parse(&url).unwrap_err();
    assert!(error.contains(advice), "{error}");
    assert!(!error.contains("hush"), "{error}");
}

#[test]
fn a_mode_that_does_not_check_the_server_is_rejected_with_the_one_that_does() {
    check_rejection("sslmode=require", "use sslmode=verify-full");
    check_rejection(
        "sslmode=verify-ca&sslrootcert=/a",
        "use sslmode=verify-full",
    );
    check_rejection("sslrootcert=/a", "use sslmode=verify-full");
    check_rejection("sslmode=disable&sslrootcert=/a", "use sslmode=verify-full");
    check_rejection("sslmode=verify_full", "is verify-full or disable");
    check_rejection("sslcert=/a", "use a password");
    check_rejection("pool_mode=statement", "is session or transaction");
    check_rejection("nonsense=1", "the PostgreSQL driver accepts");
}

#[test]
fn a_relative_file_of_authorities_is_beside_the_configuration() {
    let url = parse("postgres://broker@db/broker?sslmode=verify-full&sslrootcert=ca.pem");
    let expected = Encryption::Verified(Roots::File("/etc/broker/ca.pem".into()));
    assert_eq!(
        *url.relative_to(Path::new("/etc/broker")).encryption(),
        expected
    );
}

#[test]
fn an_address_is_exposed_if_it_leaves_the_machine_in_clear() {
    for (text, is_exposed) in [
        ("postgres://broker@db/broker", true),
        ("postgres://broker@db/broker?sslmode=disable", true),
        ("postgres://broker@db/broker?sslmode=verify-full", false),
        ("postgres://broker@localhost/broker", false),
        ("postgres://broker@127.0.0.1/broker", false),
        ("postgres://broker@[::1]:5432/broker", false),
        ("postgres://broker@10.0.0.1/broker", true),
        ("postgres://broker@localhost,db/broker", true),
        ("postgres://broker@%2Frun%2Fpostgresql/broker", false),
        ("postgres://broker@localhost/broker?hostaddr=10.0.0.1", true),
    ] {
        assert_eq!(parse(text).is_exposed(), is_exposed, "{text}");
    }
}

#[test]
fn a_question_mark_in_a_password_begins_no_parameters() {
    let url = parse("postgres://broker:a?sslmode=x@db/broker?pool_mode=transaction");
    assert_eq!(url.expose().get_password(), Some(&b"a?sslmode=x"[..]));
    assert_eq!(url.pool_mode(), PoolMode::Transaction);
}
