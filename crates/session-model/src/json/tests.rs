//! Facts about JavaScript's JSON spelling and about repair, each taken from a Node run.

use super::{
    canonical, canonical_utf16_len, repaired_bytes, utf16_len, utf16_prefix, utf16_suffix,
};

#[test]
fn canonical_text_is_javascripts() {
    let cases = [
        (r#"{ "a" : 1.0, "b":1e3 }"#, r#"{"a":1,"b":1000}"#),
        (r#"[1E21,-0,0.1e-7,-0.0]"#, "[1e+21,0,1e-8,0]"),
        ("12345678901234567890", "12345678901234567000"),
        ("1e400", "null"),
        (
            r#"{"b":1,"2":2,"10":3,"1":4,"01":5,"b":6}"#,
            r#"{"1":4,"2":2,"10":3,"b":6,"01":5}"#,
        ),
        (r#""\u00e9\/\u001f\u0007\b""#, "\"é/\\u001f\\u0007\\b\""),
        (r#""\ud83d\ude00 \ud83d x""#, "\"😀 \\ud83d x\""),
        (
            r#"[ null , true,false, {} , [] ]"#,
            "[null,true,false,{},[]]",
        ),
    ];
    for (raw, want) in cases {
        assert_eq!(canonical(raw), want, "{raw}");
    }
    assert_eq!(canonical_utf16_len(r#""\ud83d""#), 8);
}

#[test]
fn utf16_lengths_prefixes_and_suffixes_never_split_a_pair() {
    let text = "aé日😀b";
    assert_eq!(utf16_len(text), text.encode_utf16().count());
    for units in 0..8 {
        let prefix = utf16_prefix(text, units);
        assert!(utf16_len(prefix) <= units && utf16_len(prefix) + 1 >= units.min(6));
    }
    assert_eq!(utf16_prefix(text, 4), "aé日");
    for units in 0..8 {
        let suffix = utf16_suffix(text, units);
        assert!(utf16_len(suffix) <= units && utf16_len(suffix) + 1 >= units.min(6));
    }
    assert_eq!(utf16_suffix(text, 4), "日😀b");
}

#[test]
fn repair_touches_only_what_is_broken() {
    let fine = br#"{"a":"\ud83d\ude00 \\ud83d \u00e9"}"#;
    assert_eq!(&*repaired_bytes(fine), fine);
    assert_eq!(
        &*repaired_bytes(br#"["\ud83d","\ude00\ud83d\ude00"]"#),
        br#"["\ufffd","\ufffd\ud83d\ude00"]"#
    );
    assert_eq!(&*repaired_bytes(b"\"a\xFFb\""), "\"a\u{FFFD}b\"".as_bytes());
}
