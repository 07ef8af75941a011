//! Damage tests: each kind of damage opens with its diagnostic and loses no readable entry.
