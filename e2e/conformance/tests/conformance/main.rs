//! The conformance runner: this kit's broker meets every requirement, and each
//! requirement can be broken. Brokers run behind a proxy that makes them
//! non-compliant, each in one way.
//!
//! It is a program of its own, because its thousands of requests would fill the log that
//! `e2e/tests/it` keeps and searches. Both assemble their brokers by `broker_parts.rs`
//! of that suite.

#[path = "../../../tests/it/broker_parts.rs"]
mod parts;

mod command;
mod compliant;
mod flaws;
mod non_compliant;
mod proxy;
mod test_broker;

/// Settings for snapshots of reports: what differs between runs is left out.
fn snapshots() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"(<|&#60;)((?:\w+ )?)[\w-]{12}(,|>|&#62;)", "$1$2…$3");
    settings.add_filter(r"127\.0\.0\.1:\d{4,}", "127.0.0.1:PORT");
    // The words of the operating system, of a library, and of this kit's broker.
    settings.add_filter("no connection: .*", "no connection: …");
    settings.add_filter(r#""message":"[^"]*("|…)"#, r#""message":"…""#);
    settings
}
