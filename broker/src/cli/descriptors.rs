//! The limit of open files, which bounds connections.

/// Raises the limit as far as the system allows. The usual one of 1024 is for programs
/// that use `select`; here each connection is an open file.
pub(super) fn raise_limit() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "cannot raise the limit on open files, which bounds connections");
    }
}
