//! Snapshots: what is cut, and what stays.

use super::snapshot_of;

#[track_caller]
fn check(answer: &str, expected: &str) {
    assert_eq!(snapshot_of(answer), expected, "{answer}");
}

#[test]
fn r19_the_scratchpad_is_stripped() {
    check("<analysis>a</analysis>\nS", "S");
    check("S<analysis>a", "S");
    check("<analysis>a</analysis>S<analysis>b</analysis>T", "ST");
    check("<ANALYSIS id=\"1\"\n x>a</Analysis >S", "S");
    check("<analysis>a<analysis>b</analysis>c</analysis>S", "S");
    check("<analysis>the <analysis> tag</analysis>S", "S");
    check("<think>a</think><analysis>b</analysis>S", "S");
    check("<analysis/>S", "<analysis/>S");
    check("a < b <analysisx>", "a < b <analysisx>");
}

#[test]
fn r19_the_snapshot_is_parsed_first() {
    let quoted = "has <analysis>quoted</analysis> and <analysis> alone";
    check(
        &format!("<analysis>a</analysis><state_snapshot>{quoted}</state_snapshot>after"),
        quoted,
    );
    check(
        "<analysis>open <State_Snapshot x='1'>S</STATE_SNAPSHOT>",
        "S",
    );
    check("<analysis>a</analysis><state_snapshot>S", "S");
    check(
        "<analysis>I write <state_snapshot> then</analysis><state_snapshot>S</state_snapshot>",
        "S",
    );
    check(
        "<analysis>an <analysis> tag, <state_snapshot>. x</analysis>\n<state_snapshot>S</state_snapshot>",
        "S",
    );
    check(
        "<state_snapshot>a </state_snapshot> quoted</state_snapshot>",
        "a </state_snapshot> quoted",
    );
    check(
        "<state_snapshot>a <state_snapshot>b</state_snapshot> c</state_snapshot> d",
        "a <state_snapshot>b</state_snapshot> c",
    );
    check(
        "<state_snapshot>S</state_snapshot><analysis>ends in </state_snapshot></analysis>",
        "S",
    );
}

#[test]
fn d05_a_scratchpad_that_is_quoted_in_the_snapshot_survives() {
    for quoted in [
        "say <analysis>so</analysis>",
        "an <analysis> that never ends",
        "</analysis> first",
        "<think>a</think> <scratchpad>",
    ] {
        let snapshot = format!("<state_snapshot>{quoted}</state_snapshot>");
        check(&snapshot, quoted);
        check(&format!("<analysis>a</analysis>{snapshot}"), quoted);
    }
}

#[test]
fn d06_attributes_letter_case_and_nesting_leak_nothing() {
    for scratchpad in [
        "<analysis kind=\"draft\">SECRET</analysis>",
        "<analysis\nkind='draft'>SECRET</analysis\n>",
        "<ANALYSIS>SECRET</Analysis>",
        "<analysis>a<analysis>SECRET</analysis>SECRET</analysis>",
        "<analysis>a<Analysis id=1>SECRET</ANALYSIS>SECRET</analysis >",
    ] {
        check(scratchpad, "");
        check(&format!("{scratchpad}S"), "S");
        check(
            &format!("{scratchpad}<State_Snapshot v=1>S</STATE_SNAPSHOT>"),
            "S",
        );
    }
    check(
        "<state_snapshot>a <state_snapshot>b</state_snapshot> c",
        "a <state_snapshot>b</state_snapshot> c",
    );
}

#[test]
fn r20_a_scratchpad_alone_is_empty() {
    for answer in [
        "<analysis>a</analysis>",
        "<analysis>a",
        " <think>x</think> \n",
        "<analysis>a</analysis><state_snapshot></state_snapshot>",
        "<state_snapshot>\n<current_work></current_work>\n</state_snapshot>",
        "",
    ] {
        check(answer, "");
    }
}

#[test]
fn many_tags_take_no_time() {
    for piece in [
        "<analysis>",
        "<state_snapshot>",
        "</state_snapshot>",
        "<analysis",
        "<",
    ] {
        let _ = snapshot_of(&piece.repeat(20_000));
    }
    let nested = "<analysis>".repeat(20_000) + &"</analysis>".repeat(20_000);
    check(&nested, "");
    let quoting = "<state_snapshot></state_snapshot>".to_owned() + &"<analysis>".repeat(20_000);
    check(&quoting, "");
    let unbalanced = "<analysis>x<think>".repeat(10_000) + "</analysis></think>";
    check(&unbalanced, "");
    let alternating = "<analysis>x</analysis><think>".repeat(10_000);
    check(&alternating, "");
}
