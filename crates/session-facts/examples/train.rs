//! Learns what tells what a sentence does, from the labelled sentences in `training/`, and writes `data/acts.tsv`:
//! `cargo run --release -p session-facts --example train`.
//!
//! One logistic regression an act, by FTRL-Proximal (McMahan et al. 2013), which leaves most weights at zero. How sure is
//! sure enough is set for each act and speaker where the sentences of a part that was left out of learning are told best;
//! the table that it prints says how well.

#![expect(
    clippy::disallowed_methods,
    reason = "reads the sentences and writes the weights"
)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{fs, thread};

use session_facts::training::{Act, Speaker, features};

/// Into how many parts the messages are cut to be left out in turn, and how many that follow each other stay together.
const PARTS: usize = 6;
const TOGETHER: usize = 12;
/// How often all sentences are gone through.
const ROUNDS: usize = 10;
/// How fast weights move, and what keeps them at zero and small.
const RATE: f32 = 0.15;
const TO_ZERO: f32 = 10.0;
const TO_SMALL: f32 = 1.0;
/// In how many sentences a feature has to be, and the least weight that is kept.
const SEEN: u32 = 2;
const LEAST: f32 = 0.1;
/// So unlikely that it is never said, such as an offer of the user.
const NEVER: i32 = -9999;
/// Labels that are not learned: nothing asks for them.
const OTHER: [&str; 2] = ["told", "value"];
/// What stands for all sentences of a speaker.
const ANY: [(Speaker, &str); 2] = [(Speaker::User, "u:<any>"), (Speaker::Agent, "a:<any>")];

/// A labelled sentence.
struct Sentence {
    /// The part that it is of.
    part: usize,
    speaker: Speaker,
    features: Vec<u32>,
    /// What it does, by names.
    acts: Vec<String>,
}

/// All sentences, and the spelling of features by their numbers.
#[derive(Default)]
struct Set {
    sentences: Vec<Sentence>,
    numbers: HashMap<String, u32>,
    spelled: Vec<String>,
}

/// From which score on a speaker's sentences are said to do something, and how many of them do, rightly, wrongly.
struct Enough {
    score: f32,
    all: f32,
    right: f32,
    wrong: f32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let set = Set::read(&here.join("training"))?;
    let learned = thread::scope(|scope| {
        let set = &set;
        let learners = Act::ALL.map(|act| scope.spawn(move || set.learned(act)));
        learners.map(|learner| learner.join().expect("learning does not panic"))
    });
    println!(
        "| act | speaker | sentences | precision | recall |\n| :--- | :--- | ---: | ---: | ---: |"
    );
    let mut rows: BTreeMap<&str, BTreeMap<&str, i32>> = BTreeMap::new();
    for ((act, name), (weights, enough)) in Act::ALL.into_iter().zip(&learned) {
        for (feature, weight) in set.spelled.iter().zip(weights) {
            if weight.abs() >= LEAST {
                let row = rows.entry(feature).or_default();
                row.insert(name, hundredths(*weight));
            }
        }
        for ((speaker, any), enough) in ANY.into_iter().zip(enough) {
            let bias = rows.entry(any).or_default().entry(name).or_default();
            let Some(Enough {
                score,
                all,
                right,
                wrong,
            }) = enough
            else {
                *bias = NEVER;
                continue;
            };
            *bias -= hundredths(*score);
            let (precision, recall) = (right / (right + wrong), right / all);
            println!("| {act:?} | {speaker:?} | {all} | {precision:.2} | {recall:.2} |");
        }
    }
    let mut text = String::new();
    for (feature, weights) in rows {
        let weights = weights.into_iter().filter(|(_, weight)| *weight != 0);
        let weights: Vec<_> = weights
            .map(|(act, weight)| format!("{act}{weight:+}"))
            .collect();
        if !weights.is_empty() {
            writeln!(text, "{feature}\t{}", weights.join(" "))?;
        }
    }
    println!(
        "\n{} features in {} bytes",
        text.lines().count(),
        text.len()
    );
    fs::write(here.join("data/acts.tsv"), text)?;
    Ok(())
}

/// Returns who says a message, and its sentences behind what they do.
fn message(text: &str) -> Option<(Speaker, Vec<(&str, &str)>)> {
    let (speaker, said) = text.split_once('\n')?;
    let speaker = match speaker {
        "user" => Speaker::User,
        "agent" => Speaker::Agent,
        _ => return None,
    };
    let said = said.lines().map(|line| line.split_once('\t'));
    Some((speaker, said.collect::<Option<_>>()?))
}

#[expect(clippy::cast_possible_truncation, reason = "weights are small")]
fn hundredths(weight: f32) -> i32 {
    (weight * 100.0).round() as i32
}

