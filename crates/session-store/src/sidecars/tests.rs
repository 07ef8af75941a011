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

#[test]
fn a_folder_holds_outputs_of_sessions_that_work_in_the_same_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let session = root.join("s.jsonl");
    let outputs = root.join("s.jsonl.outputs");
    assert!(!super::holds_outputs(&outputs, &root));
    let header = serde_json::json!({ "type": "session", "version": 3, "id": "s", "cwd": root });
    std::fs::write(&session, format!("{header}\n")).unwrap();
    assert!(super::holds_outputs(&outputs, &root));
    assert!(!super::holds_outputs(&outputs, &root.join("other")));
    assert!(!super::holds_outputs(&session, &root));
}
