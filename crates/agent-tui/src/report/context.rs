//! What fills the context window.

use compaction_core::{Profile, TokenCount, measure};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use session_model::text::first_line;
use session_model::{AgentMessage, SessionContext, build_context, without_private};
use session_protocol::Snapshot;
use session_text::context_bar::{Bar, Category, Cell, Shares};
use session_text::{counted, tokens};

use super::Environment;
use crate::gauge::Gauge;
use crate::pager::Pager;
use crate::text::{columns, cut, line};
use crate::theme::Theme;

/// How many of the largest messages are shown.
const LARGEST: usize = 8;

/// What fills a context.
struct Fill {
    context: SessionContext,
    shares: Shares,
    tokens: TokenCount,
    is_billed: bool,
}

impl Fill {
    fn of(session: &Snapshot) -> Self {
        let path = session.tree.path(session.leaf);
        let context = build_context(&path, Profile::Own.context_rules());
        let counter = Profile::Own.counter();
        let measured = measure(&path, &context, Profile::Own);
        let messages = context.messages().map(|(_, message)| &**message);
        let mut shares = Shares::of(messages, counter);
        // What was billed and is no message is the prompt and the tools.
        let rest = measured.tokens.saturating_sub(shares.total());
        shares.add(Category::System, rest);
        Self {
            shares,
            tokens: measured.tokens,
            is_billed: measured.billed.is_some(),
            context,
        }
    }
}

/// Returns the tokens of the prompt and the tools.
pub(super) fn fixed_tokens(session: &Snapshot) -> u64 {
    Fill::of(session).shares.get(Category::System).0
}

/// Returns the page about the context.
pub(super) fn page(session: &Snapshot, environment: &Environment) -> Pager {
    let (width, theme) = (environment.width, environment.theme);
    let fill = Fill::of(session);
    let figures = environment.figures;
    let bar = Bar {
        window: session.window,
        is_assumed: false,
        threshold: figures
            .and_then(|figures| figures.threshold)
            .map(TokenCount),
        goes: Shares::default(),
        stays: fill.shares,
    };
    let left = figures.map(|figures| Gauge { figures, fixed: 0 }.left());
    let size = match fill.is_billed {
        true => format!("{} billed", tokens(fill.tokens)),
        false => format!("~{}", tokens(fill.tokens)),
    };
    let window = match session.window {
        TokenCount::ZERO => "window unknown".to_owned(),
        window => format!("of {} window", tokens(window)),
    };
    let mut lines = vec![
        line(
            format!("{size} {window}   {}", left.unwrap_or_default()),
            theme.bold(),
        ),
        colored(&bar.cells(width), theme),
    ];
    lines.extend(
        bar.legend(width)
            .lines()
            .map(|text| line(text, theme.dim())),
    );
    lines.push(Line::default());
    largest(&fill.context, width, theme, &mut lines);
    if let Some(cache) = cached(&fill.context) {
        lines.push(Line::default());
        lines.push(line(cache, theme.plain()));
    }
    lines.push(Line::default());
    let entries = counted(session.tree.len(), "entry");
    let text = format!("{entries} in the session; what is out of context is found by /recall");
    lines.push(line(cut(&text, width), theme.dim()));
    Pager::new("Context", lines)
}

fn colored(cells: &[Cell], theme: Theme) -> Line<'static> {
    let style_of = |cell: Cell| -> Style {
        match cell {
            Cell::Goes(category) | Cell::Stays(category) => match category {
                Category::System | Category::Summary => theme.code(),
                Category::User => theme.good(),
                Category::Answers | Category::Other => theme.plain(),
                Category::Outputs => theme.warn(),
            },
            Cell::Cut | Cell::Trigger => theme.bad(),
            Cell::Free | Cell::Reserve => theme.dim(),
        }
    };
    let mut spans = vec![Span::raw("[")];
    for run in cells.chunk_by(|one, next| style_of(*one) == style_of(*next)) {
        let letters: String = run.iter().map(|cell| cell.letter()).collect();
        spans.push(Span::styled(letters, style_of(run[0])));
    }
    spans.push(Span::raw("]"));
    Line::from(spans)
}

fn largest(context: &SessionContext, width: usize, theme: Theme, lines: &mut Vec<Line<'static>>) {
    let counter = Profile::Own.counter();
    let mut turn = 0;
    let mut sizes: Vec<(TokenCount, usize, &AgentMessage)> = Vec::new();
    for (_, message) in context.messages() {
        turn += usize::from(matches!(**message, AgentMessage::User(_)));
        sizes.push((counter.message(message), turn, message));
    }
    sizes.sort_by_key(|(size, ..)| std::cmp::Reverse(*size));
    if !sizes.is_empty() {
        lines.push(line("Largest messages", theme.bold()));
    }
    for (size, turn, message) in sizes.into_iter().take(LARGEST) {
        let role = match message {
            AgentMessage::ToolResult(result) => session_model::text::clean(&result.tool_name),
            other => other.role().to_owned(),
        };
        let head = format!(
            "  {:>7}  turn {turn:<4} {:<10} ",
            tokens(size),
            cut(&role, 10)
        );
        let room = width.saturating_sub(columns(&head));
        let text = first_line(&without_private(&message.display_text()), usize::MAX);
        lines.push(line(format!("{head}{}", cut(&text, room)), theme.plain()));
    }
}

/// Returns how much of the newest request came from the cache.
fn cached(context: &SessionContext) -> Option<String> {
    let mut usages = context
        .messages()
        .filter_map(|(_, message)| match &**message {
            AgentMessage::Assistant(answer) => answer.usage,
            _ => None,
        });
    let usage = usages.next_back()?;
    let prompt =
        Some(TokenCount(usage.prompt_tokens())).filter(|prompt| *prompt > TokenCount::ZERO)?;
    let percent = TokenCount(usage.cache_read).percent_of(prompt);
    Some(format!(
        "Cache   {} of {} reused ({percent}%), measured at the last answer",
        tokens(TokenCount(usage.cache_read)),
        tokens(prompt)
    ))
}
