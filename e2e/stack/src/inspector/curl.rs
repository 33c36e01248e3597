//! A recorded request as a curl command, with a shell variable in place of each secret.

use serde_json::Value;

use crate::event_log::Message;
use crate::labels::quoted;

/// The headers that the broker reads; curl sets the others itself.
const HEADERS: [&str; 8] = [
    "authorization",
    "content-type",
    "cookie",
    "origin",
    "referer",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
];

/// The start of a masked value.
const MASKED: &str = "[masked";

/// Encloses the name of a variable in a text that is not quoted yet.
const VARIABLE: char = '\u{e000}';

/// The command that sends `request`, which is masked, to the broker at `broker_url`; `None`
/// if its method is no word in capitals, which a shell or curl may read as something else.
pub(super) fn command(request: &Message, broker_url: &str) -> Option<String> {
    let (method, target) = request.start.split_once(' ')?;
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let url = format!("{broker_url}{}", url(&plain(target)));
    let options = verbatim(&url);
    let mut lines = vec![format!("curl -X {method} {options}{}", argument(&url))];
    for (name, value) in &request.headers {
        if HEADERS.contains(&name.as_str()) {
            let header = format!("{name}: {}", header(name, &plain(value)));
            lines.push(format!("--header {}", argument(&header)));
        }
    }
    if let Some(body) = request.body.as_deref().and_then(body) {
        // In a pipe: what is in the arguments of a program, every user of the machine can read.
        lines[0] = format!("printf %s {} |\n{}", argument(&body), lines[0]);
        lines.push("--data @-".to_owned());
    }
    Some(lines.join(" \\\n  "))
}

/// The options without which curl sends another path than that of `url`, or several.
fn verbatim(url: &str) -> &'static str {
    match url.contains("/.") || url.contains(['[', ']', '{', '}']) {
        true => "--path-as-is --globoff ",
        false => "",
    }
}

/// A path and its query.
fn url(target: &str) -> String {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let path: Vec<_> = path.split('/').map(|it| unmasked("handle", it)).collect();
    let query = query.map(|query| {
        let pairs: Vec<_> = query.split('&').map(parameter).collect();
        format!("?{}", pairs.join("&"))
    });
    format!("{}{}", path.join("/"), query.unwrap_or_default())
}

fn parameter(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, value)) => format!("{name}={}", unmasked(name, value)),
        None => unmasked("parameter", pair),
    }
}

/// A value, or the variable for a masked one.
fn unmasked(name: &str, value: &str) -> String {
    match value.contains(MASKED) {
        true => variable(name),
        false => value.to_owned(),
    }
}

fn header(name: &str, value: &str) -> String {
    match value.split_once(MASKED) {
        None => value.to_owned(),
        Some((scheme, _)) if name == "authorization" => {
            format!("{scheme}{}", variable("access_token"))
        }
        Some(_) => variable(name),
    }
}

/// The JSON body with its masked members as variables; another body is not kept.
fn body(shown: &str) -> Option<String> {
    let mut json: Value = serde_json::from_str(&plain(shown)).ok()?;
    for (name, value) in json.as_object_mut()? {
        let is_masked = value.as_str().is_some_and(|it| it.contains(MASKED));
        if is_masked {
            *value = variable(name).into();
        }
    }
    serde_json::to_string_pretty(&json).ok()
}

/// Recorded text, in which no client can name a variable.
fn plain(text: &str) -> String {
    text.replace(VARIABLE, "")
}

fn variable(name: &str) -> String {
    format!("{VARIABLE}{name}{VARIABLE}")
}

/// One argument of the command: text in single quotes, and variables in double quotes.
fn argument(text: &str) -> String {
    let pieces = text.split(VARIABLE).enumerate();
    let pieces = pieces.filter(|(_, piece)| !piece.is_empty());
    pieces
        .map(|(nth, piece)| match nth % 2 {
            0 => quoted(piece),
            _ => format!("\"${}\"", variable_name(piece)),
        })
        .collect()
}

