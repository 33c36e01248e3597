//! The profile page: the profile as the broker sent it, and the account.

use askama::Template;
use askama_web::WebTemplate;
use rocket::time::OffsetDateTime;

use crate::accounts::Account;
use crate::browser::CurrentUser;
use crate::session::Via;

/// The profile page.
#[derive(Template, WebTemplate)]
#[template(path = "profile.html")]
pub(crate) struct ProfilePage {
    user: Option<CurrentUser>,
    account: Account,
    via: Via,
}

impl ProfilePage {
    pub(crate) fn new(user: CurrentUser) -> Self {
        Self {
            account: user.account.clone(),
            via: user.via.clone(),
            user: Some(user),
        }
    }

    /// The fields that may be null, by their JSON names.
    fn nullable(&self) -> [(&'static str, Option<&str>); 4] {
        let profile = &self.account.profile;
        [
            ("name", profile.name.as_deref()),
            ("username", profile.username.as_deref()),
            ("email", profile.email.as_deref()),
            ("avatarUrl", profile.avatar_url.as_deref()),
        ]
    }

    /// The initial that is shown in place of a picture.
    fn initial(&self) -> String {
        let first = self.account.display_name().chars().next();
        first.into_iter().flat_map(char::to_uppercase).collect()
    }

    fn first_seen(&self) -> String {
        date_and_time(self.account.first_seen_ms)
    }

    fn last_seen(&self) -> String {
        date_and_time(self.account.last_seen_ms)
    }

    /// The picture, if it comes over HTTPS.
    fn avatar(&self) -> Option<&str> {
        let url = self.account.profile.avatar_url.as_deref()?;
        url.starts_with("https://").then_some(url)
    }
}

/// A time as a user reads it: `2026-11-21 08:05 UTC`.
fn date_and_time(unix_ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1000)).map_or_else(
        |_| "some other time".to_owned(),
        |at| format!("{} {:02}:{:02} UTC", at.date(), at.hour(), at.minute()),
    )
}
