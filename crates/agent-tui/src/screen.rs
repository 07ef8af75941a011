//! The terminal: a viewport at the end of the scrollback, and the whole screen for large views.

use std::cell::Cell;
use std::io::{self, Stdout, Write, stdout};
use std::rc::Rc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell as ScreenCell;
use ratatui::layout::{Position, Size};
use ratatui::text::Line;
use ratatui::widgets::Widget;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::state::State;
use crate::view::{height, view};

/// The most lines that are inserted above the viewport in one step.
const LINES: usize = 200;

/// Where the cursor is, as far as that is known without asking the terminal.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    at: Position,
    /// The terminal may have moved it.
    is_stale: bool,
}

/// A terminal that knows where it has put its cursor, so that the terminal need not be asked each time.
struct Tracked {
    inner: CrosstermBackend<Stdout>,
    cursor: Rc<Cell<Cursor>>,
}

impl Tracked {
    fn moved(&self, at: Position) {
        let is_stale = false;
        self.cursor.set(Cursor { at, is_stale });
    }
}

impl Backend for Tracked {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a ScreenCell)>,
    {
        self.inner.draw(content)
    }

    fn append_lines(&mut self, count: u16) -> io::Result<()> {
        self.inner.append_lines(count)?;
        let at = self.cursor.get().at;
        let last = self.size()?.height.saturating_sub(1);
        self.moved(Position::new(0, at.y.saturating_add(count).min(last)));
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        let known = self.cursor.get();
        if !known.is_stale {
            return Ok(known.at);
        }
        // A terminal that does not answer has probably not moved it.
        let at = self.inner.get_cursor_position().unwrap_or(known.at);
        self.moved(at);
        Ok(at)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let at = position.into();
        self.moved(at);
        self.inner.set_cursor_position(at)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}

/// The terminal of a running session. It is as before once this is dropped.
pub struct Screen {
    cursor: Rc<Cell<Cursor>>,
    inline: Terminal<Tracked>,
    height: u16,
    size: Size,
    /// The terminal had another size since the last frame, and may have moved what it shows.
    is_moved: bool,
    /// How many rows the cursor is below the top of the viewport.
    offset: u16,
    full: Option<Terminal<Tracked>>,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub fn open() -> io::Result<Self> {
        restore_on_panic();
        let opened = take_over().and_then(|(cursor, size)| {
            Ok(Self {
                inline: terminal(&cursor, Viewport::Inline(1))?,
                cursor,
                height: 1,
                size,
                is_moved: false,
                offset: 0,
                full: None,
            })
        });
        if opened.is_err() {
            restore();
        }
        opened
    }

