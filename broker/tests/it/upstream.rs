//! The broker as a client: what it says to Google and GitHub, and what it makes
//! of whatever they answer. The providers here are scripts on raw sockets.
//!
//! The threat catalogue numbers its checks of this side; where each is held:
//!
//! | id | tests (`http::` is beside this folder, the rest in it) |
//! |---|---|
//! | B1 | `http::callbacks::{a_callback_without_its_cookie_is_refused_and_spends_nothing, another_trips_state_is_refused_in_a_browser_that_holds_one, a_cookie_that_was_tampered_with_is_no_cookie}` |
//! | B2 | `http::callbacks::{a_clean_callback_delivered_twice_asks_the_provider_once, of_32_callbacks_at_once_one_asks_the_provider_and_all_go_home, of_32_legacy_callbacks_at_once_one_brings_a_code}` |
//! | B3 | `callback::b03_…`; `http::callbacks::the_code_is_sent_to_the_provider_once_with_the_trips_own_verifier` |
//! | B4 | `id_token::b04_…`; `errors::another_logins_nonce` |
//! | B5, B6, B7, B8, B10 | `callback::{b05_…, b06_…, b07_…, b08_…, b10_…}` |
//! | B9 | `errors`: one test for each row of the error map, in both flows |
//! | B11, B12, B13 | `limits::{b11_…, b12_…, b13_…}` |
//! | B14 | `errors::b14_…` |
//! | B15, B16 | `id_token::{b15_…, b16_…}`; the ID token's rows in `errors` |
//! | B17, B18, B21 | `keys::{b17_…, b18_…, b21_…}` |
//! | B19 | `callback::b19_…`: userinfo is never asked |
//! | B20 | `b20_…` in `src/upstream/google/id_token.rs`, to the second |
//! | B22, B23, B24, B25 | `people::{b22_…, b23_…, b24_…, b25_…}` |
//! | B26, B27, B28, B29 | `callback::{b26_…, b27_…, b28_…, b29_…}`; `http::at_rest` |
//! | B30 | `errors`: every row comes home to the exact callback; `http::callbacks::a_callback_that_is_no_longer_registered_gets_nobody` |

mod callback;
mod errors;
mod health;
mod id_token;
mod keys;
mod limits;
mod online;
mod people;
mod script;
mod stage;
