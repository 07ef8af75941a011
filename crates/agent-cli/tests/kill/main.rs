//! A session that is killed two hundred times: it opens every time, nothing that was told is missing, and it ends as
//! the one that nobody killed.

#![cfg(unix)]

mod check;
mod rng;
mod run;
mod script;

use std::time::{Duration, Instant};

use check::{After, check_after_kill, tear};
use rng::Rng;
use run::{Came, End, Home, Life, Mark, Moment, Phases};

/// How many kills there are, unless the variable `KILLS` says another number.
const KILLS: usize = 200;

/// Over how many whole runs the kills are spread.
const RUNS: usize = 4;

/// The first number that chance is made from, unless the variable `KILL_SEED` says another.
const SEED: u64 = 2026;

/// One kill in so many loses a part of the last line as well, as a machine that stops may.
const TEARS: usize = 8;

#[test]
fn a_session_that_is_killed_at_any_moment_ends_as_the_unbroken_one() {
    let kills = number("KILLS").map_or(KILLS, |kills| kills as usize);
    let seed = number("KILL_SEED").unwrap_or(SEED);
    let started = Instant::now();
    let rng = Rng::new(seed);
    let home = Home::new();
    let unbroken = home.life("unbroken");
    let whole = unbroken.live(true, &Moment::Never);
    assert_eq!(whole.end, End::Itself(Some(0)), "{whole}");
    script::check_course(&whole.events);
    let want = unbroken.outcome();
    assert_eq!(want.answers, script::answers());
    assert_eq!(want.answer, script::LAST_ANSWER);

    let pace = Pace::of(&whole, kills);
    let mut killer = Killer {
        seed,
        rng,
        done: 0,
        phases: Phases::default(),
    };
    let mut lives = 0;
    while killer.done < kills {
        lives += 1;
        let life = home.life("broken");
        let mut after = After::default();
        loop {
            let moment = match killer.done {
                done if done >= kills => Moment::Never,
                done if done % 20 == 0 => {
                    killer.newborn(&home.life("newborn"), &pace);
                    continue;
                }
                done if done % 20 == 10 => {
                    killer.recovering(&home.life("recovering"), &pace);
                    continue;
                }
                done => pace.moment(&mut killer.rng, done),
            };
            let came = killer.kill(&life, &moment, &mut after);
            if came.end != End::Killed {
                let got = life.outcome();
                let told = killer.told(&came);
                assert!(got == want, "another end: {}{told}", got.beside(&want));
                break;
            }
        }
    }
    let phases = killer.phases;
    // Every kind of moment has had its kill where there are enough of them.
    if kills >= KILLS {
        phases.assert_all();
    }
    println!(
        "{kills} kills in {lives} lives of {} answers took {:.1} s (unbroken {:.1} s); {phases}",
        want.answers,
        started.elapsed().as_secs_f64(),
        whole.took.as_secs_f64(),
    );
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Who kills, and keeps count.
struct Killer {
    seed: u64,
    rng: Rng,
    done: usize,
    phases: Phases,
}

impl Killer {
    /// Lets the session live until `moment`, and checks what is left of it when it was killed.
    fn kill(&mut self, life: &Life, moment: &Moment, after: &mut After) -> Came {
        let came = life.live(!after.is_prompt_kept, moment);
        if came.end == End::Killed {
            self.done += 1;
            if let Err(what) = check_after_kill(life, &came, after) {
                panic!("{what}; {}", self.told(&came));
            }
            self.phases.note(life, &came);
            if self.done.is_multiple_of(TEARS) {
                tear(life, after, &mut self.rng);
            }
        }
        came
    }

    /// Kills a session of its own around the birth of its file, and once more when it has gone on.
    fn newborn(&mut self, life: &Life, pace: &Pace) {
        let mut after = After::default();
        let birth = match self.done / 20 % 4 {
            0 => Moment::After(self.rng.part_of(pace.start / 2)),
            count => Moment::Behind(count, self.rng.part_of(script::FIRST_PAUSE * 5 / 4)),
        };
        self.kill(life, &birth, &mut after);
        let soon = Moment::Behind(1 + self.rng.below(12) as usize, self.rng.part_of(pace.step));
        self.kill(life, &soon, &mut after);
    }

    /// Kills a session of its own when it has made room after a failure and is about to ask again.
    fn recovering(&mut self, life: &Life, pace: &Pace) {
        let mut after = After::default();
        for _ in 0..2 {
            let moment = Moment::At(Mark::Recovered, self.rng.part_of(pace.step / 2));
            self.kill(life, &moment, &mut after);
        }
        self.kill(life, &Moment::Behind(12, Duration::ZERO), &mut after);
    }

    fn told(&self, came: &Came) -> String {
        format!("seed {}, kill {}: {came}", self.seed, self.done)
    }
}

/// How fast a life goes, from which moments are drawn that lie everywhere in it.
struct Pace {
    /// From the start to the first event.
    start: Duration,
    /// Between two events.
    step: Duration,
    /// The longest compaction.
    compaction: Duration,
    /// How many events pass before a kill, on average.
    events: u64,
}

impl Pace {
    fn of(whole: &Came, kills: usize) -> Self {
        let events = whole.events.len();
        let lived = whole.took - whole.first;
        Self {
            start: whole.first,
            step: lived / events as u32,
            compaction: whole.longest_compaction(),
            events: (events * RUNS / kills.max(1)).max(2) as u64,
        }
    }

    fn moment(&self, rng: &mut Rng, number: usize) -> Moment {
        match number % 10 {
            5 => Moment::After(rng.part_of(self.start * 3 / 2)),
            3 => Moment::At(Mark::Compacting, rng.part_of(self.compaction)),
            _ => Moment::Behind(
                rng.below(2 * self.events) as usize + 1,
                rng.part_of(self.step * 3),
            ),
        }
    }
}
