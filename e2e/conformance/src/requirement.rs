//! A requirement of the contract: its id, its law, its sentence and its advice.

mod law;
mod table;

pub use law::Law;
pub use table::Requirement;
