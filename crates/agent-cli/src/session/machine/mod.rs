//! The state machine of the session: what happens next, decided without input or output.
