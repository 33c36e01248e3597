//! The log line of a panic. A program of its own, because the panic hook belongs to the
//! process.

use std::io;
use std::sync::{LazyLock, Mutex, PoisonError};

use testkit::leak_check::{LeakCheck, MARK};

static LOG: LazyLock<Mutex<Vec<u8>>> = LazyLock::new(Mutex::default);

struct LogWriter;

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// Threats: A15.
#[test]
fn a_panic_reports_its_location_and_not_its_message() {
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(|| LogWriter)
        .init();
    broker::log_format::log_panic_locations();
    let secret = format!("{MARK}-of-a-panic");
    let message = secret.clone();
    let panicked = std::thread::spawn(move || panic!("failed with {message}")).join();
    assert!(panicked.is_err());

    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&log);
    assert!(text.contains("ERROR"), "{text}");
    assert!(text.contains(file!()), "{text}");
    assert_eq!(
        LeakCheck::over([("the panic's message", secret)]).search(&*log),
        []
    );
}
