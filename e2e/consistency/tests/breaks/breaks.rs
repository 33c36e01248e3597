//! The breaks, by the rule that each of them violates.

use agent::tree::Edit;

use super::Break;

const SQL: &str = "broker/src/store/sql.rs";

/// Deterministic: it finds what it finds by the shortest way.
const EXPLORE: &[&str] = &["explore", "--engine", "sqlite", "--every", "10"];
/// The pairs of operations alone.
const PAIRS_OF_TWO: &[&str] = &["explore", "--engine", "postgres", "--every", "100000"];
const RACES: &[&str] = &["histories", "600", "--seed", "7"];
const RACES_OF_TWO: &[&str] = &["histories", "600", "--engine", "postgres", "--seed", "7"];
const CRASHES: &[&str] = &["crashes", "10", "--seed", "7"];
const CRASHES_OF_TWO: &[&str] = &["crashes", "24", "--engine", "postgres", "--seed", "7"];
const SOAK: &[&str] = &["soak", "--logins", "800", "--seed", "7"];
/// The clock seldom jumps past the end of a login that was not read yet.
const LONG_SOAK: &[&str] = &["soak", "--logins", "3000", "--seed", "7"];

/// The runs that the breaks need, each once.
#[cfg(feature = "breaks")]
pub(super) fn runs() -> Vec<&'static [&'static str]> {
    vec![
        EXPLORE,
        PAIRS_OF_TWO,
        RACES,
        RACES_OF_TWO,
        CRASHES,
        CRASHES_OF_TWO,
        SOAK,
        LONG_SOAK,
    ]
}

/// Declares the list of breaks, and each break as a test of its own.
macro_rules! breaks {
    ($($name:ident: $run:expr, $($error:literal)|+, [$($file:expr, $old:literal => $new:literal;)+])+) => {
        /// All breaks.
        pub(super) const ALL: &[Break] = &[$(Break {
            name: stringify!($name),
            edits: &[$(Edit::of($file, $old, $new)),+],
            run: $run,
            errors: &[$($error),+],
        }),+];

        #[cfg(feature = "breaks")]
        mod found {
            $(#[test]
            fn $name() {
                super::super::applied::assert_found(stringify!($name));
            })+
        }
    };
}

