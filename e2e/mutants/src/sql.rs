//! Mutations of SQL statements that stand as string literals in a Rust file.
//!
//! Each mutant keeps every parameter, so that an engine cannot reject it for their
//! number alone: a condition is not removed but made true. None makes a condition
//! false: a step that never succeeds is caught by any test.

use std::ops::Range;

/// One changed statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// The name of the constant, the change, and the text that it replaces.
    pub(crate) name: String,
    /// The whole file with the change.
    pub(crate) source: String,
}

/// All mutants of the statements in `source`.
pub(crate) fn mutants(source: &str) -> Vec<Mutant> {
    statements(source)
        .into_iter()
        .flat_map(|statement| statement.mutants(source))
        .collect()
}

/// A string literal of `source` that is a statement.
struct Statement {
    name: String,
    text: Range<usize>,
}

/// A replacement of a part of `source`.
struct Change {
    part: Range<usize>,
    replacement: String,
    kind: &'static str,
}

fn statements(source: &str) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut name = String::new();
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        if let Some((_, rest)) = line.split_once("const ") {
            name = rest.split(':').next().unwrap_or(rest).to_owned();
        }
        at += line.len();
        let start = at - line.len();
        let is_comment = line.trim_start().starts_with("//");
        let is_inside = statements
            .last()
            .is_some_and(|it: &Statement| start < it.text.end);
        let Some(quote) = line.find('"').filter(|_| !is_comment && !is_inside) else {
            continue;
        };
        let open = start + quote + 1;
        let Some(length) = source[open..].find('"') else {
            continue;
        };
        let text = open..open + length;
        if ["SELECT", "INSERT", "UPDATE", "DELETE"]
            .iter()
            .any(|verb| source[text.clone()].trim_start().starts_with(verb))
        {
            let name = name.clone();
            statements.push(Statement { name, text });
        }
    }
    statements
}

impl Statement {
    fn mutants(&self, source: &str) -> Vec<Mutant> {
        let mut changes = self.conditions(source);
        changes.extend(self.comparisons(source));
        changes.extend(self.assignments(source));
        let mutant = |change: Change| {
            let Change {
                part,
                replacement,
                kind,
            } = change;
            let was = source[part.clone()].split_whitespace();
            let was = was.collect::<Vec<_>>().join(" ");
            Mutant {
                name: format!("{}: {kind}: {was}", self.name),
                source: format!(
                    "{}{replacement}{}",
                    &source[..part.start],
                    &source[part.end..]
                ),
            }
        };
        changes.into_iter().map(mutant).collect()
    }

    /// Each conjunct of each `WHERE`, always true.
    fn conditions(&self, source: &str) -> Vec<Change> {
        let mut changes = Vec::new();
        for (at, word) in source[self.text.clone()].match_indices("WHERE ") {
            let start = self.text.start + at + word.len();
            for part in conjuncts(source, start..self.text.end) {
                changes.push(Change {
                    replacement: format!("({} OR TRUE)", &source[part.clone()]),
                    part,
                    kind: "always true",
                });
            }
        }
        changes
    }

    /// Each `<` as `<=`, and the other way round.
    fn comparisons(&self, source: &str) -> Vec<Change> {
        let text = &source[self.text.clone()];
        let changed = |(at, _)| {
            let start = self.text.start + at;
            let is_or_equal = source[start..].starts_with("<=");
            Change {
                part: start..start + if is_or_equal { 2 } else { 1 },
                replacement: if is_or_equal { "<" } else { "<=" }.to_owned(),
                kind: "turned",
            }
        };
        text.match_indices('<').map(changed).collect()
    }

    /// Each assignment, without effect.
    fn assignments(&self, source: &str) -> Vec<Change> {
        let text = &source[self.text.clone()];
        let Some(table) = table(text) else {
            return Vec::new();
        };
        let mut changes = Vec::new();
        for (at, word) in text.match_indices("SET") {
            let start = self.text.start + at + word.len();
            let clause = start..end_of_clause(source, start..self.text.end);
            for part in split(source, clause, ",") {
                let Some((column, value)) = source[part.clone()].split_once('=') else {
                    continue;
                };
                let (column, value) = (column.trim(), value.trim());
                changes.push(Change {
                    replacement: format!(
                        "{column} = CASE WHEN TRUE THEN {table}.{column} ELSE {value} END"
                    ),
                    part,
                    kind: "not assigned",
                });
            }
        }
        changes
    }
}

