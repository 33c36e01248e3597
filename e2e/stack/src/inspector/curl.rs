//! A recorded request as a curl command, with a shell variable in place of each secret.

use serde_json::Value;

use crate::event_log::Message;

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

/// The command that sends `request`, which is masked, to the broker at `broker_url`.
pub(super) fn command(request: &Message, broker_url: &str) -> String {
    let (method, target) = request.start.split_once(' ').unwrap_or_default();
    let mut lines = vec![format!("curl -X {method} \"{broker_url}{}\"", url(target))];
    for (name, value) in &request.headers {
        if HEADERS.contains(&name.as_str()) {
            lines.push(format!("--header \"{name}: {}\"", header(name, value)));
        }
    }
    let body = request.body.as_deref().and_then(body);
    if body.is_some() {
        lines.push("--data @- <<END".to_owned());
    }
    let command = lines.join(" \\\n  ");
    match body {
        Some(body) => format!("{command}\n{body}\nEND"),
        None => command,
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
        Some((name, value)) => format!("{}={}", escaped(name), unmasked(name, value)),
        None => unmasked("parameter", pair),
    }
}

/// A value, or the variable for a masked one. What a shell would read in it is escaped.
fn unmasked(name: &str, value: &str) -> String {
    match value.contains(MASKED) {
        true => variable(name),
        false => escaped(value),
    }
}

fn header(name: &str, value: &str) -> String {
    match value.split_once(MASKED) {
        None => escaped(value),
        Some((scheme, _)) if name == "authorization" => format!("{scheme}$ACCESS_TOKEN"),
        Some(_) => variable(name),
    }
}

/// Stands for the `$` of a variable while the text around it is escaped.
const DOLLAR: char = '\u{e000}';

/// The JSON body with its masked members as variables; another body is not kept.
fn body(shown: &str) -> Option<String> {
    let mut json: Value = serde_json::from_str(&shown.replace(DOLLAR, "")).ok()?;
    for (name, value) in json.as_object_mut()? {
        let is_masked = value.as_str().is_some_and(|it| it.contains(MASKED));
        if is_masked {
            *value = variable(name).replace('$', &DOLLAR.to_string()).into();
        }
    }
    let text = serde_json::to_string_pretty(&json).ok()?;
    Some(escaped_document(&text).replace(DOLLAR, "$"))
}

/// `client_secret` as `$CLIENT_SECRET`. A client may have sent any name.
fn variable(name: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' => letter.to_ascii_uppercase(),
        _ => '_',
    };
    format!("${}", name.chars().map(letter).collect::<String>())
}

/// Text between double quotes of a shell.
fn escaped(text: &str) -> String {
    escaped_document(text).replace('"', "\\\"")
}

/// Text in a here-document of a shell.
fn escaped_document(text: &str) -> String {
    let escape = |character| match character {
        '\\' | '$' | '`' => format!("\\{character}"),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            command(&request, "http://broker.test"),
            "curl -X POST \"http://broker.test/v1/login/result\" \\\n  \
             --header \"content-type: application/json\" \\\n  \
             --data @- <<END\n{\n  \"client_id\": \"demo\",\n  \
             \"client_secret\": \"$CLIENT_SECRET\",\n  \"session_key\": \"$SESSION_KEY\"\n}\nEND"
        );
        let visit = message(
            "GET /login/[masked abc]",
            &[("cookie", "x=[masked c]")],
            None,
        );
        assert_eq!(
            command(&visit, "http://broker.test"),
            "curl -X GET \"http://broker.test/login/$HANDLE\" \\\n  --header \"cookie: $COOKIE\""
        );
        let profile = message(
            "GET /v1/profile",
            &[("authorization", "Bearer [masked d]")],
            None,
        );
        assert!(command(&profile, "").ends_with("\"authorization: Bearer $ACCESS_TOKEN\""));
    }

    #[test]
    fn a_shell_reads_nothing_in_a_value() {
        let request = message(
            "GET /authorize?a=$(reboot)&b=`x`&c=\"",
            &[("referer", "\\")],
            None,
        );
        let command = command(&request, "");
        assert!(
            command.contains(r#"a=\$(reboot)&b=\`x\`&c=\""#),
            "{command}"
        );
        assert!(command.contains(r#""referer: \\""#), "{command}");
        let body = r#"{"a":"$(reboot)","b c":"[masked x]","d":"`?$x`"}"#.replace('?', "\u{e000}");
        let command = super::command(&message("POST /", &[], Some(&body)), "");
        assert!(command.contains(r#""a": "\$(reboot)""#), "{command}");
        assert!(command.contains(r#""b c": "$B_C""#), "{command}");
        assert!(command.contains(r#""d": "\`\$x\`""#), "{command}");
    }
}