breaks! {
    a_result_that_is_read_at_its_very_end: EXPLORE, "must be answered by Refused", [
        SQL, "AND stage = 'settled' AND $4 < ends_ms" => "AND stage = 'settled' AND $4 <= ends_ms";
    ]
    a_code_that_is_redeemed_at_its_very_end: EXPLORE, "must be answered by Refused", [
        SQL, "AND token_digest IS NULL AND $8 < code_ends_ms" => "AND token_digest IS NULL AND $8 <= code_ends_ms";
    ]
    a_session_key_that_is_free_a_millisecond_late: EXPLORE, "must be answered by Started", [
        SQL, "WHERE logins.ends_ms <= $9" => "WHERE logins.ends_ms < $9";
    ]
    a_consumed_result_that_keeps_its_profile: EXPLORE, "the rows must be", [
        SQL, "UPDATE logins SET profile = NULL WHERE key_digest = $1" =>
            "UPDATE logins SET profile = profile WHERE key_digest = $1";
    ]
    a_replay_that_ends_no_token_once_its_code_has_ended: EXPLORE, "the steps in the log must be", [
        SQL, "AND $5 < token_ends_ms AND profile IS NOT NULL" =>
            "AND $5 < code_ends_ms AND profile IS NOT NULL";
    ]
    a_token_that_is_revoked_after_its_end: EXPLORE, "the steps in the log must be", [
        SQL, "WHERE token_digest = $1 AND $2 < token_ends_ms AND profile IS NOT NULL" =>
            "WHERE token_digest = $1 AND $2 = $2";
    ]
    a_provider_that_is_asked_before_the_upstream_login_is_consumed: EXPLORE, "the exchanges with providers must be", [
        "broker/src/sign_in/callback.rs", "self.upstream_login.check_time(self.core.now())?;
        if" => "self.upstream_login.check_time(self.core.now())?;
        let early = self.outcome(event).await;
        if";
        "broker/src/sign_in/callback.rs", "match self.outcome(event).await {
            Ok(profile) => self.issue_code" => "match early {
            Ok(profile) => self.issue_code";
    ]
    a_cookie_that_the_next_upstream_login_overwrites: EXPLORE, "must be answered by ToCallback", [
        "broker/src/http/request/upstream_login_cookies.rs", "id.truncate(12);" => "id.truncate(0);";
    ]
    a_question_that_binds_the_browser: EXPLORE, "the steps in the log must be", [
        "broker/src/sign_in/clean.rs", "RelayDecision::Confirm => return Ok(BrowserAnswer::Confirm(self.confirmation(login)))," =>
            "RelayDecision::Confirm => {
                self.bind().await?;
                return Ok(BrowserAnswer::Confirm(self.confirmation(login)));
            }";
    ]
    a_cancel_that_leaves_the_login_pending: EXPLORE, "the rows must be", [
        SQL, "UPDATE logins SET stage = 'settled', error = $1
    WHERE handle_digest = $2" => "UPDATE logins SET stage = stage, error = error
    WHERE $1 = $1 AND handle_digest = $2";
    ]
    a_replay_with_another_status: EXPLORE, "POST /v1/token answered 401", [
        "broker/src/model/grant.rs", "} else if self.is_redeemed {
            Rule::CodeOnce" => "} else if self.is_redeemed {
            Rule::BearerKnown";
    ]
    a_browser_that_overtakes_the_first: PAIRS_OF_TWO, "another browser was let into the login", [
        SQL, "(browser IS NULL OR browser = $1)" => "(browser IS NULL OR browser = $1 OR stage = 'pending')";
    ]
    a_session_key_that_is_taken_while_it_is_in_use: RACES, "a session key was accepted twice", [
        SQL, "WHERE logins.ends_ms <= $9" => "WHERE $9 = $9";
    ]
    a_browser_that_takes_the_login_of_another: RACES, "another browser was let into the login", [
        SQL, "(browser IS NULL OR browser = $1)" => "TRUE";
    ]
    an_upstream_login_that_counts_twice: RACES,
        "an upstream login was accepted twice" | "invalid_provider_response, which nothing caused", [
        SQL, "ON CONFLICT (trip) DO NOTHING" =>
            "ON CONFLICT (trip) DO UPDATE SET known_until_ms = excluded.known_until_ms";
    ]
    a_result_that_is_read_whether_or_not_it_was_read: RACES, "a result was returned twice", [
        SQL, "AND stage = 'settled' AND $4 < ends_ms" => "AND stage <> 'pending' AND $4 < ends_ms";
        SQL, "UPDATE logins SET profile = NULL WHERE key_digest = $1" =>
            "UPDATE logins SET profile = profile WHERE key_digest = $1";
    ]
    a_code_that_is_redeemed_whether_or_not_it_was_redeemed: RACES, "a code was redeemed twice", [
        SQL, "AND token_digest IS NULL AND" => "AND";
    ]
    a_code_that_two_statements_redeem: RACES_OF_TWO, "a code was redeemed twice", [
        SQL, "WHERE code_digest = $4 AND project = $5 AND callback = $6 AND challenge = $7
      AND token_digest IS NULL AND $8 < code_ends_ms AND profile IS NOT NULL" =>
            "WHERE code_digest IN (SELECT code_digest FROM grants
      WHERE code_digest = $4 AND project = $5 AND callback = $6 AND challenge = $7
      AND token_digest IS NULL AND $8 < code_ends_ms AND profile IS NOT NULL)";
    ]
    a_token_that_survives_the_replay_of_its_code: RACES, "a token outlived its end", [
        SQL, "UPDATE grants SET profile = NULL
    WHERE code_digest = $1" => "UPDATE grants SET profile = profile
    WHERE code_digest = $1";
    ]
    a_token_that_survives_its_revocation: RACES, "a token outlived its end", [
        SQL, "UPDATE grants SET profile = NULL WHERE token_digest = $1" =>
            "UPDATE grants SET profile = profile WHERE token_digest = $1";
    ]
    a_result_with_the_profile_of_another_user: RACES, "the profile of another user", [
        SQL, "SET stage = 'settled', profile = $1, error = $2" =>
            "SET stage = 'settled', profile = CASE WHEN $1 IS NULL THEN NULL ELSE coalesce(
                (SELECT profile FROM grants WHERE profile IS NOT NULL LIMIT 1), $1) END, error = $2";
    ]
    a_failure_that_becomes_another: RACES, "which nothing caused", [
        "broker/src/store/row.rs", "Some(error.as_str())" => "{
            let _ = error;
            Some(\"provider_unavailable\")
        }";
    ]
    a_refusal_with_another_status: RACES, "401", [
        "broker/src/model/login_session.rs", "SessionStatus::Consumed => Err(Rule::ResultOnce)" =>
            "SessionStatus::Consumed => Err(Rule::BearerKnown)";
    ]
    a_consumed_result_that_is_promised_again: RACES, "a result was promised after it was gone", [
        "broker/src/model/login_session.rs", "SessionStatus::Consumed => Err(Rule::ResultOnce)" =>
            "SessionStatus::Consumed => Ok(StillPending)";
    ]
    // Also without a crash: a read on another thread does not see what was answered.
    an_answer_before_its_commit: CRASHES,
        "lost" | "twice" | "outlived" | "let into" | "was answered NotKnown", [
        "broker/src/store/sqlite/writer.rs",
            "self.result = Some(catch_panic(|| (self.step)(db))?);" =>
            "let value = catch_panic(|| (self.step)(db))?;
        let (unused, _) = oneshot::channel();
        let _ = std::mem::replace(&mut self.reply, unused).send(Ok(value));";
        "broker/src/store/sqlite/writer.rs", "committed.map(|()| result.expect(\"what was committed has run\"))" =>
            "committed.and_then(|()| result.ok_or(StoreError::Stopped))";
    ]
    a_commit_that_does_not_wait_for_the_disk: CRASHES_OF_TWO,
        "lost" | "twice" | "outlived" | "let into", [
        "broker/src/store/postgres/connections.rs", "(\"synchronous_commit\", \"on\")" => "(\"synchronous_commit\", \"off\")";
    ]
    a_code_that_is_redeemed_after_its_end: SOAK, "a code was redeemed after its end", [
        SQL, "AND token_digest IS NULL AND $8 < code_ends_ms" => "AND token_digest IS NULL AND $8 = $8";
    ]
    a_code_that_ends_too_early: SOAK, "a code was lost", [
        "broker/src/model/grant.rs", "CODE_LIFETIME_SECONDS as i64 * 1000" => "CODE_LIFETIME_SECONDS as i64 * 1000 / 30";
    ]
    a_code_that_is_redeemed_with_another_verifier: SOAK, "a code was redeemed with another verifier", [
        SQL, "callback = $6 AND challenge = $7
      AND token_digest" => "callback = $6 AND $7 = $7
      AND token_digest";
    ]
    a_login_that_is_read_after_its_end: LONG_SOAK, "a result was returned after its end", [
        SQL, "AND stage = 'settled' AND $4 < ends_ms" => "AND stage = 'settled' AND $4 = $4";
    ]
    an_outcome_that_is_acknowledged_and_not_stored: RACES, "lost", [
        SQL, "WHERE handle_digest = $3 AND stage = 'pending' AND $4 < ends_ms" =>
            "WHERE handle_digest = $3 AND stage = 'pending' AND $4 < $4";
        "broker/src/store/steps.rs", "db.change(sql::COMPLETE, parameters).await?" =>
            "db.change(sql::COMPLETE, parameters).await?.max(1)";
    ]
    a_providers_code_that_is_exchanged_twice: SOAK, "exchanges with the provider", [
        "broker/src/upstream/github.rs",
            "let token = self.exchange(upstream_login, code, observer).await?;" =>
            "let token = self.exchange(upstream_login, code, observer).await?;
        let _ = self.exchange(upstream_login, code, observer).await;";
    ]
    a_panic: SOAK, "a panic at", [
        "broker/src/http/api.rs", "Ok(Json(result.await?))" =>
            "let result = result.await?;
    assert!(!matches!(result, LoginResult::Failed { .. }));
    Ok(Json(result))";
    ]
    a_session_key_in_the_log: SOAK, "a secret is in the log", [
        "broker/src/http/api.rs", "Ok(Json(result.await?))" =>
            "tracing::info!(key = request.session_key.expose());
    Ok(Json(result.await?))";
    ]
    a_broker_that_keeps_something_of_every_profile: SOAK, "memory", [
        "broker/src/store.rs", "|db| steps::token(db, token, now)" =>
            "|db| {
                std::mem::forget(vec![1_u8; 1 << 17]);
                steps::token(db, token, now)
            }";
    ]
}
