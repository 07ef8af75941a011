//! The machine against any order of events.
