//! Which images come back, in which order, and what they cost.

use compaction_core::{ImageOutcome, TokenCount, image_tokens};
use serde_json::json;
use session_model::ImageBlock;

use super::setting::{Compacted, Lines, options};

/// A session with a pasted image and five that tools gave; their data are `P000`, `S100`, `S200`, ...
fn shots() -> Lines {
    let mut lines = Lines::new();
    lines.talk(20_000).pasted("Look at this.", "P000");
    for number in 1..=5 {
        let id = format!("c{number}");
        let arguments = json!({"page":number,"note":"<summary>\u{7}"});
        lines.calls(&[(&id, "screenshot", arguments)]);
        lines.shot(&id, "screenshot", &format!("S{number}00"));
    }
    lines.says("Done.");
    lines
}

fn shown(after: &Compacted) -> Vec<String> {
    let blocks = after.blocks().into_iter();
    blocks.filter(|block| block.starts_with('<')).collect()
}

#[test]
fn r14_pasted_images_and_those_of_tools_are_found() {
    let mut options = options(Vec::new());
    options.settings.compaction.restore.max_images = 9;
    let after = shots().compacted(&options, "S");
    assert_eq!(
        shown(&after),
        ["<P000>", "<S100>", "<S200>", "<S300>", "<S400>", "<S500>"]
    );
    // Those of parallel calls keep their order as well.
    let mut lines = Lines::new();
    lines
        .talk(20_000)
        .calls(&[("1", "a", json!({})), ("2", "b", json!({}))]);
    lines
        .shot("1", "a", "AAAA")
        .shot("2", "b", "BBBB")
        .says("ok");
    assert_eq!(shown(&lines.compacted(&options, "S")), ["<AAAA>", "<BBBB>"]);
    // So do those of one message.
    let all = several().compacted(&options, "S");
    assert_eq!(
        shown(&all),
        ["<P100>", "<P200>", "<P300>", "<S100>", "<S200>"]
    );
}

/// A session in which a message has three images, and in the next turn a result two.
fn several() -> Lines {
    let image = |data: &str| json!({"type":"image","data":data,"mimeType":"image/png"});
    let mut lines = Lines::new();
    lines.talk(20_000);
    let pasted = json!([image("P100"), image("P200"), image("P300")]);
    lines.message(json!({"role":"user","content":pasted,"timestamp":1}));
    lines
        .says("I see.")
        .user("And now?")
        .calls(&[("1", "shot", json!({}))]);
    lines.message(json!({
        "role":"toolResult","toolCallId":"1","toolName":"shot","isError":false,"timestamp":1,
        "content":[image("S100"), image("S200")],
    }));
    lines.says("ok");
    lines
}

#[test]
fn r15_the_limit_parts_the_images_of_a_message_and_turns_are_told_apart() {
    let after = several().compacted(&options(Vec::new()), "S");
    insta::assert_snapshot!(after.blocks()[1..].join("\n"), @"
    Image of turn 2, user-provided:
    <P300>
    Image of turn 3, from the tool shot called with {}:
    <S100>
    Image of turn 3, from the tool shot called with {}:
    <S200>
    ");
}

#[test]
fn r15_the_newest_three_oldest_first_each_with_where_it_comes_from() {
    let after = shots().compacted(&options(Vec::new()), "S");
    insta::assert_snapshot!(after.blocks()[1..].join("\n"), @r#"
    Image of turn 2, from the tool screenshot called with {"note":"&lt;summary>\u0007","page":3}:
    <S300>
    Image of turn 2, from the tool screenshot called with {"note":"&lt;summary>\u0007","page":4}:
    <S400>
    Image of turn 2, from the tool screenshot called with {"note":"&lt;summary>\u0007","page":5}:
    <S500>
    "#);
}

#[test]
fn r15_a_limit_of_0_restores_none() {
    let mut options = options(Vec::new());
    options.settings.compaction.restore.max_images = 0;
    let after = shots().compacted(&options, "S");
    assert_eq!(after.roles(), "user assistant");
    assert_eq!(after.plan.restored.expect("restored").images, []);
}

#[test]
fn r15_pasted_images_are_the_users_and_arguments_are_bounded() {
    let mut lines = Lines::new();
    lines.talk(20_000).pasted("Look.", "P000");
    lines
        .calls(&[("1", "shot", json!({"text":"x".repeat(5000)}))])
        .shot("1", "shot", "S100");
    let after = lines.compacted(&options(Vec::new()), "S");
    assert_eq!(after.blocks()[1], "Image of turn 2, user-provided:");
    assert!(
        after.blocks()[3]
            .starts_with("Image of turn 2, from the tool shot called with {\"text\":\"xxx")
    );
    assert!(after.blocks()[3].len() < 300);
}

#[test]
fn images_that_were_brought_back_come_back_again_with_their_origin() {
    let first = shots().compacted(&options(Vec::new()), "S");
    let mut lines = first.lines.clone();
    lines.talk(20_000).calls(&[("c9", "screenshot", json!({}))]);
    lines.shot("c9", "screenshot", "S900").says("ok");
    let second = lines.compacted(&options(Vec::new()), "S");
    assert_eq!(shown(&second), ["<S400>", "<S500>", "<S900>"]);
    assert_eq!(second.blocks()[3], first.blocks()[5]);
    // Turns are counted on from the compaction before.
    assert!(
        second.blocks()[5].starts_with("Image of turn 3, from"),
        "{:?}",
        second.blocks()
    );
}

/// Returns a PNG of this size in base64, as far as its size goes.
fn png(width: u16, height: u16) -> String {
    let bytes = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0".as_slice(),
        &width.to_be_bytes(),
        &[0, 0],
        &height.to_be_bytes(),
        &[8, 6, 0, 0, 0, 0],
    ]
    .concat();
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks_exact(3).flat_map(|group| {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]))
    });
    groups.collect()
}

