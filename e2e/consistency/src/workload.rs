//! The workloads: who calls the brokers, how, and what goes wrong meanwhile.

pub(crate) mod crash;
pub(crate) mod race;
pub(crate) mod soak;
