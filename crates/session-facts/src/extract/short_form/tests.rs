//! Short forms of figures, decisions and steps.

use super::{decision, figure, step};

#[track_caller]
fn figures(cases: &[(&str, &str, u8)]) {
    for (said, text, rank) in cases {
        let brief = figure(said);
        assert_eq!((brief.text.as_str(), brief.rank), (*text, *rank), "{said}");
    }
}

#[test]
fn a_figure_is_told_with_its_name_and_its_limit() {
    figures(&[
        (
            "Btw, the queue depth of the mailer is 40 entries, seen on my laptop.",
            "the queue depth of the mailer is 40 entries",
            0,
        ),
        (
            "we have 3 GB for the index cache, not more",
            "we have 3 GB for the index cache, not more",
            0,
        ),
        (
            "The upload, I measured it twice, takes 14 s",
            "The upload, I measured it twice, takes 14 s",
            0,
        ),
        (
            "Übrigens, die Wartezeit im Import beträgt 35 s, steht so im Vertrag.",
            "die Wartezeit im Import beträgt 35 s",
            0,
        ),
        (
            "It ran twice. Rotating (200 rotations, under load) took 14 s in the importer, as it did before.",
            "It ran twice. Rotating (200 rotations, under load) took 14 s in the importer, as it did before",
            1,
        ),
    ]);
}

#[test]
fn work_to_be_done_comes_after_values() {
    figures(&[
        (
            "Run the load test for 20 minutes on both machines.",
            "Run the load test for 20 minutes on both machines",
            2,
        ),
        (
            "Set the load test to 20 minutes.",
            "Set the load test to 20 minutes",
            0,
        ),
    ]);
}

#[test]
fn a_decision_is_told_with_its_reason_and_no_remark() {
    let cases = [
        (
            "ok, we spoke on the phone, let's use sqlite because it is one file, so that is settled",
            "let's use sqlite because it is one file",
            0,
        ),
        (
            "I asked around, we take sqlite: it is one file, and that is enough for me.",
            "we take sqlite: it is one file",
            0,
        ),
        (
            "The copy is written instead of moved because of the disk",
            "The copy is written instead of moved because of the disk",
            2,
        ),
        (
            "Rejected: We rejected mmap, the disk is remote",
            "Rejected: We rejected mmap, the disk is remote",
            0,
        ),
    ];
    for (said, text, rank) in cases {
        let brief = decision(said);
        assert_eq!((brief.text.as_str(), brief.rank), (text, rank), "{said}");
    }
}

#[test]
fn a_long_decision_is_cut_and_waits() {
    let said = format!(
        "We take sqlite because {}",
        "it is one file and ".repeat(20)
    );
    let brief = decision(&said);
    assert!(brief.text.ends_with('…') && brief.text.chars().count() <= super::LONGEST + 1);
    assert_eq!(brief.rank, 1);
}

#[test]
fn a_step_keeps_its_condition_but_not_its_delay() {
    let cases = [
        (
            "once you're done, rename the crate too",
            "rename the crate too",
        ),
        ("still to do: rename the crate", "rename the crate"),
        (
            "when the tests fail, revert the rename",
            "when the tests fail, revert the rename",
        ),
    ];
    for (said, text) in cases {
        assert_eq!(step(said).text, text);
    }
}

#[test]
fn what_is_short_or_odd_stays() {
    for text in ["", "ok", "好", ", , ,", "5 s", "and: "] {
        let _ = (decision(text), step(text));
        assert!(text.contains(figure(text).text.as_str()), "{text}");
    }
}