#[test]
fn r22_an_image_costs_what_its_pixels_cost() {
    let cost = |data: &str| {
        image_tokens(&ImageBlock {
            data: data.into(),
            mime_type: "image/png".to_owned(),
        })
    };
    assert_eq!(cost(&png(100, 100)), TokenCount(255));
    assert_eq!(cost(&png(1000, 1000)), TokenCount(1334));
    assert_eq!(cost(&png(8000, 8000)), TokenCount(1600));
    // What cannot be measured has a flat figure.
    assert_eq!(cost("AAAA"), TokenCount(1200));
    assert_eq!(cost(&png(0, 9)), TokenCount(1200));
    let tokens = |data: &str| {
        let mut lines = Lines::new();
        lines.talk(20_000).pasted("Look.", data);
        let after = lines.compacted(&options(Vec::new()), "S");
        after.plan.restored.expect("restored").tokens
    };
    assert_eq!(tokens("AAAA").0 - tokens(&png(100, 100)).0, 1200 - 255);
}

#[test]
fn r22_what_is_sent_has_a_bound_in_bytes() {
    let mut lines = Lines::new();
    let large = "A".repeat(5 * 1024 * 1024 + 4);
    lines
        .talk(20_000)
        .pasted("One.", "P100")
        .pasted("Two.", &large);
    let after = lines.compacted(&options(Vec::new()), "S");
    assert_eq!(shown(&after), ["<P100>"]);
    let outcomes = |after: &Compacted| {
        let images = after
            .plan
            .restored
            .as_ref()
            .expect("restored")
            .images
            .iter();
        images.map(|image| image.outcome).collect::<Vec<_>>()
    };
    assert_eq!(
        outcomes(&after),
        [ImageOutcome::Shown, ImageOutcome::TooLarge]
    );
    // All together as well.
    let mut lines = Lines::new();
    lines.talk(20_000);
    for _ in 0..5 {
        lines.pasted("One.", &"A".repeat(5 * 1024 * 1024));
    }
    let mut options = options(Vec::new());
    options.settings.compaction.restore.max_images = 5;
    let after = lines.compacted(&options, "S");
    use ImageOutcome::{Shown, TooLarge};
    assert_eq!(outcomes(&after), [TooLarge, TooLarge, Shown, Shown, Shown]);
}

#[test]
fn an_image_that_cannot_be_sent_takes_no_place() {
    let large = "A".repeat(5 * 1024 * 1024 + 4);
    let mut lines = shots();
    lines.pasted("Large.", &large).pasted("One more.", "P900");
    lines
        .pasted("Larger.", &large)
        .pasted("Nowhere.", "blob:sha256:0a");
    let after = lines.compacted(&options(Vec::new()), "S");
    assert_eq!(shown(&after), ["<S400>", "<S500>", "<P900>"]);
    let images = after.plan.restored.expect("restored").images;
    let outcomes: Vec<_> = images.iter().map(|image| image.outcome).collect();
    use ImageOutcome::{Shown, TooLarge};
    assert_eq!(outcomes, [Shown, Shown, TooLarge, Shown, TooLarge]);
}

#[test]
fn images_over_the_budget_are_reported() {
    let mut options = options(Vec::new());
    options.settings.compaction.restore.total_tokens = TokenCount(2700);
    let after = shots().compacted(&options, "S");
    assert_eq!(shown(&after), ["<S500>"]);
    let restored = after.plan.restored.expect("restored");
    assert!(restored.tokens <= TokenCount(2700));
    let outcomes: Vec<_> = restored.images.iter().map(|image| image.outcome).collect();
    use ImageOutcome::{OverBudget, Shown};
    assert_eq!(outcomes, [OverBudget, OverBudget, Shown]);
}

#[test]
fn a_file_that_was_looked_at_as_an_image_is_no_file_to_read() {
    let paths = |lines: &Lines| -> Vec<String> {
        lines.touched().into_iter().map(|file| file.path).collect()
    };
    let mut lines = Lines::new();
    lines
        .user("go")
        .read("1", "./a.svg", "<svg/>")
        .read("2", "b", "text");
    lines
        .calls(&[("3", "read", json!({"path":"a.svg"}))])
        .shot("3", "read", "AAAA");
    assert_eq!(paths(&lines), ["b"]);
    // As a text again.
    lines.read("4", "a.svg", "<svg/>");
    assert_eq!(paths(&lines), ["a.svg", "b"]);
}

#[test]
fn turns_that_a_file_counts_end_at_the_largest_number() {
    let first = shots().compacted(&options(Vec::new()), "S");
    let mut lines = first.lines.clone();
    assert_eq!(lines.text.matches("\"turns\":2").count(), 1);
    let most = u64::MAX.to_string();
    lines.text = lines
        .text
        .replace("\"turns\":2", &format!("\"turns\":{most}"));
    lines.talk(20_000).calls(&[("c9", "screenshot", json!({}))]);
    lines.shot("c9", "screenshot", "S900").says("ok");
    let second = lines.compacted(&options(Vec::new()), "S");
    let told = format!("Image of turn {most}, from");
    assert!(
        second.blocks()[5].starts_with(&told),
        "{:?}",
        second.blocks()
    );
}
