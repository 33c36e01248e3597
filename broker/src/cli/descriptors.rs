//! How many files and connections the process may have open.

/// Raises the limit to what the system allows at most. The usual one is of 1024,
/// for programs that cannot count further; here each connection takes one.
pub(super) fn allow_as_many_as_possible() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "cannot raise the limit on open files, which bounds connections");
    }
}
