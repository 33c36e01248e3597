//! The figures of servers, and the rows that measurements make of them, as one table.

use std::collections::BTreeMap;
use std::fmt;

use crate::stats::{Rounds, Spread};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: [f64; 3]) -> Rounds {
        values.into_iter().collect()
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
}
