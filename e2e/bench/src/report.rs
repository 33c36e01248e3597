//! The figures of servers, their medians and spreads over a few rounds, and the rows that
//! measurements make of them, as one table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The figures of one server by their names, such as "CPU of a login".
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures(BTreeMap<String, (Unit, Rounds)>);

impl Figures {
    /// Adds the value of a round.
    pub(crate) fn push(&mut self, name: &str, unit: Unit, value: f64) {
        let figure = self.0.entry(name.to_owned());
        let (_, rounds) = figure.or_insert_with(|| (unit, Rounds::default()));
        rounds.push(value);
    }

    /// The rounds of a figure that was measured.
    pub(crate) fn rounds(&self, name: &str) -> &Rounds {
        &self.0[name].1
    }

    /// The greatest value of each figure, alone.
    pub(crate) fn greatest(&self) -> Self {
        let figures = self.0.iter().map(|(name, (unit, rounds))| {
            let greatest = Rounds::once(rounds.spread().max);
            (name.clone(), (*unit, greatest))
        });
        Self(figures.collect())
    }
}

/// The figures of a broker, beside those of other servers in the same rounds.
#[derive(Debug)]
pub(crate) struct Compared<'a> {
    /// The broker, and its load.
    pub(crate) what: String,
    pub(crate) broker: &'a Figures,
    /// Another server, by its name.
    pub(crate) beside: (&'a str, &'a Figures),
    /// An earlier broker.
    pub(crate) before: Option<&'a Figures>,
}

impl Compared<'_> {
    /// The row of a figure of the broker, which the others need not have.
    pub(crate) fn row(&self, name: &str) -> Row {
        let (unit, rounds) = &self.broker.0[name];
        let of = |figures: &Figures| figures.0.get(name).map(|(_, rounds)| rounds.clone());
        let (other, beside) = self.beside;
        Row {
            beside: of(beside).map(|rounds| (other.to_owned(), rounds)),
            before: self.before.and_then(of),
            ..Row::new(format!("{}: {name}", self.what), *unit, rounds.clone())
        }
    }
}

/// One figure of the broker, beside others of the same rounds.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    unit: Unit,
    broker: Rounds,
    beside: Option<(String, Rounds)>,
    before: Option<Rounds>,
    goal: Option<Goal>,
    remark: String,
}

/// The unit of a figure as it is written behind a number, and the number's digits behind the
/// point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit(&'static str, usize);

impl Unit {
    pub(crate) const MICROSECONDS: Self = Self(" µs", 0);
    pub(crate) const MILLISECONDS: Self = Self(" ms", 1);
    pub(crate) const MEGABYTES: Self = Self(" MB", 1);
    pub(crate) const BYTES: Self = Self(" bytes", 0);
    pub(crate) const PER_SECOND: Self = Self("/s", 0);
    pub(crate) const NUMBER: Self = Self("", 1);

    fn show(self, spread: Spread) -> String {
        let Self(unit, digits) = self;
        format!("{spread:.digits$}{unit}")
    }
}

