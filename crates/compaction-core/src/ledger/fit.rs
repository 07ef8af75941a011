//! What of a ledger fits: each kind its share first, then whatever room is left, the most important kind first.

use std::collections::BTreeMap;

use session_model::EntryId;

use crate::ledger::detail::{CLOSING, Detail};
use crate::ledger::lines::{HEADING, around_pins, bare, block, message, pin_cost};
use crate::ledger::{Ledger, LedgerBlock, LedgerBudget, LedgerItem, LedgerKind, Shares};
use crate::prompts::{self, LedgerParts};
use crate::serialize::escape;
use session_model::tokens::{TokenCount, TokenCounter};

/// The kinds in the order in which they get room, each with its share of the budget in percent: what is short and must
/// be known before what is long.
pub(super) const ORDER: [(LedgerKind, u64); 10] = [
    (LedgerKind::Rule, 40),
    (LedgerKind::File, 20),
    (LedgerKind::Failure, 26),
    (LedgerKind::NextStep, 16),
    (LedgerKind::Todo, 5),
    (LedgerKind::Decision, 22),
    (LedgerKind::Figure, 20),
    (LedgerKind::FirstMessage, 25),
    (LedgerKind::LatestMessage, 20),
    (LedgerKind::Message, 10),
];
/// The most of the budget that one message between the first and the latest takes, in percent.
pub(super) const MESSAGE_SHARE: u64 = 12;
/// What is longer waits until all that is short has room, where that is scarce.
const LONG: TokenCount = TokenCount(44);
/// The same of a failure: a command and what went wrong.
const LONG_FAILURE: TokenCount = TokenCount(64);
/// The least room that is worth cutting a text for.
pub(super) const WORTH: TokenCount = TokenCount(48);

impl Ledger {
    /// Returns what of it fits. What does not is counted, and the block names entries worth reading.
    pub fn fit(&self, budget: LedgerBudget, counter: &dyn TokenCounter) -> LedgerBlock {
        self.fit_as(Shares::Each, budget, counter)
    }

    /// Does the same with other shares.
    pub(crate) fn fit_as(
        &self,
        shares: Shares,
        budget: LedgerBudget,
        counter: &dyn TokenCounter,
    ) -> LedgerBlock {
        if budget.ledger == TokenCount::ZERO && !self.has(LedgerKind::Pin) {
            return LedgerBlock {
                changed: self.changed.clone(),
                ..LedgerBlock::default()
            };
        }
        let mut fitting = Fitting::new(self, budget, counter);
        fitting.shares = shares;
        fitting.pins();
        if budget.ledger > TokenCount::ZERO {
            fitting.choose();
        }
        fitting.block()
    }

    fn has(&self, kind: LedgerKind) -> bool {
        self.items.iter().any(|item| item.kind == kind)
    }
}

/// How an item stands in the block.
pub(super) enum Form {
    /// As this text.
    Shown(String),
    /// Inside a message or a pin that is there whole.
    Inside,
}

/// Returns which pins of these costs, in the order in which they get room, fit into `room`.
pub(super) fn fitting(costs: &[TokenCount], room: TokenCount) -> Vec<bool> {
    let all: TokenCount = costs.iter().copied().sum();
    let mut left = match all > room {
        // Those without room are named.
        true => room.saturating_sub(CLOSING),
        false => room,
    };
    let mut fits = |cost: &TokenCount| {
        let fits = *cost <= left;
        if fits {
            left = left.saturating_sub(*cost);
        }
        fits
    };
    costs.iter().map(&mut fits).collect()
}