/// The table that a statement changes.
fn table(statement: &str) -> Option<&str> {
    let mut words = statement.split_whitespace();
    match words.next()? {
        "UPDATE" => words.next(),
        "INSERT" => words.nth(1),
        _ => None,
    }
}

fn conjuncts(source: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let end = end_of_clause(source, range.clone());
    split(source, range.start..end, "AND")
}

/// The end of the clause that begins at the start of `range`: the next clause at the
/// same depth of parentheses, or the parenthesis that closes around it.
fn end_of_clause(source: &str, range: Range<usize>) -> usize {
    let ends = ["WHERE", "RETURNING", "LIMIT", "ON CONFLICT"];
    let mut depth = 0_usize;
    for (at, letter) in source[range.clone()].char_indices() {
        let at = range.start + at;
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ if depth == 0 && ends.iter().any(|it| source[at..].starts_with(it)) => return at,
            _ => {}
        }
    }
    range.end
}

/// The parts of `range` between `separator` at its own depth of parentheses, without
/// the white space around them.
fn split(source: &str, range: Range<usize>, separator: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, range.start);
    for (at, letter) in source[range.clone()].char_indices() {
        let at = range.start + at;
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && source[at..].starts_with(separator) => {
                parts.push(trimmed(source, start..at));
                start = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(trimmed(source, start..range.end));
    parts
}

fn trimmed(source: &str, range: Range<usize>) -> Range<usize> {
    let text = &source[range.clone()];
    let start = range.start + text.len() - text.trim_start().len();
    start..start + text.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
/// Not a "SELECT" of ours.
pub(super) const REDEEM: &str = "
    UPDATE grants SET token = $1, ends = coalesce($2, 3)
    WHERE code = $3 AND (project = $4 OR $4 IS NULL) AND $5 < code_ends
    RETURNING login";

pub(super) const SWEEP: [&str; 1] = [
    "DELETE FROM logins WHERE ends <= $1 AND key IN
         (SELECT key FROM logins WHERE ends <= $1 LIMIT $2)",
];
"#;

    #[track_caller]
    fn assert_has(name: &str, changed: &str) {
        let mutants = mutants(SOURCE);
        let found = mutants.iter().find(|mutant| mutant.name == name);
        let found = found.unwrap_or_else(|| panic!("{name} in {mutants:#?}"));
        assert!(found.source.contains(changed), "{}", found.source);
    }

    #[test]
    fn a_conjunct_is_made_always_true() {
        assert_has(
            "REDEEM: always true: (project = $4 OR $4 IS NULL)",
            "code = $3 AND ((project = $4 OR $4 IS NULL) OR TRUE) AND $5 < code_ends",
        );
    }

    #[test]
    fn a_condition_of_a_selection_inside_is_changed_by_itself() {
        let mutants = mutants(SOURCE);
        let name = "SWEEP: always true: ends <= $1";
        let found: Vec<_> = mutants.iter().filter(|it| it.name == name).collect();
        assert_eq!(found.len(), 2, "one outside and one inside");
        assert!(
            found[1]
                .source
                .contains("WHERE (ends <= $1 OR TRUE) LIMIT $2)")
        );
    }

    #[test]
    fn a_comparison_is_turned() {
        assert_has("REDEEM: turned: <", "AND $5 <= code_ends");
        assert_has("SWEEP: turned: <=", "logins WHERE ends < $1 AND key");
    }

    #[test]
    fn an_assignment_keeps_its_parameters_and_changes_nothing() {
        assert_has(
            "REDEEM: not assigned: ends = coalesce($2, 3)",
            "token = $1, ends = CASE WHEN TRUE THEN grants.ends ELSE coalesce($2, 3) END",
        );
    }

    #[test]
    fn every_mutant_differs_from_its_source_and_from_the_others() {
        let mutants = mutants(SOURCE);
        // Three conditions, a comparison and two assignments; three conditions and two
        // comparisons.
        assert_eq!(mutants.len(), 6 + 5);
        for (at, mutant) in mutants.iter().enumerate() {
            assert_ne!(mutant.source, SOURCE);
            assert!(mutants[..at].iter().all(|it| it.source != mutant.source));
        }
    }
}