impl Set {
    /// Reads all files of a folder.
    fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut set = Self::default();
        let mut files = Vec::new();
        for file in fs::read_dir(folder)? {
            files.push(file?.path());
        }
        files.retain(|file| file.extension().is_some_and(|end| end == "txt"));
        files.sort();
        let mut messages = 0;
        for file in &files {
            for message in fs::read_to_string(file)?.split("\n\n") {
                self::message(message)
                    .and_then(|(speaker, said)| {
                        set.add(speaker, &said, messages / TOGETHER % PARTS)
                    })
                    .ok_or_else(|| format!("{}: cannot read: {message}", file.display()))?;
                messages += 1;
            }
        }
        let mut seen = vec![0_u32; set.spelled.len()];
        let all = set.sentences.iter().flat_map(|sentence| &sentence.features);
        all.for_each(|feature| seen[*feature as usize] += 1);
        for sentence in &mut set.sentences {
            sentence
                .features
                .retain(|feature| seen[*feature as usize] >= SEEN);
        }
        Ok(set)
    }

    /// Adds a message; nothing where it names an act that is not known.
    fn add(&mut self, speaker: Speaker, said: &[(&str, &str)], part: usize) -> Option<()> {
        let texts: Vec<&str> = said.iter().map(|(_, text)| *text).collect();
        for (spelled, (label, _)) in features(&texts, speaker).into_iter().zip(said) {
            let features = spelled.into_iter().map(|feature| {
                let next = u32::try_from(self.spelled.len()).unwrap_or(u32::MAX);
                *self.numbers.entry(feature).or_insert_with_key(|feature| {
                    self.spelled.push(feature.clone());
                    next
                })
            });
            let acts: Vec<&str> = label.split('+').collect();
            let known =
                |act: &&str| Act::ALL.iter().any(|(_, name)| name == act) || OTHER.contains(act);
            self.sentences.push(Sentence {
                part,
                speaker,
                features: features.collect(),
                acts: acts.iter().map(|act| (*act).to_owned()).collect(),
            });
            acts.iter().all(known).then_some(())?;
        }
        Some(())
    }

    /// Returns the weights of an act, and what is sure enough for each speaker who does it.
    fn learned(&self, (act, name): (Act, &str)) -> (Vec<f32>, [Option<Enough>; 2]) {
        // What only one speaker does is not learned from the other.
        let does = |sentence: &Sentence| sentence.acts.iter().any(|act| act == name);
        let by = |speaker| {
            self.sentences
                .iter()
                .any(|it| it.speaker == speaker && does(it))
        };
        let own = self
            .sentences
            .iter()
            .filter(|sentence| by(sentence.speaker));
        let own: Vec<(&Sentence, bool)> = own.map(|sentence| (sentence, does(sentence))).collect();
        let mut told = Vec::new();
        for part in 0..PARTS {
            let (out, rest): (Vec<_>, Vec<_>) = own
                .iter()
                .copied()
                .partition(|(sentence, _)| sentence.part == part);
            let weights = self.weights(&rest);
            told.extend(out.into_iter().map(|(sentence, does)| {
                let kept = |weight: f32| if weight.abs() >= LEAST { weight } else { 0.0 };
                let scores = sentence
                    .features
                    .iter()
                    .map(|it| kept(weights[*it as usize]));
                (sentence.speaker, scores.sum::<f32>(), does)
            }));
        }
        told.sort_by(|(_, one, _), (_, other, _)| other.total_cmp(one));
        let enough = ANY.map(|(speaker, _)| {
            let own = told.iter().filter(|(by, ..)| *by == speaker);
            let own: Vec<(f32, bool)> = own.map(|(_, score, does)| (*score, *does)).collect();
            enough(&own, recall(act, speaker))
        });
        (self.weights(&own), enough)
    }

    /// Learns weights, the same ones each time.
    fn weights(&self, sentences: &[(&Sentence, bool)]) -> Vec<f32> {
        let features = self.spelled.len();
        let (mut pull, mut pace) = (vec![0_f32; features], vec![0_f32; features]);
        let weight = |pull: f32, pace: f32| match pull.abs() <= TO_ZERO {
            true => 0.0,
            false => -(pull - pull.signum() * TO_ZERO) / ((1.0 + pace.sqrt()) / RATE + TO_SMALL),
        };
        let mut order: Vec<usize> = (0..sentences.len()).collect();
        let mut random = 88_172_645_463_325_252_usize;
        for _ in 0..ROUNDS {
            for at in (1..order.len()).rev() {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                order.swap(at, random % (at + 1));
            }
            for (sentence, does) in order.iter().map(|at| &sentences[*at]) {
                let own = sentence.features.iter().map(|it| *it as usize);
                let score: f32 = own.clone().map(|it| weight(pull[it], pace[it])).sum();
                let wrong = 1.0 / (1.0 + (-score).exp()) - if *does { 1.0 } else { 0.0 };
                for it in own {
                    let faster = ((pace[it] + wrong * wrong).sqrt() - pace[it].sqrt()) / RATE;
                    pull[it] += wrong - faster * weight(pull[it], pace[it]);
                    pace[it] += wrong * wrong;
                }
            }
        }
        let both = pull.into_iter().zip(pace);
        both.map(|(pull, pace)| weight(pull, pace)).collect()
    }
}

/// Returns how much recall counts next to precision, squared: where what is told wrongly does harm, little.
fn recall(act: Act, speaker: Speaker) -> f32 {
    match (act, speaker) {
        (Act::Rule, _) => 0.35,
        _ => 0.5,
    }
}

/// Returns where scores, the highest first, are told best.
fn enough(told: &[(f32, bool)], recall: f32) -> Option<Enough> {
    let count = |does: &[(f32, bool)]| {
        let right = does.iter().filter(|(_, does)| *does).count();
        (to_float(right), to_float(does.len() - right))
    };
    let (all, _) = count(told);
    let (mut right, mut wrong) = (0.0, 0.0);
    let mut best: Option<(f32, Enough)> = None;
    for (score, does) in told {
        match does {
            true => right += 1.0,
            false => wrong += 1.0,
        }
        let quality = (1.0 + recall) * right / (recall * all + right + wrong);
        if right > 0.0 && best.as_ref().is_none_or(|(known, _)| quality > *known) {
            let score = *score;
            best = Some((
                quality,
                Enough {
                    score,
                    all,
                    right,
                    wrong,
                },
            ));
        }
    }
    best.map(|(_, enough)| enough)
}

#[expect(clippy::cast_precision_loss, reason = "sentences are few")]
fn to_float(count: usize) -> f32 {
    count as f32
}