pub(super) struct Fitting<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) budget: LedgerBudget,
    pub(super) counter: &'a dyn TokenCounter,
    /// The places of each kind's items, most important first.
    pub(super) of_kind: BTreeMap<LedgerKind, Vec<usize>>,
    pub(super) forms: BTreeMap<usize, Form>,
    /// In the order in which they were chosen.
    pub(super) chosen: Vec<usize>,
    pub(super) used: BTreeMap<LedgerKind, TokenCount>,
    pub(super) room: TokenCount,
    pub(super) whole: Vec<usize>,
    pub(super) pins_left: Vec<EntryId>,
    pub(super) pin_tokens: TokenCount,
    pub(super) detail: Detail,
    pub(super) shares: Shares,
    /// Whether messages of one line come with their entries.
    pub(super) ids: bool,
    /// True as long as what is long waits.
    pub(super) short_only: bool,
    /// How many bytes of an entry's text are listed as facts.
    pub(super) told: BTreeMap<EntryId, usize>,
}

impl<'a> Fitting<'a> {
    fn new(ledger: &'a Ledger, budget: LedgerBudget, counter: &'a dyn TokenCounter) -> Self {
        let mut of_kind: BTreeMap<LedgerKind, Vec<usize>> = BTreeMap::new();
        for (place, item) in ledger.items.iter().enumerate() {
            of_kind.entry(item.kind).or_default().push(place);
        }
        let frame = counter.text(&block(&LedgerParts {
            lead: prompts::ledger_lead(),
            ..LedgerParts::default()
        }));
        Self {
            ledger,
            budget,
            counter,
            of_kind,
            forms: BTreeMap::new(),
            chosen: Vec::new(),
            used: BTreeMap::new(),
            room: budget.ledger.saturating_sub(frame),
            whole: Vec::new(),
            pins_left: Vec::new(),
            pin_tokens: TokenCount::ZERO,
            detail: Detail::Full,
            shares: Shares::Each,
            ids: true,
            short_only: false,
            told: BTreeMap::new(),
        }
    }

    pub(super) fn places(&self, kind: LedgerKind) -> Vec<usize> {
        self.of_kind.get(&kind).cloned().unwrap_or_default()
    }

    /// Takes the newest pins that fit their own budget.
    fn pins(&mut self) {
        let places = self.places(LedgerKind::Pin);
        // What adds pins counts the frame too, which they may have to pay for alone.
        let around = match self.budget.ledger {
            TokenCount::ZERO => around_pins(self.counter),
            _ => HEADING,
        };
        let all = places.iter().map(|place| &self.ledger.items[*place]);
        let costs = all.map(|item| pin_cost(&item.entry_id, &item.text, self.counter));
        let costs: Vec<TokenCount> = costs.collect();
        let fit = fitting(&costs, self.budget.pins.saturating_sub(around));
        for ((place, cost), fits) in places.into_iter().zip(costs).zip(fit) {
            let item = &self.ledger.items[place];
            let shown = message(&item.entry_id, &item.text);
            if !fits {
                self.pins_left.push(item.entry_id.clone());
                continue;
            }
            self.pin_tokens += cost;
            self.forms.insert(place, Form::Shown(shown));
            self.whole.push(place);
        }
        self.pins_left.reverse();
        if self.pin_tokens > TokenCount::ZERO {
            self.pin_tokens += HEADING;
        }
    }

    pub(super) fn cost(&self, shown: &str) -> TokenCount {
        self.counter.text(shown) + TokenCount(1)
    }

    /// Returns the places of a kind's items, those that the ledger before listed first: what was in context stays so.
    fn by_rank(&self, kind: LedgerKind) -> Vec<usize> {
        let mut places = self.places(kind);
        if kind == LedgerKind::Message {
            // Plain requests come last.
            let lasts = |place: &usize| {
                let id = &self.ledger.items[*place].entry_id;
                self.ledger.lasting.contains(id)
            };
            places.sort_by_key(|place| !lasts(place));
        }
        if !matches!(kind, LedgerKind::Pin | LedgerKind::File) && !kind.is_message() {
            places.sort_by_key(|place| {
                let item = &self.ledger.items[*place];
                let rank = self.ledger.ranks.get(&item.text).copied();
                (!self.is_listed(item), rank.unwrap_or_default())
            });
        }
        places
    }

