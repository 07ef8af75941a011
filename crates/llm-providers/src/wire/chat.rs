//! stub
use super::*;
use crate::provider::Request;
use session_model::json::RawJson;
pub(crate) fn encode(_r: &Request, _t: &Target<'_>) -> RawJson {
    RawJson::parse("{}").unwrap()
}
pub(crate) struct Decoder;
impl Decoder {
    pub fn new() -> Self {
        Self
    }
}
impl Decode for Decoder {
    fn data(&mut self, _d: &str) -> Result<Vec<Event>, WireError> {
        Ok(vec![])
    }
    fn end(&mut self) -> Result<Option<Event>, WireError> {
        Err(WireError::EndedEarly)
    }
}
