//! The users that can sign in: the seed users, those of a people file, and any other user.

mod known_user;
mod people_file;
mod seed;
mod user;

pub use known_user::{KnownUser, KnownUsers, UnknownKey};
pub use people_file::PeopleFileError;
pub use seed::{ada, seed_users};
pub use user::{InvalidUser, User, Visibility};
