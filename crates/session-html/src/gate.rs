//! Filters every text of a session before it is shown: removes keys, private spans and text that steers a reader, and
//! limits its length.

use std::cell::Cell;

use anstream::adapter::strip_str;
use session_model::Clean;
use session_model::text::{clean_lines, first_line};
use session_model::{is_excluded, without_private};

/// The text that replaces a message with a marker that excludes it.
const EXCLUDED: &str = "[left out: a marker in this message excludes it]";

/// The limits of one entry, in bytes: the first of these with which all entries together fit [`BUDGET`].
const CAPS: [usize; 6] = [256 * 1024, 64 * 1024, 16 * 1024, 4 * 1024, 1024, 256];

/// The limit of all entries together, in bytes.
const BUDGET: usize = 24 * 1024 * 1024;

/// The limit of all images together, and of each, in bytes of base64.
const IMAGES: usize = 8 * 1024 * 1024;
const IMAGE: usize = 2 * 1024 * 1024;

/// The kinds of images that a page shows.
const SHOWN_IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The state of the filter, with what was left out so far.
pub(crate) struct Gate<'a> {
    clean: Option<Clean<'a>>,
    /// The limit of one entry, in bytes.
    pub cap: usize,
    left_out: Cell<u64>,
    images: Cell<usize>,
}

impl<'a> Gate<'a> {
    /// Returns the gate of a session whose entries have these sizes, in bytes.
    pub fn new(clean: Option<Clean<'a>>, sizes: &[usize]) -> Self {
        let fits = |cap: &usize| sizes.iter().map(|size| *size.min(cap)).sum::<usize>() <= BUDGET;
        let cap = CAPS.into_iter().find(fits);
        Self {
            clean,
            cap: cap.unwrap_or(CAPS[CAPS.len() - 1]),
            left_out: Cell::new(0),
            images: Cell::new(IMAGES),
        }
    }

    /// Returns how many bytes of texts and images were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out.get()
    }

    /// Returns all of a text that may be shown.
    pub fn whole(&self, text: &str) -> String {
        if is_excluded(text) {
            return EXCLUDED.to_owned();
        }
        let text = strip_str(text).to_string();
        let text = match self.clean {
            Some(clean) => clean(&text),
            None => text,
        };
        clean_lines(&without_private(&text))
    }

    /// Returns the first line of what may be shown, cut to `width` characters.
    pub fn line(&self, text: &str, width: usize) -> String {
        first_line(&self.whole(text), width)
    }

    /// Returns what may be shown of a text, as much of it as `room` allows, and takes that from `room`.
    pub fn cut(&self, text: &str, room: &mut usize) -> String {
        let text = self.whole(text);
        if text.len() <= *room {
            *room -= text.len();
            return text;
        }
        // The end of a long text shows its outcome.
        let head = text.floor_char_boundary(*room * 2 / 3);
        let tail = text.ceil_char_boundary(text.len() - *room / 3).max(head);
        *room = 0;
        let gone = tail - head;
        self.left_out.set(self.left_out.get() + gone as u64);
        format!(
            "{}\n\u{2026} {} not shown \u{2026}\n{}",
            &text[..head],
            bytes(gone as u64),
            &text[tail..]
        )
    }

    /// Returns true if an image is shown: a page does not grow without bound, and one that is shown twice counts twice.
    pub fn shows_image(&self, mime_type: &str, data: &str) -> bool {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let left = self.images.get();
        let fits = data.len() <= IMAGE.min(left);
        let shown = fits && SHOWN_IMAGES.contains(&mime_type) && data.bytes().all(is_base64);
        match shown {
            true => self.images.set(left - data.len()),
            false => self.left_out.set(self.left_out.get() + data.len() as u64),
        }
        shown
    }
}

/// Returns a number of bytes as people read it.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1000 => format!("{count} bytes"),
        1000..1_000_000 => format!("{} kB", count.div_ceil(1000)),
        _ => format!("{:.1} MB", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPS, Gate, bytes};

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let gate = Gate::new(None, &[]);
        let mut room = 9;
        assert_eq!(
            gate.cut("abcdefghijklmnopqrstu", &mut room),
            "abcdef\n\u{2026} 12 bytes not shown \u{2026}\nstu"
        );
        assert_eq!((room, gate.left_out()), (0, 12));
        let mut room = 9;
        assert_eq!(gate.cut("\u{1b}[31mred\u{1b}[0m", &mut room), "red");
        assert_eq!(room, 6);
    }

    #[test]
    fn the_cap_falls_with_the_size_of_the_session() {
        assert_eq!(Gate::new(None, &[1000; 10]).cap, CAPS[0]);
        assert_eq!(Gate::new(None, &[1_000_000; 160]).cap, CAPS[1]);
        assert_eq!(Gate::new(None, &[1_000_000; 100_000]).cap, 256);
    }

    #[test]
    fn keys_and_private_spans_leave_before_a_text_is_cut() {
        let clean = |text: &str| text.replace("sk-12345678", "[secret removed]");
        let gate = Gate::new(Some(&clean), &[]);
        let mut room = 60;
        let shown = gate.cut("a sk-12345678 b <private>c</private> \u{202e}d", &mut room);
        assert_eq!(shown, "a [secret removed] b [private]  d");
        assert_eq!(
            gate.line("<EPISODIC-MEMORY-EXCLUDE/> x", 99),
            super::EXCLUDED
        );
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1001), "2 kB");
        assert_eq!(bytes(2_340_000), "2.3 MB");
    }
}
