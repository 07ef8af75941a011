//! The session that is written while it is lived in: born late, locked, and never without what was said.

/// When a message of the user is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Now, or when the turn is over.
    Prompt,
    /// Before the model is asked next.
    Steer,
    /// When the turn is over.
    FollowUp,
}
