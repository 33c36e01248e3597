//! The log line of a panic. A program of its own, because the panic hook belongs to the
//! process.

use std::sync::Arc;

use testkit::leak_check::{LeakCheck, MARK};

// Threats: A15.
#[test]
fn a_panic_reports_its_location_and_not_its_message() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let writer = Arc::new(log.reopen().expect("the same file"));
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(writer)
        .init();
    broker::log_format::log_panic_locations();
    let secret = format!("{MARK}-of-a-panic");
    let message = secret.clone();
    let panicked = std::thread::spawn(move || panic!("failed with {message}")).join();
    assert!(panicked.is_err());

    let text = std::fs::read_to_string(log.path()).expect("a text");
    assert!(text.contains("ERROR"), "{text}");
    assert!(text.contains(file!()), "{text}");
    let leaks = LeakCheck::over([("the panic's message", secret)]);
    assert_eq!(leaks.search(&text), []);
}
