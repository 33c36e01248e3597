//! `broker check`: a report of the configuration, with notes on settings that are
//! allowed but risky.

use std::error::Error;
use std::io::{self, Write};

use crate::clock::Clock;
use crate::config::{Config, UpstreamConfig};
use crate::projects::Project;
use crate::relay::RelayGuard;
use crate::store::StoreUrl;
use crate::upstream::connectivity::{self, Diagnosis};
use crate::{Broker, Dependencies, StartError};
use contract::{Provider, RedirectUri};

/// Reports `config`, and opens its store.
pub(super) async fn check(config: Config) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    report(&mut out, &config)?;
    let notes = notes(&config);
    for note in &notes {
        writeln!(out, "note       {note}")?;
    }
    let url = config.store.url.clone();
    let broker = Broker::assemble(config, Dependencies::default())?;
    let ready = broker.ready().await;
    ready.map_err(|source| StartError::Store { url, source })?;
    writeln!(
        out,
        "Configuration OK, the store opens, {}.",
        match notes.len() {
            0 => "no notes".to_owned(),
            1 => "1 note".to_owned(),
            n => format!("{n} notes"),
        }
    )?;
    Ok(())
}

fn report(out: &mut impl Write, config: &Config) -> io::Result<()> {
    writeln!(out, "listening  on {} as {}", config.bind, config.base_url)?;
    if let Some(tls) = &config.tls {
        writeln!(out, "encrypts   with {}", tls.certificates.display())?;
    }
    writeln!(out, "store      {}", config.store.url)?;
    writeln!(out, "cookies    {}", cookie_keys(config))?;
    match config.operator.bind {
        None => writeln!(out, "metrics    off")?,
        Some(bind) => writeln!(out, "metrics    http://{bind}/metrics")?,
    }
    for provider in Provider::ALL {
        let Some(is_enabled) = config.upstream.is_enabled(provider) else {
            writeln!(out, "{provider:<10} not configured")?;
            continue;
        };
        let state = if is_enabled { "enabled" } else { "disabled" };
        let callback = crate::upstream::callback_url(config.base_url.as_str(), provider);
        writeln!(
            out,
            "{provider:<10} {state}; register the callback {callback}"
        )?;
    }
    config
        .projects
        .iter()
        .try_for_each(|project| report_project(out, project))
}

fn cookie_keys(config: &Config) -> String {
    match (config.cookie_keys.len(), &config.store.url) {
        (0, StoreUrl::SqliteFile(_)) => "a key kept beside the database".to_owned(),
        (0, _) => "a key that is lost when the process ends".to_owned(),
        (1, _) => "one key".to_owned(),
        (keys, _) => format!("{keys} keys: the first encrypts, any decrypts"),
    }
}

fn report_project(out: &mut impl Write, project: &Project) -> io::Result<()> {
    writeln!(out, "project    {} ({})", project.name, project.client_id)?;
    for callback in &project.redirect_uris {
        writeln!(out, "           callback {}", callback.as_str())?;
    }
    let confirmation = match project.relay_guard {
        RelayGuard::Auto => format!(
            "visits that do not begin on {} need confirmation",
            start_origins(project)
        ),
        RelayGuard::Always => "all visits need confirmation".to_owned(),
        RelayGuard::Off => "no visit needs confirmation".to_owned(),
    };
    writeln!(
        out,
        "           relay guard {}: {confirmation}; account picker {}",
        project.relay_guard.as_str(),
        project.select_account.as_str()
    )?;
    if project.previous_client_secret_sha256.is_some() {
        writeln!(out, "           its previous secret is valid, too")?;
    }
    Ok(())
}

/// The origins whose pages start the project's sign-ins.
fn start_origins(project: &Project) -> String {
    let origins = match &project.start_origins {
        None => return "the origin of the login's callback".to_owned(),
        Some(origins) => origins.iter().map(ToString::to_string),
    };
    origins.collect::<Vec<_>>().join(" or ")
}

/// Settings that are allowed and deserve a second look.
fn notes(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    let is_enabled = |provider| config.upstream.is_enabled(provider) == Some(true);
    if !Provider::ALL.into_iter().any(is_enabled) {
        notes.push("no provider is enabled: no user can sign in".to_owned());
    }
    if !config.ignored_variables.is_empty() {
        notes.push(format!(
            "{} variables that an orchestrator injected are ignored: {}",
            config.ignored_variables.len(),
            config.ignored_variables.join(" ")
        ));
    }
    if config.projects.is_empty() {
        notes.push("no project: no client may call; see `broker new-project`".to_owned());
    }
    notes.extend(config.store.url.exposure().map(str::to_owned));
    if config.is_local() {
        return notes;
    }
    if config.tls.is_none() && !config.bind.ip().is_loopback() {
        notes.push(
            "this address serves http: allow only a proxy that terminates TLS to reach it"
                .to_owned(),
        );
    }
    notes.push(format!(
        "the host name of {} must serve nothing else, on any port: cookies know no ports",
        config.base_url
    ));
    notes.extend(address_note(config));
    notes.extend(config.projects.iter().flat_map(project_notes));
    notes
}

/// A note when clients' addresses cannot be known, or can be forged.
fn address_note(config: &Config) -> Option<String> {
    match (&config.ip_header, &config.tls) {
        (None, None) => Some(
            "no ip_header: behind a proxy, all requests seem to come from one address, and the \
             limits for each address apply to all clients together"
                .to_owned(),
        ),
        (Some(header), Some(_)) => Some(format!(
            "ip_header is {}, but the broker terminates TLS itself: unless a proxy sets that \
             header, clients can claim any address",
            header.as_str()
        )),
        (Some(_), None) | (None, Some(_)) => None,
    }
}

fn project_notes(project: &Project) -> Vec<String> {
    let name = &project.name;
    let mut notes = Vec::new();
    if project.relay_guard == RelayGuard::Off {
        notes.push(format!(
            "{name}: relay_guard is off, so an attacker who sends a sign-in to a victim is \
             signed in as the victim"
        ));
    }
    let is_loopback = |uri: &&RedirectUri| uri.origin().is_loopback();
    if let Some(callback) = project.redirect_uris.iter().find(is_loopback) {
        notes.push(format!(
            "{name}: {} is for development: it is on the visitor's own machine",
            callback.as_str()
        ));
    }
    notes
}

/// Reports the connectivity of the providers' servers; an error if a check failed.
pub(super) async fn check_connectivity(upstream: &UpstreamConfig) -> Result<(), Box<dyn Error>> {
    let diagnoses = connectivity::check(upstream, &Clock::system()).await?;
    let mut out = io::stdout().lock();
    let mut failures = 0;
    for Diagnosis { subject, result } in diagnoses {
        match result {
            Ok(found) => writeln!(out, "online     {subject}: {found}")?,
            Err(failure) => {
                failures += 1;
                let advice = connectivity::advice(failure);
                writeln!(out, "online     {subject}: FAILED, {}", failure.why())?;
                writeln!(out, "           {advice}")?;
            }
        }
    }
    match failures {
        0 => Ok(()),
        1 => Err("1 provider check failed (see above)".into()),
        n => Err(format!("{n} provider checks failed (see above)").into()),
    }
}
