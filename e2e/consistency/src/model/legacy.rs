//! The legacy flow.

use super::{
    Answer, Choices, Code, Commit, Interval, LoginOutcome, Model, Project, Purpose, Token, Wrong,
};

impl Model {
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
            *code = Some(Code::issued(at));
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
        at: Interval,
        choices: &mut Choices,
    ) -> Answer {
        let Some((project, code)) = self.code_mut(upstream_login) else {
            return Answer::Refused;
        };
        match wrong {
            Some(Wrong::Secret) => return Answer::Unrecognised,
            Some(_) => return Answer::Refused,
            None if project != by => return Answer::Refused,
            None => {}
        }
        if let Some(token) = &mut code.token {
            token.is_ended = true;
            return Answer::Refused;
        }
        if !at.is_before(code.ends(), choices) {
            return Answer::Refused;
        }
        code.token = Some(Token::issued(at));
        self.committed.add(Commit::CodeRedeemed);
        Answer::Token
    }

    pub(super) fn profile(
        &self,
        upstream_login: u8,
        at: Interval,
        choices: &mut Choices,
    ) -> Answer {
        match self.token(upstream_login) {
            Some(token) if !token.is_ended && at.is_before(token.ends(), choices) => {
                Answer::Profile(upstream_login)
            }
            _ => Answer::Unrecognised,
        }
    }

    pub(super) fn revoke(&mut self, upstream_login: u8) -> Answer {
        if let Some(token) = self.token_mut(upstream_login) {
            token.is_ended = true;
        }
        Answer::Revoked
    }
}
