//! The clean callback flow.

use super::{
    Answer, Begun, Choices, Commit, Interval, Login, LoginOutcome, Model, Progress, Project,
    Purpose, Rest, UpstreamLogin, Visitor, Wrong,
};

impl Model {
    /// A key is taken for 600 s from the start of its login, consumed or not, in any
    /// project. Used again afterwards, it replaces the old login.
    pub(super) fn start(
        &mut self,
        login: u8,
        fresh: Login,
        wrong: Option<Wrong>,
        at: Interval,
        choices: &mut Choices,
    ) -> Answer {
        match wrong {
            Some(Wrong::Secret) => return Answer::Unrecognised,
            Some(_) => return Answer::Refused,
            None => {}
        }
        let holder = self.under_key(fresh.key).map(|(_, holder)| holder.ends());
        if holder.is_some_and(|ends| at.is_before(ends, choices)) {
            return Answer::Refused;
        }
        self.logins.insert(login, fresh);
        self.committed.add(Commit::Opened);
        Answer::Started
    }

    /// A pending login belongs to the first browser; a plain client on a local machine
    /// may look without being bound. Once the login is over, every browser is sent back
    /// for as long as the login is known.
    pub(super) fn visit(
        &mut self,
        login: u8,
        by: Visitor,
        upstream_login: u8,
        at: Interval,
        choices: &mut Choices,
    ) -> Answer {
        if let Err(answer) = self.admit(login, by, at, choices) {
            return answer;
        }
        let purpose = Purpose::Clean { login };
        let found = self.login_mut(login);
        if by != Visitor::Curl {
            found.bound_to = Some(by);
        }
        let begun = UpstreamLogin::new(by, found.provider, found.ends(), purpose);
        self.begin_upstream_login(upstream_login, begun)
    }

    /// A browser that does not come from the project's pages is asked first, also when the
    /// login is bound to it already. Nothing changes.
    pub(super) fn ask(
        &self,
        login: u8,
        by: Visitor,
        at: Interval,
        choices: &mut Choices,
    ) -> Answer {
        match self.admit(login, by, at, choices) {
            Ok(()) => Answer::ConfirmationPage,
            Err(answer) => answer,
        }
    }

    /// Cancelling binds the login, and then ends it.
    pub(super) fn cancel(
        &mut self,
        login: u8,
        by: Visitor,
        at: Interval,
        choices: &mut Choices,
    ) -> Begun {
        match self.admit(login, by, at, choices) {
            Err(answer) => Begun::Answered(answer),
            Ok(()) => {
                self.login_mut(login).bound_to = Some(by);
                Begun::Underway(Rest::Cancellation { login })
            }
        }
    }

    /// Whether the login is pending and may be bound to this visitor.
    fn admit(
        &self,
        login: u8,
        by: Visitor,
        at: Interval,
        choices: &mut Choices,
    ) -> Result<(), Answer> {
        let Some(found) = self.current(login) else {
            return Err(Answer::NotKnown);
        };
        if !at.is_before(found.known_until(), choices) {
            return Err(Answer::NotKnown);
        }
        if found.progress != Progress::Pending || !at.is_before(found.ends(), choices) {
            return Err(Answer::ToCallback);
        }
        match found.bound_to {
            Some(owner) if owner != by => Err(Answer::AnotherBrowser),
            _ => Ok(()),
        }
    }

    /// The first upstream login to finish decides a login, and no browser sees which
    /// one that was.
    pub(super) fn complete(
        &mut self,
        login: u8,
        outcome: LoginOutcome,
        at: Interval,
        choices: &mut Choices,
    ) -> Answer {
        let is_pending = |found: &Login| found.progress == Progress::Pending;
        let ends = self.current(login).filter(|it| is_pending(it));
        if let Some(ends) = ends.map(Login::ends)
            && at.is_before(ends, choices)
        {
            self.login_mut(login).progress = Progress::Completed(outcome);
            self.committed.add(Commit::Completed);
        }
        Answer::ToCallback
    }

    /// A pending read consumes nothing, the first read of an outcome consumes it; any
    /// other error is 400 and consumes nothing.
    pub(super) fn read(
        &mut self,
        key: u8,
        by: Project,
        wrong: Option<Wrong>,
        at: Interval,
        choices: &mut Choices,
    ) -> Answer {
        if wrong.is_some() {
            return Answer::Refused;
        }
        let Some((login, found)) = self.under_key(key) else {
            return Answer::Refused;
        };
        if found.project != by || !at.is_before(found.ends(), choices) {
            return Answer::Refused;
        }
        match found.progress {
            Progress::Pending => Answer::Pending,
            Progress::Consumed => Answer::Refused,
            Progress::Completed(outcome) => {
                self.login_mut(login).progress = Progress::Consumed;
                self.committed.add(Commit::ResultConsumed);
                outcome.map_or_else(Answer::Failed, Answer::Succeeded)
            }
        }
    }
}
