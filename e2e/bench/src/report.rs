//! The figures of servers over a few rounds, and the rows that measurements make of them,
//! as one table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// One of the two builds that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// That of an earlier commit.
    Before,
    /// That of this tree.
    Present,
}

/// A server that is measured: its name in a table, and its build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) version: Version,
}

impl Subject {
    pub(crate) fn new(name: impl Into<String>, version: Version) -> Self {
        let name = name.into();
        Self { name, version }
    }
}

/// A unit as it is written behind a number, and the number's digits behind the point.
type Unit = (&'static str, usize);
pub(crate) const MICROSECONDS: Unit = (" µs", 0);
pub(crate) const MILLISECONDS: Unit = (" ms", 1);
pub(crate) const MEGABYTES: Unit = (" MB", 1);
pub(crate) const BYTES: Unit = (" bytes", 0);
pub(crate) const PER_SECOND: Unit = ("/s", 0);
pub(crate) const NUMBER: Unit = ("", 1);

/// What is measured of a server: its name and its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figure(pub(crate) &'static str, pub(crate) Unit);

impl Figure {
    /// Its median, and the smallest and greatest value if they differ: `1.7 (1.6–1.8) ms`.
    pub(crate) fn show(self, rounds: &Rounds) -> String {
        let (unit, digits) = self.1;
        format!("{rounds:.digits$}{unit}")
    }
}

const MEASURED: &str = "a measurement has all its figures";

/// The figures of all servers of a measurement.
#[derive(Debug, Default)]
pub(crate) struct Results(BTreeMap<(Subject, &'static str), Rounds>);

impl Results {
    /// Adds the value of a round.
    pub(crate) fn push(&mut self, subject: &Subject, figure: Figure, value: f64) {
        let rounds = self.0.entry((subject.clone(), figure.0)).or_default();
        rounds.0.push(value);
    }

    /// A figure of a server, if it was measured.
    fn find(&self, name: &str, version: Version, figure: Figure) -> Option<&Rounds> {
        self.0.get(&(Subject::new(name, version), figure.0))
    }

    /// The median of a figure of a server, which was measured.
    pub(crate) fn median(&self, name: &str, version: Version, figure: Figure) -> f64 {
        self.find(name, version, figure).expect(MEASURED).median()
    }

    /// The row of a figure of the server `name` under a load, beside what it is compared with
    /// and the earlier build, which need not have it.
    pub(crate) fn row(&self, load: &str, name: &str, figure: Figure, beside: &str) -> Row {
        let rounds = self.find(name, Version::Present, figure);
        let other = self.find(beside, Version::Present, figure).cloned();
        Row {
            beside: other.map(|rounds| (beside.to_owned(), rounds)),
            before: self.find(name, Version::Before, figure).cloned(),
            ..Row::new(
                format!("{load}{name}"),
                figure,
                rounds.expect(MEASURED).clone(),
            )
        }
    }
}

/// One figure of the broker, beside others of the same rounds.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    what: String,
    figure: Figure,
    broker: Rounds,
    beside: Option<(String, Rounds)>,
    before: Option<Rounds>,
    goal: Option<Goal>,
    remark: String,
}

/// The bound that a figure must keep: its median decides.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// The figure is at most this.
    Most(f64),
    /// Its ratio to what it is compared with is at most this.
    Ratio(f64),
    /// It is at most this above what it is compared with.
    Above(f64),
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, figure: Figure, broker: Rounds) -> Self {
        Self {
            what: what.into(),
            figure,
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

    pub(crate) fn goal(mut self, goal: impl Into<Option<Goal>>) -> Self {
        self.goal = goal.into();
        self
    }

    pub(crate) fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }

    fn cells(&self, with_before: bool) -> Vec<String> {
        let show = |rounds: &Rounds| self.figure.show(rounds);
        let ratio = |rounds: &Rounds| format!("{:.2}", self.broker.ratio_to(rounds));
        let or_empty = Option::unwrap_or_default;
        let (beside, before) = (self.beside.as_ref(), self.before.as_ref());
        let name = beside.map(|(name, rounds)| format!("{name}: {}", show(rounds)));
        let mut cells = vec![format!("{}: {}", self.what, self.figure.0), or_empty(name)];
        cells.extend(with_before.then(|| or_empty(before.map(show))));
        cells.push(show(&self.broker));
        cells.push(or_empty(beside.map(|(_, rounds)| ratio(rounds))));
        let change = before.map(|rounds| format!("**{}**", ratio(rounds)));
        cells.extend(with_before.then(|| or_empty(change)));
        cells.extend([self.verdict(), self.remark.clone()]);
        cells
    }

    /// Its goal, and whether it is met.
    fn verdict(&self) -> String {
        let beside = self.beside.as_ref().map(|(_, rounds)| rounds);
        let shown = |most| self.figure.show(&Rounds::once(most));
        let (text, value, most) = match self.goal {
            None => return String::new(),
            Some(Goal::Most(most)) => (shown(most), Some(self.broker.median()), most),
            Some(Goal::Ratio(most)) => {
                let ratio = beside.map(|it| self.broker.ratio_to(it).median());
                (format!("ratio {most}"), ratio, most)
            }
            Some(Goal::Above(most)) => {
                let above = beside.map(|it| self.broker.median() - it.median());
                (format!("{} more", shown(most)), above, most)
            }
        };
        let is_met = value.is_some_and(|it| it <= most);
        format!("≤ {text}: {}", if is_met { "met" } else { "**missed**" })
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
        let columns = head.matches('|').count() - 1;
        writeln!(f, "{head}\n|{}", "---|".repeat(columns))?;
        for row in self.0 {
            writeln!(f, "| {} |", row.cells(with_before).join(" | "))?;
        }
        Ok(())
    }
}

/// The values of one figure, one from each round; there is at least one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    /// A figure that was measured once.
    pub(crate) fn once(value: f64) -> Self {
        Self(vec![value])
    }

    pub(crate) fn median(&self) -> f64 {
        let sorted = self.sorted();
        sorted[sorted.len() / 2]
    }

    /// The ratio to `other` within each round: what slows the machine down in one of them
    /// slows both.
    pub(crate) fn ratio_to(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(own, other)| own / other)
                .collect(),
        )
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl fmt::Display for Rounds {
    /// As `1.7 (1.6–1.8)`, with the formatter's precision; as `1.7` if all are the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digits, median, sorted) = (f.precision().unwrap_or(0), self.median(), self.sorted());
        let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
        match min < max {
            true => write!(f, "{median:.digits$} ({min:.digits$}–{max:.digits$})"),
            false => write!(f, "{median:.digits$}"),
        }
    }
}

