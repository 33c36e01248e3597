//! The people files that are refused, each in one line.

use std::path::Path;

use super::{MARIE, folder, read, read_at};

/// Asserts that a file of this content is refused in one line: its path, then `message`.
#[track_caller]
fn check(content: &str, message: &str) {
    let refused = read(content).unwrap_err();
    let (path, refused) = refused.split_once(": ").unwrap();
    assert!(path.ends_with("people.toml"), "{path}");
    assert_eq!(refused, message);
}

/// The same for one person with this line more.
#[track_caller]
fn check_person(line: &str, message: &str) {
    let github = match line.starts_with("github") {
        true => "",
        false => "github = { id = \"1\" }",
    };
    let content = format!("[[people]]\nkey = \"marie\"\n{github}\n{line}\n");
    check(&content, &format!("person `marie`: {message}"));
}

#[test]
fn an_unknown_member_is_named() {
    check_person(
        "\"n\\u001bame\" = \"x\"",
        "\"n\\u{1b}ame\" is no member of a person; the members are key, reason, google, github, \
         name, username, email, email_verified, email_private, picture",
    );
    check_person(
        "id = \"7\"",
        "\"id\" is no member of a person; the members are key, reason, google, github, \
         name, username, email, email_verified, email_private, picture",
    );
    check_person(
        "google = { id = \"7\", login = \"x\" }",
        "google: \"login\" is no member of an account; the members are id, name, username, email, \
         email_verified, email_private, picture",
    );
    check(
        "\n[[person]]\nkey = \"marie\"",
        "line 2: unknown field `person`, expected `people`",
    );
}

#[test]
fn a_member_of_another_type_is_named() {
    check_person("name = 7", "github: name must be a string");
    check_person("reason = 7", "reason must be a string");
    check_person("name = 2026-11-22", "github: name must be a string");
    check_person(
        "google = \"7\"",
        "google must be a table, as in { id = \"4711\" }",
    );
    check_person("github = { id = 7 }", "github: id must be a string");
    check_person(
        "email_verified = \"yes\"",
        "github: email_verified must be true or false",
    );
    check("[[people]]\nkey = 7", "person 1: key must be a string");
}

#[test]
fn a_key_is_short_plain_and_a_persons_own() {
    let rule = "person 1: key must be 1 to 40 characters of a-z, 0-9, - and _";
    for key in ["", "Marie", "ma rie", "\\u001b", "é", &"a".repeat(41)] {
        check(&format!("[[people]]\nkey = \"{key}\""), rule);
    }
    check(
        "[[people]]\nname = \"Marie\"",
        "person 1: key is missing; add a short name, as in key = \"marie\"",
    );
    let duplicate = "key is that of another person or of a seed user; choose another key";
    let twice = format!("{MARIE}[[people]]\nkey = \"marie\"\ngithub = {{ id = \"1\" }}");
    check(&twice, &format!("person `marie`: {duplicate}"));
    let seed = "[[people]]\nkey = \"ada\"\ngithub = { id = \"1\" }";
    check(seed, &format!("person `ada`: {duplicate}"));
    check(
        "[[people]]\nkey = \"other\"\ngithub = { id = \"1\" }",
        "person `other`: key is reserved for the form of another account; choose another key",
    );
}

#[test]
fn an_id_is_one_that_the_provider_can_have_and_no_other_users() {
    check_person("github = {}", "github: a person needs an id");
    check_person(
        "github = { id = \"007\" }",
        "github: id must be a string of digits without leading zeros, as GitHub's id is a number",
    );
    check_person(
        "google = { id = \"\" }",
        "google: id must be 1 to 255 ASCII characters, as Google's sub is",
    );
    check_person(
        "github = { id = \"9000001\" }",
        "github: id is also that of `ada`; choose another id",
    );
    let twice = format!("{MARIE}[[people]]\nkey = \"pierre\"\ngithub = {{ id = \"4711\" }}");
    check(
        &twice,
        "person `pierre`: github: id is also that of `marie`; choose another id",
    );
}

#[test]
fn a_person_needs_an_account() {
    check(
        "[[people]]\nkey = \"marie\"\nname = \"Marie\"",
        "person `marie`: has no account; add google = { id = \"…\" }, github = { id = \"…\" }, \
         or both",
    );
}

#[test]
fn a_file_that_is_no_people_file_is_refused_in_one_line() {
    check("", "has no person; add a [[people]] table for each");
    check(
        "\n# Nothing.\n",
        "has no person; add a [[people]] table for each",
    );
    for broken in [
        "[[people]]\nkey = \"marie",
        "[[people]]\n\u{1b}[2J",
        "people = 5",
        "people = [5]",
        "[[people]]\nkey = \"a\"\nkey = \"b\"",
    ] {
        let refused = read(broken).unwrap_err();
        assert!(refused.contains(": line "), "{refused}");
        assert!(!refused.contains(char::is_control), "{refused:?}");
    }
    let second_line = read("[[people]]\nkey = marie").unwrap_err();
    assert!(
        second_line.contains("people.toml: line 2: "),
        "{second_line}"
    );
}

#[test]
fn a_deeply_nested_file_is_refused() {
    for deep in [
        format!("people = {}", "[".repeat(100_000)),
        format!("x = {}", "{a=".repeat(60_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
    ] {
        let refused = read(&deep).unwrap_err();
        assert!(refused.contains("people.toml: line 1: "), "{refused:.200}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_way_out() {
    let folder = folder("");
    let hint = "name a TOML file with [[people]] tables";
    let missing = read_at(&folder.path().join("nothing.toml")).unwrap_err();
    assert!(missing.contains("nothing.toml: No such file"), "{missing}");
    assert!(missing.ends_with(hint), "{missing}");
    for special in [folder.path(), Path::new("/dev/zero")] {
        let refused = read_at(special).unwrap_err();
        let expected = format!("{}: is no regular file; {hint}", special.display());
        assert_eq!(refused, expected);
    }
    let binary = folder.path().join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert!(read_at(&binary).unwrap_err().ends_with(hint));
}

#[test]
fn a_file_has_at_most_256_kib() {
    let padded = |bytes: usize| format!("{MARIE}{}", "#".repeat(bytes - MARIE.len()));
    assert!(read(&padded(256 * 1024)).is_ok());
    check(
        &padded(256 * 1024 + 1),
        "has more than 256 KiB; leave people out",
    );
}
