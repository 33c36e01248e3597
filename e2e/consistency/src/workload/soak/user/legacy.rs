//! A login by the legacy flow.

use super::{TRIES, User};
use crate::RunError;
use crate::client::Response;
use crate::login::{self, UpstreamVisit};

impl User<'_> {
    /// Plays the login to its end.
    pub(super) async fn play_legacy(&mut self) -> Result<(), RunError> {
        let Some(visit) = self.authorize().await else {
            return Ok(());
        };
        self.think().await;
        let responses = self.sign_in_at_provider(&visit).await?;
        if let Some(code) = responses.iter().find_map(Response::code) {
            self.redeem(visit.upstream_login, &code).await;
        }
        Ok(())
    }

    async fn authorize(&mut self) -> Option<UpstreamVisit> {
        for _ in 0..TRIES {
            let browser = self.login.browser();
            let authorize = self.login.authorize(&browser);
            if let Some(response) = self.perform(&authorize).await {
                return UpstreamVisit::by(&authorize, &browser, &response);
            }
            self.context.wait_until_running().await;
        }
        None
    }

    async fn redeem(&mut self, upstream_login: u8, code: &str) {
        self.think().await;
        if self.random.one_in(6) {
            let forged = self
                .login
                .redeem_with_another_verifier(upstream_login, code, self.random);
            self.perform(&forged).await;
        }
        let redeem = self.login.redeem(upstream_login, code);
        let times = 1 + usize::from(self.random.one_in(6));
        let responses = self.perform_all(&vec![redeem.clone(); times]).await;
        let redeemed = responses.into_iter().flatten().find(|it| it.status == 200);
        let token = redeemed.map(|it| it.text("access_token"));
        if let Some(token) = &token {
            self.use_token(upstream_login, token).await;
        }
        self.retry(&redeem).await;
        if let Some(token) = token {
            self.retry(&login::profile(upstream_login, &token)).await;
        }
    }

    async fn use_token(&mut self, upstream_login: u8, token: &str) {
        let profile = login::profile(upstream_login, token);
        for _ in 0..1 + self.random.below(3) {
            self.perform(&profile).await;
            self.think().await;
        }
        if self.random.one_in(3) {
            self.perform(&login::revoke(upstream_login, token)).await;
            self.perform(&profile).await;
        }
    }
}
