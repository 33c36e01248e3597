//! The lessons, read from `catalogue.toml`: their steps, and the acts and answers that tick
//! them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use contract::Rule;
use serde::{Deserialize, Deserializer};

use crate::facts::{Fact, LoginFlow};
use crate::sources::Place;

/// Every lesson, in order, and the arrows of a good sign-in.
pub(crate) static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    toml::from_str(include_str!("catalogue.toml")).expect("a test reads the catalogue")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalogue {
    #[serde(rename = "lesson")]
    pub(crate) lessons: Vec<Lesson>,
    /// The arrows of each flow: sender, receiver and label.
    clean: Vec<[String; 3]>,
    legacy: Vec<[String; 3]>,
    /// The progress of an attack's victim.
    victim: Vec<(Fact, String)>,
}

/// One lesson. All of it is static: a student's progress follows from the events, and their
/// answers from the address.
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
    /// The region of the reference consumers that is shown beside the steps.
    pub(crate) code: String,
}

/// The logins whose events count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// One login: the one that has come furthest, and of several such the newest.
    Login(LoginFlow),
    /// This number of logins of the clean flow, in the order of their start.
    Logins(usize),
    /// Those that the attacker started, first by this flow.
    Attacks(LoginFlow),
}

/// One step: what to do, and what happens then.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) actions: Vec<Action>,
    pub(crate) tick: Tick,
    /// The explanation once the step is done; a bet has none.
    #[serde(default)]
    pub(crate) seen: String,
}

/// A link or a button of a step, beside the one that ticks it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// A link to the demo, in the tab of the demo or in a second one.
    Demo,
    SecondTab,
    /// The attacker's newest link, for the victim.
    Victim,
    /// A button that sends the last answered call of this operation again.
    SendAgain(String),
    /// Another button, which stays.
    Press(Press),
}

/// The condition under which a step is done.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tick {
    /// An event.
    Event(Condition),
    /// The button was pressed, or the next step shows that it was.
    Press(Press),
    /// The answer in the address.
    Question(Question),
}

/// A button, which changes the stack: the form that it sends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Press {
    pub(crate) label: String,
    pub(crate) path: String,
    pub(crate) fields: BTreeMap<String, String>,
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
    /// The end of the attacker's return for this login.
    pub(crate) attacker_is_in: Option<bool>,
    pub(crate) rule: Option<RuleId>,
    pub(crate) error: Option<String>,
    pub(crate) operation: Option<String>,
}

/// A question, and the answers that have something to say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) kind: QuestionKind,
    pub(crate) options: Vec<Answer>,
    /// The remark about an arrow that is none of the options.
    #[serde(default)]
    pub(crate) otherwise: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QuestionKind {
    /// The options are there to choose from, until the right one is chosen.
    Choice,
    /// Any option will do, and the next step shows who was right.
    Bet,
    /// Every right option is the label of an arrow, which is clicked in the diagram.
    Arrows,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) right: bool,
    pub(crate) why: String,
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

impl Catalogue {
    /// The lesson with this id, and its number from 1.
    pub(crate) fn find(&'static self, id: &str) -> Option<(usize, &'static Lesson)> {
        (1..).zip(&self.lessons).find(|(_, lesson)| lesson.id == id)
    }

    /// The progress of an attack's victim that a fact shows.
    pub(crate) fn victim(&self, fact: Fact) -> Option<&str> {
        let known = self.victim.iter().find(|(it, _)| *it == fact);
        known.map(|(_, state)| state.as_str())
    }

    /// The arrows of a good sign-in.
    pub(crate) fn arrows(&self, flow: LoginFlow) -> &[[String; 3]] {
        match flow {
            LoginFlow::Clean => &self.clean,
            LoginFlow::Legacy => &self.legacy,
        }
    }
}

impl Press {
    /// The form with this path and these fields.
    pub(crate) fn form(path: &str, fields: &[(&str, &str)]) -> Self {
        let fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            path: path.to_owned(),
            fields: fields.collect(),
            ..Self::default()
        }
    }

    /// Whether it changes the stack as `other` does.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.path, &self.fields) == (&other.path, &other.fields)
    }
}

impl Scope {
    /// The flow of the lesson; of an attack the first.
    pub(crate) fn flow(self) -> LoginFlow {
        match self {
            Self::Logins(_) => LoginFlow::Clean,
            Self::Login(flow) | Self::Attacks(flow) => flow,
        }
    }

    pub(crate) fn is_attack(self) -> bool {
        matches!(self, Self::Attacks(_))
    }
}

impl Question {
    /// Whether these answers, the last one last, are enough.
    pub(crate) fn is_answered(&self, answers: &[String]) -> bool {
        let is_given = |it: &Answer| answers.contains(&it.text);
        match self.kind {
            QuestionKind::Bet => self.options.iter().any(is_given),
            _ => self.options.iter().filter(|it| it.right).all(is_given),
        }
    }

    /// Whether this answer is right, and why.
    pub(crate) fn verdict(&self, answer: &str) -> (bool, &str) {
        let known = self.options.iter().find(|it| it.text == answer);
        known.map_or((false, &self.otherwise), |it| (it.right, &it.why))
    }
}
