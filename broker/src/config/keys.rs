//! The keys of a configuration, and the nearest one to a misspelt key.

/// The paths of all tables and keys.
pub(super) const KEYS: [&str; 47] = [
    "base_url",
    "bind",
    "cookie_keys",
    "ip_header",
    "limits",
    "limits.body_timeout_ms",
    "limits.callbacks_per_minute",
    "limits.live_sessions",
    "limits.overload_delay_ms",
    "limits.upstream_calls",
    "limits.visits_from_elsewhere_per_minute",
    "limits.wrong_secrets_per_minute",
    "log",
    "log.format",
    "operator",
    "operator.bind",
    "operator.exposed",
    "project",
    "project.client_id",
    "project.client_secret_sha256",
    "project.name",
    "project.previous_client_secret_sha256",
    "project.redirect_uris",
    "project.relay_guard",
    "project.select_account",
    "project.start_origins",
    "shutdown_seconds",
    "store",
    "store.url",
    "tls",
    "tls.certificates",
    "tls.key",
    "upstream",
    "upstream.ca_file",
    "upstream.github",
    "upstream.github.api_url",
    "upstream.github.client_id",
    "upstream.github.client_secret",
    "upstream.github.enabled",
    "upstream.github.web_url",
    "upstream.google",
    "upstream.google.client_id",
    "upstream.google.client_secret",
    "upstream.google.enabled",
    "upstream.google.issuer",
    "upstream.proxy",
    "upstream.timeout_ms",
];

/// The key that `path` probably means: one of the same table whose name contains this
/// one, or one of which at most a third of the letters are wrong. Dots and underscores
/// do not count, because they are the most frequent errors.
pub(super) fn nearest(path: &str) -> Option<&'static str> {
    let letters = |text: &str| text.replace(['.', '_'], "");
    let written = letters(path);
    let (table, name) = table_and_name(path);
    let distance = |key: &str| {
        let (its_table, its_name) = table_and_name(key);
        if its_table == table && name.len() > 2 && its_name.contains(name) {
            0
        } else {
            strsim::osa_distance(&letters(key), &written)
        }
    };
    KEYS.into_iter()
        .filter(|key| !path.starts_with(&format!("{key}.")))
        .min_by_key(|key| distance(key))
        .filter(|key| distance(key) <= written.len() / 3)
}

fn table_and_name(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use figment::Figment;
    use figment::error::Kind;
    use figment::providers::{Format as _, Toml};

    use super::*;
    use crate::config::Config;

    /// The keys of `table` according to the types.
    fn known_in(table: &str) -> Vec<String> {
        let toml = match table {
            "" => "zzz = 1".to_owned(),
            "project" => "[[project]]\nzzz = 1".to_owned(),
            table => format!("[{table}]\nzzz = 1"),
        };
        let error = Figment::from(Toml::string(&toml)).extract::<Config>();
        let Kind::UnknownField(_, known) = error.unwrap_err().kind else {
            panic!("{table}");
        };
        let path = |key: &&str| format!("{table}.{key}").trim_start_matches('.').to_owned();
        known.iter().map(path).collect()
    }

    #[test]
    fn the_list_of_keys_matches_the_types() {
        let tables = [
            "",
            "limits",
            "log",
            "operator",
            "project",
            "store",
            "tls",
            "upstream",
            "upstream.github",
            "upstream.google",
        ];
        let mut known: Vec<_> = tables.into_iter().flat_map(known_in).collect();
        known.sort();
        assert_eq!(known, KEYS);
    }

    #[test]
    fn a_misspelt_key_leads_to_the_key_that_is_meant() {
        for (misspelt, meant) in [
            ("base_ulr", Some("base_url")),
            ("baseurl", Some("base_url")),
            ("store_url", Some("store.url")),
            (
                "upstream_google_client_secret",
                Some("upstream.google.client_secret"),
            ),
            (
                "upstream.google.secret",
                Some("upstream.google.client_secret"),
            ),
            ("cookie_key", Some("cookie_keys")),
            ("stores", Some("store")),
            ("project.redirect_uri", Some("project.redirect_uris")),
            ("url", Some("base_url")),
            ("port", None),
            ("upstream.google.zzz", None),
            ("hunter", None),
            ("", None),
        ] {
            assert_eq!(nearest(misspelt), meant, "{misspelt}");
        }
    }
}
