//! What is said of a panic: where, and nothing else. Its message may hold what was
//! being worked on.

/// Makes every panic of this process one log line that names its place.
pub fn say_only_where() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(place, "a panic");
    }));
}
