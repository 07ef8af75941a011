//! Message history on its way to another provider: what is kept, what is said differently.
