//! The secrets of a configuration, which no message and no report shows.

use super::{COOKIE_KEY, LOCAL, PUBLIC, accepted, google, load, project_of, refused};
use crate::command::BrokerCommand;
use crate::scratch::Scratch;

#[test]
fn a_secret_of_the_wrong_type_is_refused_without_being_quoted() {
    let text =
        format!("{LOCAL}[upstream.google]\nclient_id = \"x\"\nclient_secret = 271828182845\n");
    refused(&text, "upstream.google.client_secret");
    let error = load(&text).err().unwrap();
    assert!(!error.to_string().contains("271828"), "{error}");
    assert!(!format!("{error:?}").contains("271828"), "{error:?}");
}

// Threats: A15.
#[test]
fn a_configuration_shows_none_of_its_secrets() {
    let config = accepted(&format!("{PUBLIC}{COOKIE_KEY}{}", google("")));
    let shown = format!("{config:?}");
    assert!(
        !shown.contains("GOCSPX") && !shown.contains("AAECAw"),
        "{shown}"
    );
}

#[test]
fn a_check_reports_what_would_be_served_and_no_secret() {
    let scratch = Scratch::new();
    let text = format!("{LOCAL}{}{}", google(""), project_of("x"));
    let path = scratch.write("broker.toml", &text);
    let output = BrokerCommand::with("check", &path).output();
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert!(
        output.out.contains("http://127.0.0.1:8000"),
        "{}",
        output.out
    );
    assert!(output.out.contains("Ada (prj_ada)"), "{}", output.out);
    assert!(!output.out.contains("GOCSPX"), "{}", output.out);
}
