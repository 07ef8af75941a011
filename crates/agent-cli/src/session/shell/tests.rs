//! The shell, with a scripted model.
