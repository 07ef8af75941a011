//! Tests of the program `agent-cli` as a whole: every command, every kind of bad input, what is
//! on the disk afterwards, and the JSON that programs read.

mod acp;
mod bad_input;
mod commands;
mod compare;
mod config;
mod damage;
mod docs;
mod env;
mod examples;
mod export;
mod faults;
mod hooks;
mod hostile;
mod import;
mod json;
mod loss;
mod mcp;
mod order;
mod out_again;
mod pins;
mod recall;
mod restore;
mod rpc;
mod run;
mod screen;
mod secrets;
mod sessions;
mod setup;
mod store;
mod user_words;
