//! Streams of answers, as servers really send them.
