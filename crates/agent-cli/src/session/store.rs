//! The session that is written while it is lived in: born late, locked, and never without what was said.
