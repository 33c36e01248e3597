//! Is the published contract what the broker does? Whatever it answers is in the
//! document, whatever is in the document it answers, and of a body the schemas,
//! the broker and a plain reading of the specification say the same.

mod differential;
mod hook;
mod operations;
mod page;
mod statuses;
