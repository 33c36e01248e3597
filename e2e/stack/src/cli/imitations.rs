//! `--imitations-only`: the imitated Google and GitHub alone, for any app.

use std::error::Error;
use std::fmt;
use std::fmt::Write as _;

use clap::Args;
use mock_upstream::{Client, Clients, Provider};

use super::banner::{ca_file, warning};
use crate::StackSettings;
use crate::control::serve_imitations;
use crate::imitations::Imitations;
use crate::runtime::ServerHandle;

/// The flags of the imitations.
#[derive(Debug, Args)]
pub(super) struct ImitationFlags {
    /// Start only the imitated Google and GitHub, for an app that uses them without the
    /// broker; needs --client or --any-client. Tests drive them at --control, if it is given
    #[arg(long, conflicts_with_all = ["callbacks", "health"])]
    imitations_only: bool,

    /// Register an app with both imitations by its client id, client secret and callback;
    /// repeat for more apps, or for more callbacks of one. Every user of this machine can
    /// read a flag: where the secret is a real one, set the variable, with one app a line
    #[arg(
        long = "client",
        env = "STACK_CLIENTS",
        hide_env_values = true,
        value_delimiter = '\n',
        value_name = "ID:SECRET@CALLBACK",
        requires = "imitations_only"
    )]
    clients: Vec<ClientFlag>,

    /// Accept any client id, client secret and callback, instead of only those of --client
    #[arg(long, requires = "imitations_only", conflicts_with = "clients")]
    any_client: bool,
}

/// The text of a `--client`. It is parsed later than other flags, because clap's errors
/// repeat the text, which contains a secret.
#[derive(Clone)]
struct ClientFlag(String);

/// The registrations that the flags ask for.
pub(super) enum Registrations {
    Any,
    Registered(Vec<Registration>),
}

/// A client and its callbacks.
#[derive(Clone)]
pub(super) struct Registration {
    client_id: String,
    client_secret: String,
    callbacks: Vec<String>,
}

/// The reason why a `--client` cannot be used; it does not repeat the secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum InvalidFlag {
    #[error("--imitations-only needs --client ID:SECRET@CALLBACK for your app, or --any-client")]
    NoClient,
    #[error(
        "--client number {0}: {1}; write ID:SECRET@CALLBACK, as in my-app:secret@http://localhost:3000/callback"
    )]
    Parts(usize, &'static str),
    #[error(
        "--client number {number}: the callback of {client_id} must be an absolute http or https URL without a fragment"
    )]
    Callback { number: usize, client_id: String },
    #[error(
        "--client number {number}: {client_id} has another secret than before; a client has one"
    )]
    TwoSecrets { number: usize, client_id: String },
}

impl ImitationFlags {
    /// The registrations, if only the imitations shall start.
    pub(super) fn registrations(&self) -> Option<Result<Registrations, Box<dyn Error>>> {
        self.imitations_only
            .then(|| self.parse().map_err(Into::into))
    }

    fn parse(&self) -> Result<Registrations, InvalidFlag> {
        if self.any_client {
            return Ok(Registrations::Any);
        }
        let mut registrations = Vec::new();
        for (index, flag) in self.clients.iter().enumerate() {
            add(&mut registrations, index + 1, &flag.0)?;
        }
        match registrations.is_empty() {
            true => Err(InvalidFlag::NoClient),
            false => Ok(Registrations::Registered(registrations)),
        }
    }
}

/// Adds the client of the `number`th flag, or its callback to the client that is known.
fn add(
    registrations: &mut Vec<Registration>,
    number: usize,
    flag: &str,
) -> Result<(), InvalidFlag> {
    let Registration {
        client_id,
        client_secret,
        callbacks,
    } = Registration::parse(flag).map_err(|problem| InvalidFlag::Parts(number, problem))?;
    if Client::new(&client_id, "", &callbacks).is_err() {
        return Err(InvalidFlag::Callback { number, client_id });
    }
    let known = registrations
        .iter_mut()
        .find(|it| it.client_id == client_id);
    match known {
        Some(known) if known.client_secret != client_secret => {
            return Err(InvalidFlag::TwoSecrets { number, client_id });
        }
        Some(known) => known.callbacks.extend(callbacks),
        None => registrations.push(Registration {
            client_id,
            client_secret,
            callbacks,
        }),
    }
    Ok(())
}

