//! The comparison as one page for a browser, without anything from elsewhere.

use super::Row;
use super::table::lines;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}\
table{border-collapse:collapse}th,td{padding:.3rem .9rem;text-align:left;border-bottom:1px solid #ddd}\
td{font-variant-numeric:tabular-nums}tr:hover td{background:#f6f6f6}p{color:#666}\
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}th,td{border-color:#333}tr:hover td{background:#222}}";

/// Returns the page.
pub(super) fn page(session: &str, rows: &[Row]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Compaction compared</title>\
         <style>{STYLE}</style></head><body>\n<h1>Compaction compared</h1>\n<p>{}</p>\n<table>\n<tr><th></th>",
        escaped(session)
    );
    for row in rows {
        page.push_str(&format!("<th>{}</th>", escaped(row.strategy)));
    }
    page.push_str("</tr>\n");
    for line in lines(rows) {
        page.push_str(&format!("<tr><th>{}</th>", escaped(line.name)));
        for cell in &line.cells {
            page.push_str(&format!("<td>{}</td>", escaped(cell)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
    for row in rows {
        if let Some(remark) = row.remark() {
            page.push_str(&format!("<p>{}</p>\n", escaped(&remark)));
        }
    }
    page.push_str(
        "<p>Shares are of what would leave the context: what can still be read verbatim. The session was not changed.</p>\n</body></html>",
    );
    page
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in crate::ui::clean(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            plain => escaped.push(plain),
        }
    }
    escaped
}
