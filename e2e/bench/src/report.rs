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
pub(crate) type Subject = (String, Version);

/// A unit as it is written behind a number, and the number's digits behind the point.
type Unit = (&'static str, usize);
pub(crate) const MICROSECONDS: Unit = (" µs", 0);
pub(crate) const MILLISECONDS: Unit = (" ms", 1);
pub(crate) const MEGABYTES: Unit = (" MB", 1);
pub(crate) const BYTES: Unit = (" bytes", 0);
pub(crate) const PER_SECOND: Unit = ("/s", 0);
pub(crate) const NUMBER: Unit = ("", 1);

/// A quantity that is measured: its name and its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figure(pub(crate) &'static str, pub(crate) Unit);

impl Figure {
    /// The median, and the smallest and greatest value if they differ: `1.7 (1.6–1.8) ms`.
    fn show(self, rounds: &Rounds) -> String {
        let (unit, digits) = self.1;
        format!("{}{unit}", rounds.show(digits))
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

    /// Adds a value of a server of this tree.
    pub(crate) fn add(&mut self, name: &str, figure: Figure, value: f64) {
        self.push(&(name.to_owned(), Version::Present), figure, value);
    }

    /// A figure of a server, if it was measured.
    fn find(&self, name: &str, version: Version, figure: Figure) -> Option<&Rounds> {
        self.0.get(&((name.to_owned(), version), figure.0))
    }

    /// The median of a figure of a server, which was measured.
    pub(crate) fn median(&self, name: &str, version: Version, figure: Figure) -> f64 {
        self.find(name, version, figure).expect(MEASURED).median()
    }

    /// A figure of a server in words.
    pub(crate) fn show(&self, name: &str, figure: Figure) -> String {
        figure.show(self.find(name, Version::Present, figure).expect(MEASURED))
    }

    /// The row of a figure of the server `name` under a load, beside what it is compared with
    /// and the earlier build, which need not have it.
    pub(crate) fn row(&self, load: &str, name: &str, figure: Figure, beside: &str) -> Row {
        let find = |name, version| self.find(name, version, figure).cloned();
        Row {
            what: format!("{load}{name}: {}", figure.0),
            figure,
            broker: find(name, Version::Present).expect(MEASURED),
            beside: find(beside, Version::Present).map(|rounds| (beside.to_owned(), rounds)),
            before: find(name, Version::Before),
            goal: None,
            remark: String::new(),
        }
    }
}

/// One figure of the broker, beside others of the same rounds.
#[derive(Debug)]
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
        let ratio = |rounds: &Rounds| self.broker.ratio_to(rounds).show(2);
        let or_empty = Option::unwrap_or_default;
        let (beside, before) = (self.beside.as_ref(), self.before.as_ref());
        let name = beside.map(|(name, rounds)| format!("{name}: {}", show(rounds)));
        let mut cells = vec![self.what.clone(), or_empty(name)];
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
        let shown = |most| self.figure.show(&Rounds(vec![most]));
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
struct Rounds(Vec<f64>);

impl Rounds {
    fn median(&self) -> f64 {
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

    /// The median, and both ends if they differ.
    fn show(&self, digits: usize) -> String {
        let (median, sorted) = (self.median(), self.sorted());
        let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
        match min < max {
            true => format!("{median:.digits$} ({min:.digits$}–{max:.digits$})"),
            false => format!("{median:.digits$}"),
        }
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
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

    #[test]
    fn a_table_shows_medians_and_spreads_ratios_within_rounds_and_whether_goals_are_met() {
        let mut results = Results::default();
        let (cpu, idle) = (Figure("CPU", MICROSECONDS), Figure("idle", MEGABYTES));
        for (name, version, values) in [
            ("broker", Version::Present, [300.0, 330.0, 360.0]),
            ("broker", Version::Before, [600.0, 660.0, 360.0]),
            ("floor", Version::Present, [100.0, 110.0, 90.0]),
        ] {
            let subject = (name.to_owned(), version);
            values
                .iter()
                .for_each(|value| results.push(&subject, cpu, *value));
        }
        results.add("broker", idle, 9.0);
        let login = || results.row("a login, ", "broker", cpu, "floor");
        let memory = results.row("", "broker", idle, "floor");
        let mut rows = vec![memory.remark("neither the floor nor an earlier one has it")];
        let goals = [Goal::Ratio(3.0), Goal::Most(330.0), Goal::Above(230.0)];
        let missed = [Goal::Ratio(2.9), Goal::Most(329.0), Goal::Above(229.0)];
        rows.extend(
            goals
                .into_iter()
                .chain(missed)
                .map(|goal| login().goal(goal)),
        );
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