/// The time that this share of `times` does not exceed.
pub(crate) fn percentile(mut times: Vec<Duration>, share: f64) -> Duration {
    times.sort_unstable();
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

    fn login() -> Row {
        let rounds = |values: [f64; 3]| Rounds(values.to_vec());
        let cpu = Figure("CPU", MICROSECONDS);
        Row {
            before: Some(rounds([600.0, 660.0, 360.0])),
            ..Row::new("a login", cpu, rounds([300.0, 330.0, 360.0]))
                .beside("floor-hops", rounds([100.0, 110.0, 90.0]))
        }
    }

    #[test]
    fn a_table_shows_medians_and_spreads_ratios_within_rounds_and_whether_goals_are_met() {
        let goals = [
            Goal::Ratio(3.0),
            Goal::Ratio(2.9),
            Goal::Most(330.0),
            Goal::Most(329.0),
            Goal::Above(230.0),
            Goal::Above(229.0),
        ];
        let mut rows = goals.map(|goal| login().goal(goal)).to_vec();
        let idle = Figure("idle", MEGABYTES);
        rows.push(Row::new("memory", idle, Rounds::once(9.0)).remark("an earlier one has none"));
        let with_before = Table(&rows).to_string();
        rows.iter_mut().for_each(|row| row.before = None);
        insta::assert_snapshot!([with_before, Table(&rows).to_string()].join("\n"));
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<_> = (1..=101).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(times.clone(), 0.5), Duration::from_millis(51));
        assert_eq!(percentile(times, 0.99), Duration::from_millis(100));
        assert_eq!(percentile(Vec::new(), 0.5), Duration::ZERO);
    }
}