/// The bound that a figure must keep: its median decides.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// The figure is at most this.
    AtMost(f64),
    /// Its ratio to what it is compared with is at most this.
    RatioAtMost(f64),
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, unit: Unit, broker: Rounds) -> Self {
        Self {
            what: what.into(),
            unit,
            broker,
            beside: None,
            before: None,
            goal: None,
            remark: String::new(),
        }
    }

    /// Compares it with `rounds`, which are those of `name`.
    pub(crate) fn beside(mut self, name: impl Into<String>, rounds: Rounds) -> Self {
        self.beside = Some((name.into(), rounds));
        self
    }

    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    pub(crate) fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }

    fn cells(&self, with_before: bool) -> impl Iterator<Item = String> {
        let show = |rounds: &Rounds| self.unit.show(rounds.spread());
        let ratio = |rounds: &Rounds| format!("{:.2}", self.broker.ratio_to(rounds));
        let (beside, before) = (self.beside.as_ref(), self.before.as_ref());
        let name = beside.map(|(name, rounds)| format!("{name}: {}", show(rounds)));
        let change = before.map(|rounds| format!("**{}**", ratio(rounds)));
        let of_two = |cell: Option<String>| with_before.then(|| cell.unwrap_or_default());
        let cells = [
            Some(self.what.clone()),
            Some(name.unwrap_or_default()),
            of_two(before.map(show)),
            Some(show(&self.broker)),
            Some(beside.map_or_else(String::new, |(_, rounds)| ratio(rounds))),
            of_two(change),
            Some(self.verdict()),
            Some(self.remark.clone()),
        ];
        cells.into_iter().flatten()
    }

    /// Its goal, and whether it is met.
    fn verdict(&self) -> String {
        let Some(goal) = self.goal else {
            return String::new();
        };
        let ratio = || {
            let beside = self.beside.as_ref();
            beside.map_or(f64::NAN, |(_, rounds)| self.broker.ratio_to(rounds).median)
        };
        let (text, is_met) = match goal {
            Goal::AtMost(most) => (
                format!("≤ {}", self.unit.show(Spread::of([most]))),
                self.broker.median() <= most,
            ),
            Goal::RatioAtMost(most) => (format!("ratio ≤ {most}"), ratio() <= most),
        };
        format!("{text}: {}", if is_met { "met" } else { "**missed**" })
    }
}

/// The table of a run, as Markdown.
#[derive(Debug)]
pub(crate) struct Table<'a>(pub(crate) &'a [Row]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_before = self.0.iter().any(|row| row.before.is_some());
        let figures = match with_before {
            true => "before | after | ratio | after / before",
            false => "broker | ratio",
        };
        let head = format!("| measurement | compared with | {figures} | goal | remarks |");
        writeln!(f, "{head}")?;
        writeln!(f, "|{}", "---|".repeat(head.matches('|').count() - 1))?;
        for row in self.0 {
            writeln!(
                f,
                "| {} |",
                row.cells(with_before).collect::<Vec<_>>().join(" | ")
            )?;
        }
        Ok(())
    }
}

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

    fn rounds(values: [f64; 3]) -> Rounds {
        Rounds(values.to_vec())
    }

    fn login() -> Row {
        Row::new("a login", Unit::MICROSECONDS, rounds([300.0, 330.0, 360.0]))
            .beside("floor-hops", rounds([100.0, 110.0, 90.0]))
            .goal(Goal::RatioAtMost(3.0))
    }

    #[test]
    fn a_row_shows_its_ratio_and_whether_the_goal_is_met() {
        let table = Table(&[login()]).to_string();
        let row = table.lines().last().unwrap();
        assert_eq!(
            row,
            "| a login | floor-hops: 100 (90–110) µs | 330 (300–360) µs | 3.00 (3.00–4.00) \
             | ratio ≤ 3: met |  |"
        );
        let missed = login().goal(Goal::AtMost(329.0));
        let table = Table(&[missed]).to_string();
        assert!(table.contains("| ≤ 329 µs: **missed** |"), "{table}");
    }

    #[test]
    fn an_earlier_broker_has_columns_of_its_own() {
        let compared = Row {
            before: Some(rounds([600.0, 660.0, 360.0])),
            ..login()
        };
        let other = Row::new("memory", Unit::MEGABYTES, Rounds::once(9.0));
        let table = Table(&[compared, other]).to_string();
        let lines: Vec<_> = table.lines().collect();
        let columns = |line: &str| line.matches('|').count();
        assert!(lines.iter().all(|line| columns(line) == 9), "{table}");
        assert!(
            lines[2].contains("| 600 (360–660) µs | 330 (300–360) µs |"),
            "{table}"
        );
        assert!(lines[2].contains("| **0.50 (0.50–1.00)** |"), "{table}");
    }

    #[test]
    fn a_spread_is_the_median_with_both_ends() {
        let spread = Spread::of([3.0, 1.0, 2.04, 9.0, 2.0]);
        assert_eq!(format!("{spread:.1}"), "2.0 (1.0–9.0)");
        assert_eq!(format!("{:.1}", Rounds::once(2.0).spread()), "2.0");
    }

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        let (own, floor) = (rounds([2.0, 20.0, 6.0]), rounds([1.0, 10.0, 2.0]));
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
