//! The requirements of a broker that other machines can reach.

use contract::DEVELOPMENT_SECRET;

use super::{COOKIE_KEY, LOCAL, PUBLIC, accepted, previous, project_of, refused};

// Threats: RAUTHY-009.
#[test]
fn a_broker_that_others_can_reach_has_cookie_keys_of_its_own() {
    let everywhere = "bind = \"0.0.0.0:8000\"\n";
    let everywhere6 = "bind = \"[::]:8000\"\n";
    refused(PUBLIC, "cookie_keys");
    refused(&format!("{LOCAL}{everywhere}"), "cookie_keys");
    refused(&format!("{LOCAL}{everywhere6}"), "cookie_keys");
    refused(&format!("{PUBLIC}cookie_keys = []\n"), "cookie_keys");
    assert!(!accepted(&format!("{PUBLIC}{COOKIE_KEY}")).is_local());
    assert!(!accepted(&format!("{PUBLIC}{everywhere}{COOKIE_KEY}")).is_local());
    accepted(&format!("{LOCAL}bind = \"[::1]:8000\"\n"));
    accepted(&format!("{LOCAL}bind = \"127.0.0.2:8000\"\n"));
}

#[test]
fn a_broker_that_others_can_reach_is_not_at_an_http_address() {
    for bind in ["0.0.0.0:8000", "[::]:8000", "192.0.2.1:8000"] {
        refused(
            &format!("{LOCAL}bind = \"{bind}\"\n{COOKIE_KEY}"),
            "base_url is http",
        );
    }
}

// Threats: RAUTHY-009.
#[test]
fn a_broker_that_others_can_reach_refuses_the_development_secret() {
    let known = project_of(DEVELOPMENT_SECRET);
    refused(
        &format!("{PUBLIC}{COOKIE_KEY}{known}"),
        "development secret",
    );
    let everywhere = format!("{LOCAL}bind = \"0.0.0.0:8000\"\n{COOKIE_KEY}{known}");
    refused(&everywhere, "development secret");
    let second = format!("{PUBLIC}{COOKIE_KEY}{}{known}", project_of("x"));
    refused(&second, "development secret");
    let before = format!("{}{}", project_of("x"), previous(DEVELOPMENT_SECRET));
    refused(
        &format!("{PUBLIC}{COOKIE_KEY}{before}"),
        "development secret",
    );
    accepted(&format!("{LOCAL}{known}"));
    accepted(&format!("{PUBLIC}{COOKIE_KEY}{}", project_of("x")));
}
