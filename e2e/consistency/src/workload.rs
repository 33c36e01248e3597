//! The workloads: who calls the brokers, how, and what goes wrong meanwhile.

pub(crate) mod crash;
pub(crate) mod race;
pub(crate) mod soak;

/// `1 broker`, or `2 brokers`.
fn broker_count(count: usize) -> String {
    format!("{count} broker{}", if count == 1 { "" } else { "s" })
}
