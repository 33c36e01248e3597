//! The measured servers and the providers behind them, each a process.

pub(crate) mod bare_rocket;
pub(crate) mod broker;
pub(crate) mod database;
pub(crate) mod floor_hops;
pub(crate) mod process;
pub(crate) mod providers;
