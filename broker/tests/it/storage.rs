//! The promises of a store, the same for every engine: those that the exploration of
//! `consistency` cannot ask for by a request.
//!
//! The suite is a list of functions of a [`TestStore`](test_store::TestStore), which has an
//! empty database. An engine that is to pass it implements [`Engine`](test_store::Engine) and
//! adds one line to the end of this file. A function that is missing from the list is dead
//! code, which the compiler reports.

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod races;
mod sqlite;
mod steps;
mod sweeping;
pub(crate) mod test_store;

macro_rules! suite {
    ($engine:expr) => {
        suite! { $engine;
            steps {
                every_step_of_one_broker_counts_at_another
                a_login_can_be_completed_until_its_600_seconds_are_over
                an_outcome_expires_after_600_seconds_for_good
                two_logins_do_not_affect_each_other
                a_read_passes_its_fail_points_in_order
                a_code_that_expired_stays_expired
                an_expired_token_is_erased_not_revoked_and_then_forgotten
                two_grants_do_not_affect_each_other
                the_same_code_cannot_be_issued_twice
            }
            sweeping {
                a_sweep_deletes_a_login_once_it_is_no_longer_known
                a_sweep_erases_a_profile_once_it_has_expired
                a_sweep_keeps_a_consumed_upstream_login_until_a_minute_after_its_end
                a_sweep_keeps_a_code_without_its_profile_until_every_token_would_have_ended
                the_refusal_of_an_ended_token_does_not_depend_on_the_sweeper
                a_sweep_keeps_the_profile_of_a_token_that_has_not_ended
                a_sweep_deletes_a_bounded_number_of_rows
                a_result_is_consumed_once_by_brokers_whose_clocks_differ
                an_outcome_that_a_broker_ahead_erased_has_expired_at_all_brokers
                a_code_is_redeemed_once_by_brokers_whose_clocks_differ
                an_upstream_login_is_consumed_once_by_brokers_whose_clocks_differ
                a_key_belongs_to_one_login_even_if_clocks_differ
            }
            races {
                of_64_redemptions_one_gets_a_token
                reads_and_writes_of_64_callers_do_not_fail
            }
        }
    };
    ($engine:expr; $($area:ident { $($name:ident)+ })+) => {
        $(mod $area {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    let store = super::super::test_store::TestStore::on($engine);
                    super::super::$area::$name(store).await;
                }
            )+
        })+
    };
}

// The name of the module is part of each report: `storage::on_sqlite::logins::…`.
mod on_sqlite {
    suite! { crate::storage::sqlite::File::new() }
}

#[cfg(feature = "postgres")]
mod on_postgres {
    suite! { crate::storage::postgres::Schema::new().await }
}

#[cfg(feature = "postgres")]
mod on_pgbouncer {
    suite! { crate::storage::postgres::pooled().await }
}
