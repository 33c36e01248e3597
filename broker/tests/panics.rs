//! What a panic says. A program of its own, because the hook is the whole process's.

use std::io;
use std::sync::{LazyLock, Mutex, PoisonError};

use testkit::leak_check::{LeakCheck, MARK};

static LOG: LazyLock<Mutex<Vec<u8>>> = LazyLock::new(Mutex::default);

struct Pen;

impl io::Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_says_where_it_was_and_not_what_it_held() {
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(|| Pen)
        .init();
    broker::panics::log_location_only();
    let secret = format!("{MARK}-of-a-panic");
    let held = secret.clone();
    let panicked = std::thread::spawn(move || panic!("at a loss with {held}")).join();
    assert!(panicked.is_err());

    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&log);
    assert!(text.contains("ERROR"), "{text}");
    assert!(text.contains(file!()), "{text}");
    assert_eq!(
        LeakCheck::over([("what it held", secret)]).search(&*log),
        []
    );
}
