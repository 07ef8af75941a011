//! The screens as people see them: scripted inputs, and what is printed and drawn.

mod chat;
mod compaction;
mod harness;
mod hostile;
mod images;
mod menus;
mod pickers;
mod preview;
mod reports;
