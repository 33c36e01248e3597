//! The name of a misbehaviour, as calls and forms send it.

use mock_upstream::{Misbehaviour, Provider};

use crate::control_error::ControlError;

/// The least similarity of a name that is suggested, from 0 to 1.
const SIMILAR: f64 = 0.6;

/// The misbehaviour of `provider` with this name.
///
/// # Errors
///
/// If there is none; the error says which one may be meant, and where they are listed.
pub(crate) fn parse(provider: Provider, name: &str) -> Result<Misbehaviour, ControlError> {
    let known = Misbehaviour::parse(provider, name);
    known.map_err(|_| {
        let hint = nearest(provider, name).map(|it| format!(" Did you mean {it}?"));
        ControlError::bad_request(format!(
            "{provider} has no misbehaviour {name:?}.{} \
             GET /api/upstreams/{}/misbehaviours lists all.",
            hint.unwrap_or_default(),
            provider.name()
        ))
    })
}

/// The name that `name` is nearest to, if one is near.
fn nearest(provider: Provider, name: &str) -> Option<&'static str> {
    // A name has at most 40 characters; the comparison of longer ones takes long.
    let names = Misbehaviour::of(provider).iter().map(|it| it.name());
    let scored = names.map(|known| (strsim::jaro_winkler(known, name), known));
    let near = scored.filter(|(score, _)| name.len() <= 80 && *score >= SIMILAR);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, it)| it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_is_meant_is_suggested() {
        assert_eq!(nearest(Provider::Google, "bad_sig"), Some("bad_signature"));
        assert_eq!(nearest(Provider::Google, "qqq"), None);
        assert_eq!(nearest(Provider::Google, &"deny".repeat(100)), None);
    }
}
