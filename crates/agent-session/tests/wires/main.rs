//! Requests as they leave: recorded by a server on loopback, for every kind of request and every form of provider.
//!
//! Each form has a snapshot with all kinds. Whatever is recorded is also held against the rules of its wire
//! (see `rules`), so that a snapshot that is accepted by mistake still fails.

mod asking;
mod forms;
mod rules;
mod sessions;
mod show;
mod travel;

use forms::{FORMS, Form};
use llm_catalog::Catalog;

/// What is planted as the key of every provider.
const KEY: &str = "planted-key-0123456789";

fn check(form: &Form) {
    let mut text = String::new();
    for (kind, received) in asking::all(form) {
        if let Err(wrong) = rules::check(form, &received) {
            panic!(
                "{} by {}: {wrong}\n{}",
                kind,
                form.name,
                show::request(&received)
            );
        }
        text.push_str(&format!("== {kind}\n{}\n", show::request(&received)));
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("wires-{}", form.name), text));
}

#[test]
fn requests_by_the_responses_wire() {
    FORMS
        .iter()
        .filter(|form| form.has_path("responses"))
        .for_each(check);
}

#[test]
fn requests_by_the_messages_wire() {
    FORMS
        .iter()
        .filter(|form| form.has_path("messages"))
        .for_each(check);
}

#[test]
fn requests_by_the_chat_wire() {
    FORMS
        .iter()
        .filter(|form| form.has_path("chat"))
        .for_each(check);
}

#[test]
fn requests_by_the_gemini_wire() {
    FORMS
        .iter()
        .filter(|form| form.has_path("gemini"))
        .for_each(check);
}

/// A provider without a snapshot of its own must differ in nothing from one that has one.
#[test]
fn every_provider_has_a_recorded_form() {
    let recorded: Vec<_> = FORMS
        .iter()
        .map(|form| form.resolved("http://127.0.0.1:1").provider)
        .map(|provider| (provider.wire, provider.compat))
        .collect();
    for provider in Catalog::embedded().providers() {
        let further = provider.wires.iter().map(|(wire, compat)| (*wire, *compat));
        for form in further.chain([(provider.wire, provider.compat)]) {
            assert!(recorded.contains(&form), "{} {form:?}", provider.name);
        }
    }
}

/// Waits for models on this thread.
fn block_on<F: Future>(future: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}
