//! The project's own automation: `cargo xtask COMMAND`.

mod bench;
mod ci;
mod codegen;
mod conformance;
mod dist;
mod e2e_llm;
mod editor;
mod endure;
mod fuzz;
mod integrations;
mod links;
mod models;
mod picture;
mod reference;
mod rpc_client;
mod run;
mod sessions;
mod tidy;
mod tool_server;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  ci            everything that must hold before a change lands; `ci WORD...`: the steps with a word in their names
  tidy          layers, licences, headers, import cycles, words, prompts, generated files;
                --report [CRATE | docs] prints sizes, cycles and words
  codegen       write generated files (schemas, tables in docs)
  models        copy the models of pi's package into the catalog (needs the npm registry)
  conformance   hold --profile pi against pi 1.6.0 (needs Node and the npm registry)
  integrations  drive real agents that are set up to use agent-cli; names of some after it (needs Node and the npm
                registry, 2 GB)
  sessions      import every session below a folder, and compare it with an independent count
  e2e-llm       run cases against a real model on loopback, or `e2e-llm serve` it (needs Python and its package index)
  tool-server   call a public tool server (needs Python and its package index)
  editor        drive `agent-cli acp` with the client of the protocol's library (needs crates.io the first time)
  endure        kill and stop processes that share sessions, on full and read-only disks: nothing acknowledged may be
                lost; --minutes N (2), --seed N
  fuzz          fuzz what comes from outside; --seconds N (60), names of formats (needs nightly Rust and cargo-fuzz)
  dist          write man pages and completions for shells into a folder (target/dist)
  picture       draw the picture in the README
  bench         time and memory compared with a newline scan and with pi, as ratios
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let done = match arguments.first().map(String::as_str) {
        Some("ci") => ci::run(rest),
        Some("tidy") => tidy::run(rest),
        Some("codegen") => codegen::run(),
        Some("models") => models::run(),
        Some("conformance") => conformance::run(rest),
        Some("integrations") => integrations::run(rest),
        Some("e2e-llm") => e2e_llm::run(rest),
        Some("sessions") => sessions::run(rest),
        Some("tool-server") => tool_server::run(rest),
        Some("editor") => editor::run(),
        Some("endure") => endure::run(rest),
        Some("fuzz") => fuzz::run(rest),
        Some("dist") => dist::run(rest),
        Some("picture") => picture::run(),
        Some("bench") => bench::run(rest),
        Some("bench-child") => bench::child(rest),
        _ => {
            print!("{HELP}");
            return match arguments.is_empty() {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(2),
            };
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
