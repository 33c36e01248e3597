//! Credentials for projects: the TOML for the configuration on standard output, and the
//! secret, which is shown only once, on standard error.

use std::error::Error;
use std::io::Write;

use crate::projects::{Project, ProjectName};
use crate::random::bytes32;
use contract::{ClientSecret, Digest, RedirectUri};

pub(super) fn new_project(
    name: &ProjectName,
    redirect_uris: &[RedirectUri],
) -> Result<(), Box<dyn Error>> {
    let secret = ClientSecret::from_random(&bytes32());
    let mut id = Digest::from_bytes(bytes32()).to_text();
    id.truncate(22);
    let client_id = format!("prj_{id}");
    let callbacks: Vec<_> = redirect_uris
        .iter()
        .map(|uri| quoted(uri.as_str()))
        .collect();
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n[[project]]")?;
    writeln!(out, "name = {}", toml_text(name.as_str()))?;
    writeln!(out, "client_id = {}", quoted(&client_id))?;
    digest_line(&mut out, "client_secret_sha256", &secret.digest())?;
    writeln!(out, "redirect_uris = [{}]", callbacks.join(", "))?;
    print_secret(&client_id, &secret)
}

/// Makes a second secret for a configured project.
pub(super) fn new_secret(client_id: &str, projects: &[Project]) -> Result<(), Box<dyn Error>> {
    let project = projects
        .iter()
        .find(|project| project.client_id.as_str() == client_id)
        .ok_or("no project of this configuration has that client_id: `broker check` lists them")?;
    if project.previous_client_secret_sha256.is_some() {
        return Err(
            "the project already has a previous_client_secret_sha256, and at most two secrets are \
             valid at once: remove that line first, when no backend uses the older one any more"
                .into(),
        );
    }
    let secret = ClientSecret::from_random(&bytes32());
    let mut out = std::io::stdout().lock();
    writeln!(out, "# Instead of the client_secret_sha256 of {client_id}:")?;
    digest_line(&mut out, "client_secret_sha256", &secret.digest())?;
    let previous = &project.client_secret_sha256;
    digest_line(&mut out, "previous_client_secret_sha256", previous)?;
    print_secret(client_id, &secret)
}

fn digest_line(out: &mut impl Write, key: &str, digest: &Digest) -> std::io::Result<()> {
    writeln!(out, "{key} = {}", quoted(&digest.to_text()))
}

fn print_secret(client_id: &str, secret: &ClientSecret) -> Result<(), Box<dyn Error>> {
    writeln!(
        std::io::stderr(),
        "client_id: {client_id}\nclient_secret (shown only once): {}",
        secret.expose()
    )?;
    Ok(())
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A TOML basic string of printable text: like JSON's, whose escapes TOML shares.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
