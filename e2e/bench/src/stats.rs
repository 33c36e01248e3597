//! Medians and spreads of a few rounds.

use std::fmt;
use std::time::Duration;

/// The values of one figure, one from each round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(Vec<f64>);

/// The median of several rounds, with the smallest and the greatest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Rounds {
    /// A figure that was measured once.
    pub(crate) fn once(value: f64) -> Self {
        Self(vec![value])
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Their spread; there is at least one.
    pub(crate) fn spread(&self) -> Spread {
        Spread::of(self.0.iter().copied())
    }

    pub(crate) fn median(&self) -> f64 {
        self.spread().median
    }

    /// The spread of the ratio to `other` within each round: what slows the machine down
    /// in one of them slows both.
    pub(crate) fn ratio_to(&self, other: &Self) -> Spread {
        Spread::of(self.0.iter().zip(&other.0).map(|(own, other)| own / other))
    }
}

impl FromIterator<f64> for Rounds {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Spread {
    /// The spread of `values`, of which there is at least one.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self {
            median: values[values.len() / 2],
            min: values[0],
            max: values[values.len() - 1],
        }
    }
}

impl fmt::Display for Spread {
    /// As `1.7 (1.6–1.8)`, with the formatter's precision; as `1.7` if all are the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(0);
        let Self { median, min, max } = self;
        match min < max {
            true => write!(f, "{median:.digits$} ({min:.digits$}–{max:.digits$})"),
            false => write!(f, "{median:.digits$}"),
        }
    }
}

/// The time that this share of `times`, which are sorted, does not exceed.
pub(crate) fn percentile(times: &[Duration], share: f64) -> Duration {
    let last = times.len().saturating_sub(1);
    let index = (last as f64 * share).round() as usize;
    times.get(index).copied().unwrap_or_default()
}

/// A time in milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A time in microseconds.
pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_median_with_both_ends() {
        let spread = Spread::of([3.0, 1.0, 2.04, 9.0, 2.0]);
        assert_eq!(format!("{spread:.1}"), "2.0 (1.0–9.0)");
        assert_eq!(format!("{:.1}", Rounds::once(2.0).spread()), "2.0");
    }

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        let (own, floor) = (Rounds(vec![2.0, 20.0, 6.0]), Rounds(vec![1.0, 10.0, 2.0]));
        assert_eq!(format!("{:.1}", own.ratio_to(&floor)), "2.0 (2.0–3.0)");
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<_> = (1..=101).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 0.5), Duration::from_millis(51));
        assert_eq!(percentile(&times, 0.99), Duration::from_millis(100));
        assert_eq!(percentile(&[], 0.5), Duration::ZERO);
    }
}