/// `client_secret` as `CLIENT_SECRET`. A client may have sent any name.
fn variable_name(name: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' => letter.to_ascii_uppercase(),
        _ => '_',
    };
    let name: String = name.chars().map(letter).collect();
    match name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("_{name}"),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Text that a shell would act on, each in its own way; also across two arguments, and
    /// with the mark of a variable.
    const SHELL_TEXTS: [&str; 10] = [
        "`touch made`",
        "$(touch made)",
        "'; touch made; '",
        "\\'; touch made; #",
        "\"; touch made; \"",
        "| touch made & touch made > made",
        "!touch !! !$ \"!!\"",
        "a\ntouch made\n!touch",
        "* ~ ? {a,b} $HOME \\",
        "\u{e000}x`touch made`\u{e000}",
    ];

    fn message(start: &str, headers: &[(&str, &str)], body: Option<&str>) -> Message {
        let headers = headers.iter();
        Message {
            start: start.to_owned(),
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: body.map(str::to_owned),
        }
    }

    /// The arguments that curl receives when a reader pastes the command for `request` into
    /// a shell that expands its history. Nothing else may happen there.
    #[track_caller]
    fn arguments(request: &Message) -> Vec<String> {
        let command = command(request, "http://broker.test").expect("a command");
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "set -o history -o histexpand\n\
             curl() {{ printf '%s\\0' \"$@\"; if [ \"${{@: -1}}\" = @- ]; then cat; fi; }}\n\
             CLIENT_SECRET='a secret' SESSION_KEY='`a key`' HANDLE='a $handle'\n\
             COOKIE='a \"cookie\"' ACCESS_TOKEN='*' _1ST='!!'\n\
             {command}\n"
        );
        let mut bash = Command::new("bash")
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("bash");
        let mut stdin = bash.stdin.take().unwrap();
        stdin.write_all(script.as_bytes()).unwrap();
        drop(stdin);
        let output = bash.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.is_empty(), "{command}\n{errors}");
        let made = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(made, 0, "{command}");
        let printed = String::from_utf8(output.stdout).unwrap();
        printed.split_terminator('\0').map(str::to_owned).collect()
    }

    #[test]
    fn each_secret_is_a_variable() {
        let request = message(
            "POST /v1/login/result",
            &[("host", "x"), ("content-type", "application/json")],
            Some(
                r#"{"client_id":"demo","client_secret":"[masked aaaa]","session_key":"[masked b]"}"#,
            ),
        );
        assert_eq!(
            command(&request, "http://broker.test").unwrap(),
            "printf %s '{\n  \"client_id\": \"demo\",\n  \
             \"client_secret\": \"'\"$CLIENT_SECRET\"'\",\n  \
             \"session_key\": \"'\"$SESSION_KEY\"'\"\n}' |\n\
             curl -X POST 'http://broker.test/v1/login/result' \\\n  \
             --header 'content-type: application/json' \\\n  \
             --data @-"
        );
        assert_eq!(
            arguments(&request)[5..],
            [
                "--data",
                "@-",
                "{\n  \"client_id\": \"demo\",\n  \"client_secret\": \"a secret\",\n  \
                 \"session_key\": \"`a key`\"\n}"
            ]
        );
        let visit = message(
            "GET /login/[masked abc]?1st=[masked d]",
            &[
                ("cookie", "x=[masked c]"),
                ("authorization", "Bearer [masked d]"),
            ],
            None,
        );
        assert_eq!(
            arguments(&visit),
            [
                "-X",
                "GET",
                "http://broker.test/login/a $handle?1st=!!",
                "--header",
                "cookie: a \"cookie\"",
                "--header",
                "authorization: Bearer *",
            ]
        );
    }

    // Threats: W3.
    #[test]
    fn a_shell_reads_nothing_in_a_request() {
        for text in SHELL_TEXTS {
            let body = serde_json::json!({ "client_id": text, text: "x" });
            let request = message(
                &format!("GET /{text}?{text}={text}"),
                &[("referer", text), (text, "x")],
                Some(&body.to_string()),
            );
            let arguments = arguments(&request);
            let [_, _, options @ .., _, referer, _, _, sent] = &arguments[..] else {
                panic!("{arguments:?}");
            };
            let text = plain(text);
            let url = options.last().expect("a URL");
            assert_eq!(*url, format!("http://broker.test/{text}?{text}={text}"));
            assert_eq!(*referer, format!("referer: {text}"));
            let sent: Value = serde_json::from_str(sent).expect("the body");
            assert_eq!(sent, serde_json::json!({ "client_id": text, text: "x" }));
        }
    }

    // Threats: W3.
    #[test]
    fn a_method_that_is_no_word_in_capitals_has_no_command() {
        for text in SHELL_TEXTS.into_iter().chain(["", "get", "-K", "@x"]) {
            let request = message(&format!("{} /", text.replace(' ', "$IFS")), &[], None);
            assert_eq!(command(&request, ""), None, "{text}");
        }
    }

    #[test]
    fn curl_sends_a_path_as_it_was() {
        for path in ["/a/../b", "/[1-9]", "/{a,b}"] {
            let sent = arguments(&message(&format!("GET {path}"), &[], None));
            let url = format!("http://broker.test{path}");
            assert_eq!(sent, ["-X", "GET", "--path-as-is", "--globoff", &*url]);
        }
    }
}