impl Registration {
    fn parse(flag: &str) -> Result<Self, &'static str> {
        let (client_id, rest) = flag.split_once(':').ok_or("the secret is missing")?;
        // A secret may contain an `@`, and so may a callback.
        let at = ["@http://", "@https://"].map(|start| rest.find(start));
        let at = at.into_iter().flatten().min();
        let (client_secret, callback) = rest.split_at(at.ok_or("the callback is missing")?);
        match (client_id, client_secret) {
            ("", _) => Err("the client id is empty"),
            (_, "") => Err("the secret is empty"),
            _ => Ok(Self {
                client_id: client_id.to_owned(),
                client_secret: client_secret.to_owned(),
                callbacks: vec![callback[1..].to_owned()],
            }),
        }
    }

    fn client(&self) -> Client {
        let Self {
            client_id,
            client_secret,
            callbacks,
        } = self;
        Client::new(client_id, client_secret, callbacks).expect("the callbacks were checked")
    }
}

impl Registrations {
    fn clients(&self) -> Clients {
        match self {
            Self::Any => Clients::Any,
            Self::Registered(all) => {
                Clients::Registered(all.iter().map(Registration::client).collect())
            }
        }
    }
}

/// The running imitations, and their control address if they have one.
pub(super) type Running = (Imitations, Option<ServerHandle>);

/// Starts the imitations, and returns them with their banner.
pub(super) async fn start(
    settings: &StackSettings,
    registrations: &Registrations,
) -> Result<(Running, String), Box<dyn Error>> {
    let imitations = Imitations::start(settings, registrations.clients()).await?;
    let mut text = banner(&imitations);
    let mut server = None;
    if let Some(address) = settings.control {
        let host = settings.control_host.as_deref();
        let (url, running) = serve_imitations(&imitations, host, address).await?;
        let what = "control";
        let _ = writeln!(text, "    {what:<27} {url} (its calls are at /calls)\n");
        server = Some(running);
    }
    if let Some(path) = imitations.ca_file() {
        text.push_str(&ca_file(path));
        text.push('\n');
    }
    text.push_str(&warning(settings.host.as_ref()));
    text.push_str(&registrations.to_string());
    text.push('\n');
    Ok(((imitations, server), text))
}

/// The addresses of the providers.
fn banner(imitations: &Imitations) -> String {
    let mut text =
        "\n  The imitated Google and GitHub are up. Press Ctrl-C to stop.\n\n".to_owned();
    for provider in Provider::ALL {
        let upstream = imitations.upstream().provider(provider);
        let _ = writeln!(
            text,
            "    imitated {:<18} {}",
            provider.title(),
            upstream.url()
        );
        for (name, url) in upstream.endpoints() {
            let _ = writeln!(text, "      {name:<25} {url}");
        }
        text.push('\n');
    }
    text
}

impl fmt::Display for Registrations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Registered(all) = self else {
            return writeln!(f, "    any client id, client secret and callback");
        };
        for it in all {
            writeln!(f, "    client_id      {}", it.client_id)?;
            writeln!(f, "    client_secret  {}", it.client_secret)?;
            let callbacks = it.callbacks.join("\n                   ");
            writeln!(f, "    callbacks      {callbacks}")?;
        }
        Ok(())
    }
}

impl From<String> for ClientFlag {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for ClientFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientFlag([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(flags: &[&str]) -> Result<Registrations, InvalidFlag> {
        let flags = ImitationFlags {
            imitations_only: true,
            clients: flags.iter().map(|it| (*it).to_owned().into()).collect(),
            any_client: false,
        };
        flags.parse()
    }

    #[test]
    fn a_secret_may_contain_colons_and_ats_and_a_client_several_callbacks() {
        let flags = [
            "app:s:3@cret@https://app.test/cb",
            "other:x@http://localhost:1/cb",
            "app:s:3@cret@http://localhost:3000/@http://cb",
        ];
        let Ok(Registrations::Registered(all)) = parsed(&flags) else {
            panic!("they are valid");
        };
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].client_secret, "s:3@cret");
        let callbacks = ["https://app.test/cb", "http://localhost:3000/@http://cb"];
        assert_eq!(all[0].callbacks, callbacks);
    }

    #[track_caller]
    fn check(flags: &[&str], problem: &str) {
        let message = parsed(flags).err().expect(problem).to_string();
        assert!(message.contains(problem), "{message}");
        assert!(message.contains("--client"), "{message}");
        assert!(!message.contains("hush"), "{message}");
    }

    #[test]
    fn an_error_names_the_flag_and_the_part_and_never_the_secret() {
        check(&[], "or --any-client");
        check(&["app"], "number 1: the secret is missing");
        check(&["app:hush"], "the callback is missing");
        check(&["app:hush@localhost:3000/cb"], "the callback is missing");
        check(&[":hush@http://localhost/cb"], "the client id is empty");
        check(&["app:@http://localhost/cb"], "the secret is empty");
        check(
            &["app:hush@http://localhost/#x"],
            "the callback of app must be",
        );
        let good = "app:hush@http://localhost/cb";
        check(
            &[good, "app:hush2@http://localhost/2"],
            "number 2: app has another secret",
        );
    }
}
