//! `broker check`: what would be served, to whom, and what to look at twice.

use std::io::{Result, Write};

use broker::StartError;
use broker::clock::Clock;
use broker::config::{Config, UpstreamConfig};
use broker::projects::Project;
use broker::relay::RelayGuard;
use broker::store::StoreUrl;
use broker::upstream::online::{self, Finding};
use contract::{Provider, RedirectUri};

use super::Outcome;

/// Says what `config` is, and opens its store.
pub(super) async fn check(config: Config) -> Outcome {
    let mut out = std::io::stdout().lock();
    tell(&mut out, &config)?;
    for note in notes(&config) {
        writeln!(out, "note       {note}")?;
    }
    let url = config.store.url.clone();
    let ready = super::assemble(config)?.ready().await;
    ready.map_err(|source| StartError::Store { url, source })?;
    writeln!(
        out,
        "The store opens. Nothing is wrong with this configuration."
    )?;
    Ok(())
}

fn tell(out: &mut impl Write, config: &Config) -> Result<()> {
    writeln!(out, "serves     {} on {}", config.base_url, config.bind)?;
    if let Some(tls) = &config.tls {
        writeln!(out, "encrypts   with {}", tls.certificates.display())?;
    }
    writeln!(out, "store      {}", config.store.url)?;
    writeln!(out, "cookies    {}", cookies(config))?;
    match config.operator.bind {
        None => writeln!(out, "metrics    nowhere")?,
        Some(bind) => writeln!(out, "metrics    http://{bind}/metrics")?,
    }
    for provider in Provider::ALL {
        let state = match is_on(&config.upstream, provider) {
            None => "not configured",
            Some(false) => "switched off",
            Some(true) => "on",
        };
        let callback = broker::upstream::callback_url(config.base_url.as_str(), provider);
        writeln!(
            out,
            "{provider:<10} {state}; register the callback {callback}"
        )?;
    }
    config
        .projects
        .iter()
        .try_for_each(|project| tell_project(out, project))
}

fn cookies(config: &Config) -> String {
    match (config.cookie_keys.len(), &config.store.url) {
        (0, StoreUrl::SqliteFile(_)) => "a key kept beside the database".to_owned(),
        (0, _) => "a key that is gone with the process".to_owned(),
        (1, _) => "one key".to_owned(),
        (keys, _) => format!("{keys} keys: the first seals, any opens"),
    }
}

fn tell_project(out: &mut impl Write, project: &Project) -> Result<()> {
    writeln!(out, "project    {} ({})", project.name, project.client_id)?;
    for callback in &project.redirect_uris {
        writeln!(out, "           comes home to {}", callback.as_str())?;
    }
    let asked = match project.relay_guard {
        RelayGuard::Auto => format!("who does not come from {} is asked", starts(project)),
        RelayGuard::Always => "everybody is asked".to_owned(),
        RelayGuard::Off => "nobody is asked".to_owned(),
    };
    writeln!(
        out,
        "           relay guard {}: {asked}; account picker {}",
        project.relay_guard.as_str(),
        project.select_account.as_str()
    )?;
    if project.previous_client_secret_sha256.is_some() {
        writeln!(out, "           its previous secret is good, too")?;
    }
    Ok(())
}

/// The origins whose pages start its sign-ins.
fn starts(project: &Project) -> String {
    let origins = match &project.start_origins {
        None => return "the origin of the login's callback".to_owned(),
        Some(origins) => origins.iter().map(ToString::to_string),
    };
    origins.collect::<Vec<_>>().join(" or ")
}

/// What is allowed and yet worth a second look.
fn notes(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    let is_on = |provider| is_on(&config.upstream, provider) == Some(true);
    if !Provider::ALL.into_iter().any(is_on) {
        notes.push("no provider is on: nobody can sign in".to_owned());
    }
    if !config.ignored_variables.is_empty() {
        notes.push(format!(
            "{} variables that an orchestrator injects are ignored: {}",
            config.ignored_variables.len(),
            config.ignored_variables.join(" ")
        ));
    }
    if config.projects.is_empty() {
        notes.push("no project: nobody may call; see `broker new-project`".to_owned());
    }
    if config.is_local() {
        return notes;
    }
    if config.tls.is_none() && !config.bind.ip().is_loopback() {
        notes.push(
            "what listens here speaks http: let only a proxy that encrypts reach it".to_owned(),
        );
    }
    notes.extend(address_note(config));
    notes.extend(config.projects.iter().flat_map(project_notes));
    notes
}

/// Whether it can be known where a request comes from.
fn address_note(config: &Config) -> Option<String> {
    match (&config.ip_header, &config.tls) {
        (None, None) => Some(
            "no ip_header: if a proxy encrypts, all requests seem to come from it, and limits \
             for each address do not tell one client from another"
                .to_owned(),
        ),
        (Some(header), Some(_)) => Some(format!(
            "ip_header is {}, but the broker encrypts by itself: unless a proxy sets that header, \
             clients say where they come from as they like",
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
            "{name}: relay_guard is off, so whoever sends a sign-in to somebody else \
             gets in as them"
        ));
    }
    let at_home = |uri: &&RedirectUri| uri.origin().is_loopback();
    if let Some(callback) = project.redirect_uris.iter().find(at_home) {
        notes.push(format!(
            "{name}: {} is for development, on the visitor's own machine",
            callback.as_str()
        ));
    }
    notes
}

/// Whether a provider is on; none if it is not configured.
fn is_on(upstream: &UpstreamConfig, provider: Provider) -> Option<bool> {
    match provider {
        Provider::Google => upstream.google.as_ref().map(|google| google.enabled),
        Provider::GitHub => upstream.github.as_ref().map(|github| github.enabled),
    }
}

/// Says what the providers' servers answer; an error if one does not as it should.
pub(super) async fn ask_providers(upstream: &UpstreamConfig) -> Outcome {
    let findings = online::ask(upstream, &Clock::system()).await?;
    let mut out = std::io::stdout().lock();
    let mut failures = 0;
    for Finding { what, found } in findings {
        match found {
            Ok(found) => writeln!(out, "online     {what}: {found}")?,
            Err(failure) => {
                failures += 1;
                let advice = online::advice(failure);
                writeln!(out, "online     {what}: FAILED, {}", failure.why())?;
                writeln!(out, "           {advice}")?;
            }
        }
    }
    match failures {
        0 => Ok(()),
        1 => Err("one question to a provider failed, see above".into()),
        n => Err(format!("{n} questions to providers failed, see above").into()),
    }
}
