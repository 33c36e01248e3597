//! The checker can fail: each false history is named for what is wrong with it, and the
//! true ones that look like it are explained.

mod answers;
mod expiry;
mod fixture;
mod losses;
mod single_use;
