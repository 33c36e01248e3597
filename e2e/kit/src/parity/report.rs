//! The differences between two recordings, as the rows of a table in Markdown.

use std::collections::BTreeSet;

use super::probes::Answers;
use super::shape::Shape;

/// A row for each difference; of a part that differs as a whole, its own parts have none.
pub(super) fn rows(real: &Answers, imitation: &Answers, varies: &Shape) -> Vec<String> {
    let mut rows = Vec::new();
    let absent = BTreeSet::from(["absent".to_owned()]);
    for (request, imitation) in imitation {
        // A request that was not recorded has no parts.
        let real = real.iter().find(|(its, _)| its == request);
        let real = real.map(|(_, shape)| shape.clone()).unwrap_or_default();
        let mut wholes = Vec::new();
        for path in BTreeSet::from_iter(real.keys().chain(imitation.keys())) {
            let kinds = |shape: &Shape| shape.get(path).unwrap_or(&absent).clone();
            let (real, imitation) = (kinds(&real), kinds(imitation));
            let both = &real | &imitation;
            let may_vary = varies.get(path).is_some_and(|it| it.is_superset(&both));
            let is_within = wholes.iter().any(|whole: &String| path.starts_with(whole));
            if real != imitation && !may_vary && !is_within {
                wholes.extend([format!("{path}."), format!("{path}[")]);
                let [real, imitation] = [real, imitation].map(|it| Vec::from_iter(it).join(" or "));
                rows.push(format!("| {request} | {path} | {real} | {imitation} |\n"));
            }
        }
    }
    rows
}
