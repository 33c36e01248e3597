//! The lessons, read from `catalogue.toml`: their steps, their buttons, and the ticks that
//! events set.

use std::sync::LazyLock;

use contract::Rule;
use serde::{Deserialize, Deserializer};

use crate::facts::{Fact, LoginFlow};
use crate::sources::Place;

/// Every lesson, in order.
pub(crate) static LESSONS: LazyLock<Vec<Lesson>> = LazyLock::new(|| {
    let catalogue: Catalogue =
        toml::from_str(include_str!("catalogue.toml")).expect("a test reads the catalogue");
    catalogue.lessons
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    #[serde(rename = "lesson")]
    lessons: Vec<Lesson>,
}

/// One lesson. All of it is static: a student's progress follows from the events.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lesson {
    /// The last segment of its path.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The time that it takes, in minutes.
    pub(crate) minutes: u32,
    pub(crate) goal: String,
    pub(crate) scope: Scope,
    #[serde(rename = "step")]
    pub(crate) steps: Vec<Step>,
    /// The usual way to miss the point of the lesson.
    pub(crate) missed: Option<Missed>,
    /// The lesson to remember, in paragraphs.
    pub(crate) closing: Vec<String>,
    /// The rules of the contract that it is about.
    pub(crate) rules: Vec<RuleId>,
    /// The lines of the reference consumer that follow them.
    pub(crate) places: Vec<Place>,
}

/// The logins whose events count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// One login: the one that has come furthest, or the one that the student chose.
    OneLogin,
    /// This number of logins, in the order of their start.
    Logins(usize),
    /// Those that the attacker started.
    Attacks,
}

/// One step: what to do, and what happens then.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) actions: Vec<Action>,
    pub(crate) tick: Tick,
    /// The explanation once the step is done, and the thing to look at.
    pub(crate) seen: String,
}

/// A link or a button of a step. A step that prepares the stack has a button for it, too.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// A link to the demo.
    Demo,
    /// A button that sends the answered read of the result again.
    SendAgain,
    /// A button that starts a login as the attacker.
    Attack(LoginFlow),
}

/// The condition under which a step is done.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Tick {
    /// The stack is prepared, or the next step shows that it was.
    Prepared { prepared: Preparation },
    /// An event.
    Event(Condition),
}

/// Something that a button changes in the stack.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Preparation {
    /// A fault at the next call of an operation.
    Fault { operation: String, fault: String },
    /// A misbehaviour of a provider at the next sign-in.
    Misbehaviour { provider: String, name: String },
    /// An advance of the clock after the step before.
    Advance { seconds: u32 },
}

/// The properties that an event must have. `signed_in` is shown by both flows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    pub(crate) fact: Option<Fact>,
    /// Whether an event of any login counts, after the step before it.
    #[serde(default)]
    pub(crate) any_login: bool,
    /// The number of its login, in the order of their start, from 1.
    pub(crate) nth: Option<usize>,
    pub(crate) was_asked: Option<bool>,
    pub(crate) rule: Option<RuleId>,
    pub(crate) error: Option<String>,
    pub(crate) operation: Option<String>,
    pub(crate) fault: Option<String>,
}

/// A way to miss the point: the events by which it shows, and what to do about it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Missed {
    pub(crate) shows: Condition,
    pub(crate) advice: String,
}

/// A rule of the contract, by its id.
pub(crate) struct RuleId(pub(crate) Rule);

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        let rule = Rule::ALL.iter().find(|rule| rule.id() == id);
        let rule = rule.ok_or_else(|| serde::de::Error::custom(format!("no rule {id}")))?;
        Ok(Self(*rule))
    }
}
