//! Loading a configuration from its file and the environment.

use std::path::Path;

use figment::Figment;
use figment::providers::{Format as _, Toml};

use super::error::ConfigError;
use super::settings::Config;
use super::{environment, error_message, security_check};
use crate::projects::Project;

impl Config {
    /// Reads the file at `path`, then the environment over it.
    ///
    /// # Errors
    ///
    /// If the file is unreadable, a key is unknown, missing or malformed, or
    /// development credentials would face the network; and when a broker that others
    /// can reach has its secrets in a file that others can read.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let file = Self::open(path)?;
        let environment = environment::read()?;
        let mut config = Self::parse(&file.clone().merge(environment.keys))?;
        config.ignored_variables = environment.ignored;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.store.url = config.store.url.relative_to(folder);
        let ca_file = config.upstream.ca_file.take();
        config.upstream.ca_file = ca_file.map(|file| file.relative_to(folder));
        config.tls = config.tls.map(|tls| tls.relative_to(folder));
        config.check()?;
        if !config.is_local() {
            security_check::check_file(path, &file)?;
        }
        Ok(config)
    }

    /// Reads the projects alone: a command that needs nothing else works without the
    /// secrets at the providers.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), as far as it concerns the projects.
    pub fn load_projects(path: &Path) -> Result<Vec<Project>, ConfigError> {
        let file = Self::open(path)?;
        let projects = match file.contains("project") {
            true => file.extract_inner("project"),
            false => Ok(Vec::new()),
        };
        projects.map_err(|error| ConfigError::Invalid(error_message::of(&error)))
    }

    fn open(path: &Path) -> Result<Figment, ConfigError> {
        // figment treats a missing file as an empty one.
        std::fs::File::open(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Ok(Figment::from(Toml::file_exact(path)))
    }

    pub(super) fn parse(source: &Figment) -> Result<Self, ConfigError> {
        let config = source.extract();
        config.map_err(|error| ConfigError::Invalid(error_message::of(&error)))
    }
}
