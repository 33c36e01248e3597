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
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<'a> {
    /// The load.
    pub(crate) what: &'a str,
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

/// The unit of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    Megabytes,
    Bytes,
    PerSecond,
    Count,
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

    fn cells(&self, with_before: bool) -> Vec<String> {
        let show = |rounds: &Rounds| self.unit.show(rounds.spread());
        let beside = self.beside.as_ref();
        let ratio = beside.map(|(_, rounds)| format!("{:.2}", self.broker.ratio_to(rounds)));
        let mut cells = vec![
            self.what.clone(),
            beside.map_or_else(String::new, |(name, rounds)| {
                format!("{name}: {}", show(rounds))
            }),
        ];
        if with_before {
            cells.push(self.before.as_ref().map(show).unwrap_or_default());
        }
        cells.extend([show(&self.broker), ratio.unwrap_or_default()]);
        if with_before {
            let change = self.before.as_ref();
            let change = change.map(|before| format!("**{:.2}**", self.broker.ratio_to(before)));
            cells.push(change.unwrap_or_default());
        }
        cells.extend([self.verdict(), self.remark.clone()]);
        cells
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

impl Unit {
    fn show(self, spread: Spread) -> String {
        match self {
            Self::Microseconds => format!("{spread:.0} µs"),
            Self::Milliseconds => format!("{spread:.1} ms"),
            Self::Megabytes => format!("{spread:.1} MB"),
            Self::Bytes => format!("{spread:.0} bytes"),
            Self::PerSecond => format!("{spread:.0}/s"),
            Self::Count => format!("{spread:.1}"),
        }
    }
}

/// The table of a run, as Markdown.
#[derive(Debug)]
pub(crate) struct Table<'a>(pub(crate) &'a [Row]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_before = self.0.iter().any(|row| row.before.is_some());
        let head: &[&str] = match with_before {
            true => &["before", "after", "ratio", "after / before"],
            false => &["broker", "ratio"],
        };
        let head = [
            &["measurement", "compared with"],
            head,
            &["goal", "remarks"],
        ]
        .concat();
        writeln!(f, "| {} |", head.join(" | "))?;
        writeln!(f, "|{}", "---|".repeat(head.len()))?;
        for row in self.0 {
            writeln!(f, "| {} |", row.cells(with_before).join(" | "))?;
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
        Row::new("a login", Unit::Microseconds, rounds([300.0, 330.0, 360.0]))
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
        let other = Row::new("memory", Unit::Megabytes, Rounds::once(9.0));
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
