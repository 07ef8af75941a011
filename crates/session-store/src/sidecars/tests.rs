//! Which names are those of sidecars.

use std::fs;

use super::is_sidecar;

#[test]
fn sidecars_are_known_by_their_names() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("log"), "{\"type\":\"session\",\"id\":\"s\"}\n").unwrap();
    fs::write(at("Cargo"), "[package]\n").unwrap();
    for name in [
        "s.pending.jsonl",
        "S.Pending.JSONL",
        "s.jsonl.lock",
        "s.jsonl.outputs",
        "s.jsonl.outputs/1.txt",
        "log.lock",
        "log.outputs/1.txt",
    ] {
        assert!(is_sidecar(&at(name)), "{name}");
    }
    for name in [
        "Cargo.lock",
        "s.jsonl",
        "pending.jsonl",
        "x.lock",
        ".lock",
        "outputs/x",
    ] {
        assert!(!is_sidecar(&at(name)), "{name}");
    }
}
