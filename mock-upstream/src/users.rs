//! The users that can sign in: the seed users, and any other user.

mod seed;
mod user;

pub use seed::{SeedUser, ada, seed_users};
pub use user::{InvalidUser, User, Visibility};
