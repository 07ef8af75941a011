//! Gemini's own protocol: `POST {base}/models/{model}:streamGenerateContent?alt=sse`.

mod contents;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;

/// Returns the path of a streamed answer of `model`, after the base URL.
pub(crate) fn path(model: &str) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    format!("/models/{model}:streamGenerateContent?alt=sse")
}
