//! The steps of the two flows: the clean callback, and the legacy authorization.

use super::{
    Answer, Code, Commit, Failure, Interval, Login, LoginOutcome, Model, Now, Progress, Project,
    Purpose, Token, UpstreamLogin, Visitor, Wrong,
};

impl Model {
    /// A key is taken for 600 s from the start of its login, consumed or not, in any
    /// project. Used again afterwards, it replaces the old login.
    pub(super) fn start(
        &mut self,
        login: u8,
        fresh: Login,
        wrong: Option<Wrong>,
        now: &mut Now,
    ) -> Answer {
        if let Some(wrong) = wrong {
            return wrong.answer();
        }
        let holder = self.under_key(fresh.key).map(|(_, holder)| holder.ends());
        if holder.is_some_and(|ends| now.is_before(ends)) {
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
        now: &mut Now,
    ) -> Answer {
        if let Err(answer) = self.admit(login, by, now) {
            return answer;
        }
        let purpose = Purpose::Clean { login };
        if by != Visitor::Curl {
            self.login_mut(login).bound_to = Some(by);
            self.committed.add(Commit::Bound);
        }
        let found = &self.logins[&login];
        let begun = UpstreamLogin::new(by, found.provider, found.ends(), purpose);
        self.begin_upstream_login(upstream_login, begun)
    }

    /// A browser that does not come from the project's pages is asked first, also when the
    /// login is bound to it already. Nothing changes.
    pub(super) fn ask(&self, login: u8, by: Visitor, now: &mut Now) -> Answer {
        match self.admit(login, by, now) {
            Ok(()) => Answer::ConfirmationPage,
            Err(answer) => answer,
        }
    }

    /// Cancelling ends the login for a browser that could be bound to it.
    pub(super) fn cancel(&mut self, login: u8, by: Visitor, now: &mut Now) -> Answer {
        match self.admit(login, by, now) {
            Err(answer) => answer,
            Ok(()) => self.complete(login, Err(Failure::Denied), now),
        }
    }

    /// Whether the login is pending and may be bound to this visitor.
    fn admit(&self, login: u8, by: Visitor, now: &mut Now) -> Result<(), Answer> {
        let Some(found) = self.current(login) else {
            return Err(Answer::NotKnown);
        };
        if !now.is_before(found.known_until()) {
            return Err(Answer::NotKnown);
        }
        if found.progress != Progress::Pending || !now.is_before(found.ends()) {
            return Err(Answer::ToCallback);
        }
        match found.bound_to {
            Some(owner) if owner != by => Err(Answer::AnotherBrowser),
            _ => Ok(()),
        }
    }

    /// The first upstream login to finish decides a login, and no browser sees which
    /// one that was.
    pub(super) fn complete(&mut self, login: u8, outcome: LoginOutcome, now: &mut Now) -> Answer {
        let is_pending = |found: &Login| found.progress == Progress::Pending;
        let ends = self.current(login).filter(|it| is_pending(it));
        if let Some(ends) = ends.map(Login::ends)
            && now.is_before(ends)
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
        now: &mut Now,
    ) -> Answer {
        if wrong.is_some() {
            return Answer::Refused;
        }
        let Some((login, found)) = self.under_key(key) else {
            return Answer::Refused;
        };
        if found.project != by || !now.is_before(found.ends()) {
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

    /// A legacy upstream login takes its own outcome to the callback.
    pub(super) fn issue_code(
        &mut self,
        upstream_login: u8,
        outcome: LoginOutcome,
        at: Interval,
    ) -> Answer {
        if let Err(failure) = outcome {
            return Answer::CallbackWithError(failure);
        }
        if let Purpose::Legacy { code, .. } = &mut self.upstream_login_mut(upstream_login).purpose {
            *code = Some(Code {
                issued: at,
                token: None,
            });
        }
        self.committed.add(Commit::CodeIssued);
        Answer::CallbackWithCode
    }

    /// A code is good for 60 s and for one redemption. A second one, valid in all else,
    /// ends the token of the first; an invalid one changes nothing.
    pub(super) fn redeem(
        &mut self,
        upstream_login: u8,
        by: Project,
        wrong: Option<Wrong>,
        now: &mut Now,
    ) -> Answer {
        let Some((project, code)) = self.code_mut(upstream_login) else {
            return Answer::Refused;
        };
        if let Some(wrong) = wrong {
            return wrong.answer();
        }
        if project != by {
            return Answer::Refused;
        }
        if code.token.is_some() {
            self.end_token(upstream_login, now);
            return Answer::Refused;
        }
        if !now.is_before(code.ends()) {
            return Answer::Refused;
        }
        code.token = Some(Token {
            issued: now.at,
            is_ended: false,
        });
        self.committed.add(Commit::CodeRedeemed);
        Answer::Token
    }

    pub(super) fn profile(&self, upstream_login: u8, now: &mut Now) -> Answer {
        match self.token(upstream_login) {
            Some(token) if !token.is_ended && now.is_before(token.ends()) => {
                Answer::Profile(upstream_login)
            }
            _ => Answer::Unrecognised,
        }
    }

    pub(super) fn revoke(&mut self, upstream_login: u8, now: &mut Now) -> Answer {
        self.end_token(upstream_login, now);
        Answer::Revoked
    }

    /// Ends a token, unless that has come already.
    fn end_token(&mut self, upstream_login: u8, now: &mut Now) {
        let token = self.token_mut(upstream_login);
        let Some(token) = token.filter(|it| !it.is_ended && now.is_before(it.ends())) else {
            return;
        };
        token.is_ended = true;
        self.committed.add(Commit::TokenRevoked);
    }
}

impl Wrong {
    /// The answer to a start or a redemption with this flaw.
    fn answer(self) -> Answer {
        match self {
            Self::Secret => Answer::Unrecognised,
            Self::Callback | Self::Verifier => Answer::Refused,
        }
    }
}
