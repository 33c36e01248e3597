//! The program `bench`; the library has the rest.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    bench::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "bench: it measures on Linux alone");
    ExitCode::FAILURE
}