    /// Returns whether the ledger before listed it.
    fn is_listed(&self, item: &LedgerItem) -> bool {
        let key = (item.kind, item.entry_id.clone());
        self.ledger.listed.contains(&key)
    }

    /// Returns an item in its short form.
    pub(super) fn brief(&self, item: &'a LedgerItem) -> &'a str {
        self.ledger.brief.get(&item.text).unwrap_or(&item.text)
    }

    fn choose(&mut self) {
        if self.shares == Shares::Each {
            self.take_messages();
        }
        self.detail = match (self.detail(), self.shares) {
            (Detail::Full, Shares::NextToLog) => Detail::Paths,
            (detail, _) => detail,
        };
        // What a message that is shown in full contains is not repeated.
        for (kind, share) in ORDER {
            if self.shares == Shares::Each
                && matches!(kind, LedgerKind::FirstMessage | LedgerKind::LatestMessage)
            {
                let share = match self.detail {
                    Detail::Full | Detail::Paths => share,
                    Detail::Bare => share / 2,
                };
                self.take_whole(kind, self.budget.ledger.scaled(share, 100));
            }
        }
        let all = ORDER.map(|(kind, _)| self.places(kind).len());
        if self.detail == Detail::Bare {
            let (long, short) = (prompts::ledger_lead(), prompts::ledger_lead_brief());
            let saved = self.counter.text(&long);
            self.room += saved.saturating_sub(self.counter.text(&short));
        }
        if all.iter().sum::<usize>() > self.forms.len() {
            self.room = self.room.saturating_sub(self.closing());
        }
        match self.shares {
            Shares::Each => {}
            Shares::RulesFirst => self.take_kind(LedgerKind::Rule, self.budget.ledger),
            Shares::NextToLog => {
                for kind in [LedgerKind::Rule, LedgerKind::Todo] {
                    self.take_kind(kind, self.budget.ledger);
                }
            }
            Shares::RulesAlone => {
                self.take_kind(LedgerKind::Rule, self.budget.ledger);
                return;
            }
        }
        if self.detail == Detail::Bare {
            // All that is short before anything that is long.
            self.short_only = true;
            for (kind, share) in self.order() {
                self.take_kind(kind, self.budget.ledger.scaled(share, 100));
            }
            for (kind, _) in self.order() {
                self.take_kind(kind, self.budget.ledger);
            }
            self.short_only = false;
        }
        // A rule or a todo that was in context stays there, whatever share the others have.
        for kind in [LedgerKind::Rule, LedgerKind::Todo] {
            let listed = |place: &usize| self.is_listed(&self.ledger.items[*place]);
            let places = self.places(kind).into_iter().filter(listed);
            let places: Vec<usize> = places.collect();
            self.take(kind, places, self.budget.ledger);
        }
        for (kind, share) in self.order() {
            // Where there is room for all facts, no message takes it.
            let share = match self.detail == Detail::Bare || kind.is_message() {
                true => share,
                false => 100,
            };
            self.take_kind(kind, self.budget.ledger.scaled(share, 100));
        }
        for (kind, _) in self.order() {
            self.take_kind(kind, self.budget.ledger);
        }
        if self.detail == Detail::Bare {
            self.fill();
        }
        self.tell_further();
        for (kind, _) in self.order() {
            if kind.is_message() {
                self.widen(kind);
            }
        }
    }

    /// Takes what fits into the room that the estimates of pieces left over, where that is scarce.
    fn fill(&mut self) {
        let limit = self.budget.ledger + self.pin_tokens;
        let taken = self.counter.text(&block(&self.parts()));
        self.room = limit.saturating_sub(taken);
        self.short_only = true;
        for (kind, _) in self.order() {
            if !kind.is_message() {
                self.take_kind(kind, self.budget.ledger);
            }
        }
        self.short_only = false;
    }

    /// Tells the messages of a kind whole that were cut by a share of which others left room.
    fn widen(&mut self, kind: LedgerKind) {
        for place in self.places(kind) {
            let item = &self.ledger.items[place];
            let Some(Form::Shown(shown)) = self.forms.get(&place) else {
                continue;
            };
            if shown.contains(&escape(&item.text)) {
                continue;
            }
            let before = self.cost(shown);
            let left = self.room + before;
            // No token is longer than sixteen bytes or so.
            if u64::try_from(item.text.len()).unwrap_or(u64::MAX) > left.0.saturating_mul(16) {
                continue;
            }
            let whole = self.message(item) + self.since(item);
            let cost = self.cost(&whole);
            if cost <= left {
                self.room = left.saturating_sub(cost);
                self.forms.insert(place, Form::Shown(whole));
                self.whole.push(place);
            }
        }
    }

    /// Returns a message as it stands in the block. Where all of it is there, nothing is to be looked up.
    pub(super) fn message(&self, item: &LedgerItem) -> String {
        match self.ids || item.kind != LedgerKind::Message || item.text.contains(char::is_control) {
            true => message(&item.entry_id, &item.text),
            false => bare(&item.text),
        }
    }

    /// Returns what is said behind a message.
    pub(super) fn since(&self, item: &LedgerItem) -> &'a str {
        let since = self.ledger.remarks.get(&item.entry_id);
        since.map(String::as_str).unwrap_or_default()
    }