    /// Gives the terminal back for a while, with what is finished printed and the viewport removed.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub fn leave(&mut self, state: &mut State) -> io::Result<()> {
        self.finish(state)?;
        restore();
        Ok(())
    }

    /// Takes the terminal over again; returns its size.
    ///
    /// # Errors
    /// The terminal cannot be read or written.
    pub fn come_back(&mut self) -> io::Result<Size> {
        let (cursor, size) = take_over()?;
        self.inline = terminal(&cursor, Viewport::Inline(1))?;
        self.cursor = cursor;
        self.size = size;
        self.is_moved = false;
        self.height = 1;
        self.offset = 0;
        Ok(size)
    }

    /// Takes note that the terminal has another size.
    pub const fn resized(&mut self) {
        self.is_moved = true;
    }

    /// Shows the state.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub fn draw(&mut self, state: &mut State) -> io::Result<()> {
        queue!(stdout(), BeginSynchronizedUpdate)?;
        let drawn = self.draw_now(state);
        queue!(stdout(), EndSynchronizedUpdate)?;
        stdout().flush()?;
        drawn
    }

    fn draw_now(&mut self, state: &mut State) -> io::Result<()> {
        // Of sizes that follow each other quickly, terminals do not report each.
        state.setup.size = self.inline.size()?;
        if state.is_full_screen() {
            let full = match &mut self.full {
                Some(full) => full,
                None => {
                    execute!(stdout(), EnterAlternateScreen, cursor::Hide)?;
                    IS_FULL.store(true, Ordering::Relaxed);
                    let cursor = Rc::new(Cell::new(self.cursor.get()));
                    let full = terminal(&cursor, Viewport::Fullscreen)?;
                    self.full.insert(full)
                }
            };
            full.draw(|frame| view(state, frame))?;
            return Ok(());
        }
        self.leave_full()?;
        let wanted = height(state);
        // The size can be read before the terminal says that it has changed, and can be what it was two changes ago.
        if self.is_moved || self.inline.size()? != self.size {
            self.follow_size(wanted)?;
        } else if wanted != self.height {
            self.clear()?;
            self.inline = terminal(&self.cursor, Viewport::Inline(wanted))?;
            self.height = wanted;
        }
        for lines in state.take_unprinted().chunks(LINES) {
            insert(&mut self.inline, lines)?;
        }
        self.inline.draw(|frame| view(state, frame))?;
        let top = self.inline.get_frame().area().y;
        self.offset = self.cursor.get().at.y.saturating_sub(top);
        Ok(())
    }

    /// Begins again where the viewport is in a terminal of another size; what is above it stays as it is.
    fn follow_size(&mut self, wanted: u16) -> io::Result<()> {
        let known = self.cursor.get();
        self.cursor.set(Cursor {
            is_stale: true,
            ..known
        });
        let backend = self.inline.backend_mut();
        let at = backend.get_cursor_position()?;
        let top = at.y.saturating_sub(self.offset);
        backend.set_cursor_position(Position::new(0, top))?;
        backend.clear_region(ClearType::AfterCursor)?;
        self.size = backend.size()?;
        self.is_moved = false;
        self.inline = terminal(&self.cursor, Viewport::Inline(wanted))?;
        self.height = wanted;
        Ok(())
    }

    /// Removes the viewport; the cursor is where it began.
    fn clear(&mut self) -> io::Result<()> {
        let top = self.inline.get_frame().area().y;
        self.inline.clear()?;
        self.inline.set_cursor_position(Position::new(0, top))
    }

    fn leave_full(&mut self) -> io::Result<()> {
        if self.full.take().is_some() {
            execute!(stdout(), LeaveAlternateScreen)?;
            IS_FULL.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Prints what is finished and removes the viewport.
    fn finish(&mut self, state: &mut State) -> io::Result<()> {
        self.leave_full()?;
        for lines in state.take_unprinted().chunks(LINES) {
            insert(&mut self.inline, lines)?;
        }
        self.clear()
    }

    /// Prints what is finished, removes the viewport and gives the terminal back.
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub fn close(mut self, state: &mut State) -> io::Result<()> {
        self.finish(state)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether the terminal is taken over, and whether a view takes the whole screen.
static IS_OPEN: AtomicBool = AtomicBool::new(false);
static IS_FULL: AtomicBool = AtomicBool::new(false);

/// Takes the terminal over; returns its cursor and its size.
fn take_over() -> io::Result<(Rc<Cell<Cursor>>, Size)> {
    enable_raw_mode()?;
    IS_OPEN.store(true, Ordering::Relaxed);
    execute!(stdout(), EnableBracketedPaste)?;
    let (columns, rows) = crossterm::terminal::size()?;
    let bottom = Position::new(0, rows.saturating_sub(1));
    let at = cursor::position().map_or(bottom, |(_, y)| Position::new(0, y));
    let is_stale = false;
    let cursor = Rc::new(Cell::new(Cursor { at, is_stale }));
    Ok((cursor, Size::new(columns, rows)))
}

/// Gives the terminal back as it was, where it is taken over: for whoever ends the program.
pub fn restore() {
    if !IS_OPEN.swap(false, Ordering::Relaxed) {
        return;
    }
    // Whoever ends it cannot do more about a terminal that is gone.
    if IS_FULL.swap(false, Ordering::Relaxed) {
        let _ = execute!(stdout(), LeaveAlternateScreen);
    }
    let _ = execute!(stdout(), DisableBracketedPaste, cursor::Show);
    let _ = disable_raw_mode();
}

/// Lets a panic of this thread, which ends the program, be read on a terminal that is as it was.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    let thread = std::thread::current().id();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == thread {
                restore();
            }
            before(panic);
        }));
    });
}

fn terminal(cursor: &Rc<Cell<Cursor>>, viewport: Viewport) -> io::Result<Terminal<Tracked>> {
    let backend = Tracked {
        inner: CrosstermBackend::new(stdout()),
        cursor: cursor.clone(),
    };
    Terminal::with_options(backend, TerminalOptions { viewport })
}

fn insert(terminal: &mut Terminal<Tracked>, lines: &[Line<'static>]) -> io::Result<()> {
    let count = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    terminal.insert_before(count, |buffer| {
        for (row, line) in buffer.area.rows().zip(lines) {
            line.render(row, buffer);
        }
    })
}
