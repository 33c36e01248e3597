//! The text that the program prints once everything runs: addresses, credentials, and
//! the commands with which clients trust the certificate authority.

use std::path::Path;

use crate::labels::word;
use crate::{HostName, Stack};
use contract::RedirectUri;

/// The banner of a stack that other machines reach as `host`.
pub(super) fn of(stack: &Stack, host: Option<&HostName>) -> String {
    let urls = stack.urls();
    format!(
        "\n  The sign-in stack is up. Open the demo to begin. Press Ctrl-C to stop.\n\n\
         \x20   demo              {}\n\
         \x20   broker            {}\n\
         \x20   inspector         {}\n\
         \x20   control           {} (the same address; its calls are at /calls)\n\
         \x20   imitated Google   {}\n\
         \x20   imitated GitHub   {}\n\
         \x20   coding agents     {}/llms.txt (all of it on two pages; also /api/manifest)\n\
         \x20   documents         {}/docs (how to connect, test and examine your app)\n\
         \x20   example apps      {}/source (in seven languages)\n\n\
         {}{}{}\n",
        urls.consumer,
        urls.broker,
        urls.control,
        urls.control,
        urls.google,
        urls.github,
        urls.control,
        urls.control,
        urls.control,
        stack
            .ca_file()
            .map(|ca| trust(ca, stack))
            .unwrap_or_default(),
        warning(host),
        projects(stack),
    )
}

pub(super) fn warning(host: Option<&HostName>) -> String {
    match host {
        None => "  Development credentials (public, for this machine only)\n\n".to_owned(),
        Some(host) => format!(
            "  OPEN TO THE NETWORK as {host}: everybody who reaches this machine can use the\n\
             \x20 stack, control it and read its secrets. Use it on networks that you trust.\n\n"
        ),
    }
}

fn projects(stack: &Stack) -> String {
    let projects = stack.projects().list();
    let lines = projects.iter().map(|project| {
        let callbacks: Vec<_> = project
            .redirect_uris
            .iter()
            .map(RedirectUri::as_str)
            .collect();
        format!(
            "    {}\n      client_id      {}\n      client_secret  {}\n      callbacks      {}\n",
            project.name,
            project.client_id,
            project.client_secret.expose(),
            callbacks.join("\n                     "),
        )
    });
    lines.collect()
}

/// The commands with which clients trust the authority in the file `ca`. Each was run by
/// a test (`tests/stack/program/trust.rs`).
fn trust(path: &Path, stack: &Stack) -> String {
    let (ca, control) = (word(&path.display().to_string()), &stack.urls().control);
    let commands = [
        ("curl", format!("curl --cacert {ca} {control}/api/stack")),
        ("Python", format!("export SSL_CERT_FILE={ca}")),
        ("  requests", format!("export REQUESTS_CA_BUNDLE={ca}")),
        ("Node", format!("export NODE_EXTRA_CA_CERTS={ca}")),
        (
            "Java",
            format!(
                "rm -f sign-in-stack.p12; keytool -importcert -noprompt -alias sign-in-stack \
                 -file {ca} -keystore sign-in-stack.p12 -storetype PKCS12 -storepass changeit"
            ),
        ),
        (
            "",
            "export JAVA_TOOL_OPTIONS=\"-Djavax.net.ssl.trustStore=$PWD/sign-in-stack.p12 \
             -Djavax.net.ssl.trustStorePassword=changeit\""
                .to_owned(),
        ),
        (
            "Chromium",
            "mkdir -p ~/.pki/nssdb; \
             certutil -d sql:$HOME/.pki/nssdb -D -n sign-in-stack 2>/dev/null || true"
                .to_owned(),
        ),
        (
            "",
            format!("certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n sign-in-stack -i {ca}"),
        ),
        (
            "Firefox",
            "Settings, Privacy & Security, View Certificates, Authorities, Import".to_owned(),
        ),
    ];
    let commands = commands.map(|(client, command)| format!("    {client:<11} {command}\n"));
    format!("{}{}\n", ca_file(path), commands.concat())
}

/// The file of the authority, and why clients need it.
pub(super) fn ca_file(path: &Path) -> String {
    format!(
        "  HTTPS: clients must trust the certificate authority of this start. It has signed one\n\
         \x20 certificate, for the addresses above, and can sign no other.\n\n\
         \x20   ca_file     {}\n",
        word(&path.display().to_string())
    )
}
