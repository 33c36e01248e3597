//! The panic hook. A panic's message may contain a secret, so only its location is
//! logged.

/// Makes every panic of this process one log line with its location.
pub fn log_location_only() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(location, "a panic");
    }));
}
