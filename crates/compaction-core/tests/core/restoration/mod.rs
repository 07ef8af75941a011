//! The strategy `restore`: one test for each requirement and for each defect that it must not have, named after it.

mod assembly;
mod canary;
mod files;
mod hostile;
mod images;
mod setting;
mod summary;
