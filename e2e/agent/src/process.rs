//! The resources that a running process uses. Linux alone tells of them, and measurements and
//! tests alone need them.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// The resident memory of a process, in KiB.
///
/// # Errors
///
/// If there is no such process, or the system does not say.
pub fn resident_kib(process: u32) -> io::Result<u64> {
    let status = fs::read_to_string(of_process(process, "status")?)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let number = number.ok_or_else(|| io::Error::other("a process has ended"))?;
    number.parse().map_err(io::Error::other)
}

/// The number of files that a process has open.
///
/// # Errors
///
/// If there is no such process, or the system does not say.
pub fn open_files(process: u32) -> io::Result<usize> {
    Ok(fs::read_dir(of_process(process, "fd")?)?.count())
}

/// The number of threads of a process.
///
/// # Errors
///
/// If there is no such process, or the system does not say.
pub fn threads(process: u32) -> io::Result<usize> {
    Ok(fs::read_dir(of_process(process, "task")?)?.count())
}

/// The file or folder `name` of a process.
fn of_process(process: u32, name: &str) -> io::Result<PathBuf> {
    let path = PathBuf::from(format!("/proc/{process}/{name}"));
    let unsupported = "only Linux says what a process uses: measure there";
    cfg!(target_os = "linux")
        .then_some(path)
        .ok_or_else(|| io::Error::new(ErrorKind::Unsupported, unsupported))
}
