//! Markdown as HTML that runs nothing and loads nothing.

use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd, html};

/// The allowed beginnings of links.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// Returns a Markdown text as HTML. The text may be untrusted: HTML in it is shown as text, images are named and not
/// loaded, and links are restricted to pages.
pub(crate) fn html(source: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // For each open link, true if it is kept.
    let mut links = Vec::new();
    let events = Parser::new_ext(source, options).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let kept = is_safe(dest_url);
            links.push(kept);
            kept.then_some(event)
        }
        Event::End(TagEnd::Link) => links.pop().unwrap_or(false).then_some(event),
        Event::Start(Tag::Image { .. }) => Some(Event::Text("[image: ".into())),
        Event::End(TagEnd::Image) => Some(Event::Text("]".into())),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        // An alignment would be a style, which the policy of the page does not allow.
        Event::Start(Tag::Table(columns)) => {
            let columns = columns.iter().map(|_| Alignment::None).collect();
            Some(Event::Start(Tag::Table(columns)))
        }
        // A line break in the source is shown as one.
        Event::SoftBreak => Some(Event::HardBreak),
        other => Some(other),
    });
    let mut out = String::with_capacity(source.len() * 5 / 4);
    html::push_html(&mut out, events);
    out
}

fn is_safe(target: &str) -> bool {
    let target = target.trim_start().to_ascii_lowercase();
    SCHEMES.iter().any(|scheme| target.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::html;

    #[test]
    fn nothing_in_a_text_runs_or_loads() {
        let source = "a <script>alert(1)</script> ![pic](http://x/y.png) [j](javascript:alert(1)) [k](JaVaScRiPt:x) \
                      [l](data:text/html,x) [ok](https://x/?a=\"b\"&c)\n\n<img src=x onerror=alert(1)>\n";
        assert_snapshot!(html(source), @r#"
        <p>a &lt;script&gt;alert(1)&lt;/script&gt; [image: pic] j k l <a href="https://x/?a=%22b%22&amp;c">ok</a></p>
        <p>&lt;img src=x onerror=alert(1)&gt;
        </p>
        "#);
    }

    #[test]
    fn the_usual_markup_is_there() {
        let source = "# T\n\n- [x] done `a<b`\n- two\n\n```rust\nfn f() -> &str {}\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\none\ntwo ~~x~~";
        assert_snapshot!(html(source), @r#"
        <h1>T</h1>
        <ul>
        <li><input disabled="" type="checkbox" checked=""/>
        done <code>a&lt;b</code></li>
        <li>two</li>
        </ul>
        <pre><code class="language-rust">fn f() -&gt; &amp;str {}
        </code></pre>
        <table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
        <tr><td>1</td><td>2</td></tr>
        </tbody></table>
        <p>one<br />
        two <del>x</del></p>
        "#);
    }
}