    /// Takes the messages of a kind that need no cut to fit into `share`.
    fn take_whole(&mut self, kind: LedgerKind, share: TokenCount) {
        let places = self.places(kind).into_iter();
        let whole = places.map(|place| &self.ledger.items[place]);
        let bytes = |item: &LedgerItem| u64::try_from(item.text.len()).unwrap_or(u64::MAX);
        let mut whole = whole.filter(|item| bytes(item) <= share.0.saturating_mul(16));
        let left = self.room.min(share).saturating_sub(self.heading());
        if whole.any(|item| self.cost(&self.message(item)) <= left) {
            self.take_kind(kind, share);
        }
    }

    /// Takes items of a kind as long as it does not exceed `share`.
    pub(super) fn take_kind(&mut self, kind: LedgerKind, share: TokenCount) {
        self.take(kind, self.by_rank(kind), share);
    }

    /// Takes these items of a kind as long as it does not exceed `share`.
    fn take(&mut self, kind: LedgerKind, places: Vec<usize>, share: TokenCount) {
        for place in places {
            if self.forms.contains_key(&place) {
                continue;
            }
            if self.room == TokenCount::ZERO {
                return;
            }
            let item = &self.ledger.items[place];
            if self.is_inside(item) {
                self.forms.insert(place, Form::Inside);
                continue;
            }
            let used = self.used.get(&kind).copied().unwrap_or_default();
            let heading = match used {
                TokenCount::ZERO => self.heading(),
                _ => TokenCount::ZERO,
            };
            let left = self.room.min(share.saturating_sub(used));
            let left = left.saturating_sub(heading);
            let left = match (self.short_only, kind) {
                (false, _) => left,
                (true, LedgerKind::Failure) => left.min(LONG_FAILURE),
                (true, _) => left.min(LONG),
            };
            let Some(shown) = self.shown(item, left) else {
                continue;
            };
            let cost = self.cost(&shown);
            if cost > left {
                continue;
            }
            if matches!(kind, LedgerKind::FirstMessage | LedgerKind::LatestMessage)
                && shown.contains(&escape(&item.text))
            {
                self.whole.push(place);
            }
            self.room = self.room.saturating_sub(cost + heading);
            self.used.insert(kind, used + cost + heading);
            if !kind.is_message() {
                *self.told.entry(item.entry_id.clone()).or_default() += item.text.len();
            }
            self.forms.insert(place, Form::Shown(shown));
            self.chosen.push(place);
        }
    }
}
