//! What a store promises, whichever engine keeps it.
//!
//! The suite is a list of functions over a [`Bench`], which stands on one empty
//! database. An engine that is to pass it implements [`Engine`] and adds one
//! line to the end of this file; a function that is missing from the list is
//! dead code, which the compiler reports.

mod acknowledged;
mod bench;
mod clocks;
mod grants;
mod logins;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "postgres")]
mod postgres_brokers;
#[cfg(feature = "postgres")]
mod postgres_crash;
mod races;
mod sqlite;
mod sweeping;
mod upstream_logins;
mod watched;

use bench::Bench;
#[cfg(feature = "postgres")]
pub(crate) use bench::Engine;

macro_rules! suite {
    ($engine:expr) => {
        suite! { $engine;
            logins {
                a_fresh_key_opens_a_login
                a_login_is_found_as_it_was_opened
                an_unknown_handle_leads_nowhere
                a_key_is_taken_for_600_seconds
                a_key_is_taken_in_any_project
                a_settled_login_keeps_its_key_taken
                a_consumed_login_keeps_its_key_taken
                a_refused_opening_leaves_the_first_login_as_it_was
                a_reused_key_forgets_everything_of_its_first_login
                a_login_is_known_for_1200_seconds
                the_first_browser_gets_the_login
                the_same_browser_gets_it_again
                another_browser_is_refused_and_told_what_the_login_is
                a_claim_of_an_unknown_handle_tells_nothing
                a_settled_login_cannot_be_claimed
                a_consumed_login_cannot_be_claimed
                a_login_can_be_claimed_until_its_600_seconds_are_over
                a_login_is_settled_once
                the_first_outcome_stands
                a_login_is_settled_until_its_600_seconds_are_over
                an_unknown_login_cannot_be_settled
                a_consumed_login_cannot_be_settled_again
                a_pending_read_does_not_consume_the_login
                a_pending_login_expires
                a_profile_is_taken_once
                each_error_is_taken_once
                an_outcome_can_be_taken_until_its_600_seconds_are_over
                an_outcome_that_expired_stays_expired
                an_unknown_key_takes_nothing
                another_project_takes_nothing_and_learns_nothing
                another_callback_takes_nothing
                a_callback_that_differs_in_a_slash_is_another
                what_was_taken_stays_consumed_after_its_600_seconds
                a_login_that_is_forgotten_is_unknown_to_a_read
                a_profile_leaves_its_row_with_the_answer
                two_logins_do_not_touch_each_other
            }
            watched {
                a_read_passes_its_points_in_order
                every_step_tells_that_it_is_committed
            }
            upstream_logins {
                an_upstream_login_is_spent_once
                two_upstream_logins_are_spent_independently
                an_upstream_login_that_comes_back_at_its_end_is_still_remembered
            }
            grants {
                a_code_becomes_a_token_that_opens_the_profile
                a_code_is_redeemed_within_its_60_seconds
                a_code_that_expired_stays_expired
                a_code_that_nobody_issued_is_unknown
                another_project_leaves_the_code_untouched
                another_callback_leaves_the_code_untouched
                another_verifier_leaves_the_code_untouched
                a_second_valid_redemption_is_refused_and_ends_the_token
                a_second_redemption_after_the_codes_60_seconds_ends_the_token_too
                a_second_redemption_with_something_wrong_leaves_the_token_alive
                a_third_redemption_brings_nothing_back
                a_token_lives_900_seconds_from_its_redemption
                a_token_that_nobody_issued_is_unknown
                a_code_is_no_token
                a_revoked_token_opens_nothing
                revoking_twice_is_revoking_once
                revoking_an_unknown_token_changes_nothing
                a_revoked_token_does_not_free_its_code
                a_profile_leaves_its_row_when_the_token_is_revoked
                a_profile_leaves_its_row_when_the_token_ends_by_a_replay
                two_grants_do_not_touch_each_other
                the_same_code_cannot_be_issued_twice
            }
            sweeping {
                an_empty_store_has_nothing_to_sweep
                a_sweep_takes_no_login_that_is_still_known
                a_sweep_takes_a_login_that_nobody_can_see
                a_sweep_erases_a_profile_that_nobody_can_read
                a_sweep_spares_a_profile_that_can_still_be_read
                a_sweep_spares_a_spent_upstream_login_until_a_minute_after_its_end
                a_sweep_spares_a_code_until_no_token_of_it_could_live
                what_is_said_of_an_ended_token_does_not_depend_on_the_sweeper
                a_replay_is_recognised_as_long_as_the_token_could_live
                a_sweep_erases_the_profile_of_a_code_that_nobody_redeemed
                a_sweep_spares_the_profile_of_a_living_token
                a_sweep_takes_a_bounded_number_of_rows
            }
            clocks {
                a_result_is_taken_once_by_brokers_whose_clocks_differ
                an_outcome_that_a_broker_ahead_erased_has_expired_for_all
                a_code_is_redeemed_once_by_brokers_whose_clocks_differ
                an_upstream_login_is_spent_once_by_brokers_whose_clocks_differ
                a_key_belongs_to_one_login_whatever_the_clocks_say
            }
            races {
                of_64_openings_with_one_key_one_is_fresh
                of_64_openings_with_an_expired_key_one_is_fresh
                of_64_browsers_one_gets_the_login
                of_64_outcomes_one_is_settled
                of_64_reads_one_takes_the_outcome
                of_64_spendings_of_a_upstream_login_one_counts
                of_64_redemptions_one_gets_a_token
                of_64_revocations_all_succeed
                of_64_rounds_of_reads_and_writes_none_fails
            }
        }
    };
    ($engine:expr; $($area:ident { $($name:ident)+ })+) => {
        $(mod $area {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    let bench = super::super::Bench::on($engine).await;
                    super::super::$area::$name(bench).await;
                }
            )+
        })+
    };
}

// Named by its engine in every report: `storage::on_sqlite::logins::…`.
mod on_sqlite {
    suite! { crate::storage::sqlite::File::new() }
}

#[cfg(feature = "postgres")]
mod on_postgres {
    suite! { crate::storage::postgres::Schema::new() }
}
