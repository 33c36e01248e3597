//! The requests of `google.toml` and `github.toml`, sent in their order.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::time::Duration;

use agent::http::{self, Http, Reach};
use agent::random::{challenge, secret};
use agent::url::path_and_query;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::callback::Callback;
use super::shape::{self, Shape, spelt};

const MAX_BODY: usize = 1024 * 1024;

/// The shapes of answers, by the names of the requests.
pub(super) type Answers = Vec<(String, Shape)>;

/// The content of such a file.
#[derive(Deserialize)]
pub(super) struct Probes {
    probes: Vec<Probe>,
    pub(super) varies: Shape,
    /// The texts that several requests have.
    #[serde(flatten)]
    shared: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Probe {
    name: String,
    request: String,
    headers: String,
    body: String,
    /// The part of the answer that later requests contain.
    needs: Option<String>,
}

/// A client of a provider or of its imitation.
struct Run<'a> {
    shared: &'a BTreeMap<String, String>,
    http: Http,
    /// The place that is asked instead of the provider.
    base: Option<Url>,
    /// The user's browser; without one, each sign-in is a single redirect.
    callback: Option<Callback>,
    /// The values that stand in requests as their names in braces.
    values: BTreeMap<&'a str, String>,
}

/// The answers to a client's requests, made to the provider or to the place at `base`.
pub(super) async fn record(
    probes: &Probes,
    [id, secret, redirect_uri]: [&str; 3],
    base: Option<Url>,
    callback: Option<Callback>,
) -> Result<Answers, Box<dyn Error>> {
    let reach = base.as_ref().map_or(Reach::Anywhere, |_| Reach::Loopback);
    let values = BTreeMap::from([
        ("client_id", id.to_owned()),
        ("client_secret", secret.to_owned()),
        ("callback", redirect_uri.to_owned()),
        ("basic", STANDARD.encode(format!("{id}:{secret}"))),
    ]);
    let http = Http::new(reach, Duration::from_secs(30))?;
    let mut run = Run {
        shared: &probes.shared,
        http,
        base,
        callback,
        values,
    };
    run.begin_login();
    let mut answers = Answers::new();
    for probe in &probes.probes {
        if run.callback.is_some() {
            writeln!(io::stderr(), "{}", probe.name)?;
        }
        let answer = run.answer(probe).await;
        let answer = answer.map_err(|error| format!("{}: {error}", probe.name))?;
        answers.push((probe.name.clone(), shape::of(&answer)));
    }
    Ok(answers)
}

impl<'a> Run<'a> {
    /// Asks, and keeps what later requests need.
    async fn answer(&mut self, probe: &'a Probe) -> Result<Value, Box<dyn Error>> {
        let answer = self.ask(probe).await?;
        if let Some(name) = &probe.needs {
            let part = |name: &str| {
                let body = &answer["body"];
                let mut places = [&answer["parameter"], body, &body["form"]].into_iter();
                places.find_map(|place| place[name].as_str())
            };
            let value = part(name).ok_or_else(|| refused(name, part("error")))?;
            self.values.insert(name, value.to_owned());
        }
        Ok(answer)
    }

    async fn ask(&mut self, probe: &Probe) -> Result<Value, Box<dyn Error>> {
        let (method, address) = probe.request.split_once(' ').unwrap_or_default();
        if method != "SIGN-IN" {
            return self.send(method, self.url(address)?, probe).await;
        }
        self.begin_login();
        let url = self.url(address)?;
        let parameters = match &mut self.callback {
            Some(callback) => callback.sign_in(url).await?,
            None => self.send("GET", url, probe).await?["location"].take(),
        };
        Ok(json!({ "parameter": parameters }))
    }

    fn begin_login(&mut self) {
        let verifier = secret();
        self.values.extend([
            ("state", secret()),
            ("nonce", secret()),
            ("code_challenge", challenge(&verifier)),
            ("code_verifier", verifier),
        ]);
    }

    async fn send(&self, method: &str, url: Url, probe: &Probe) -> Result<Value, Box<dyn Error>> {
        let client = self.http.client_for(url.as_str())?;
        let mut request = client.request(method.parse()?, url);
        for (name, value) in self.fields(&probe.headers) {
            request = request.header(name, value);
        }
        let body = self.fields(&probe.body);
        request = match method {
            "DELETE" => request.json(&body),
            "POST" => request.form(&body),
            _ => request,
        };
        Ok(shape::parts(&http::send(request, MAX_BODY).await?))
    }

    fn url(&self, address: &str) -> Result<Url, Box<dyn Error>> {
        let (place, query) = address.split_once('?').unwrap_or((address, ""));
        let mut url = Url::parse(&filled(place, &self.values))?;
        if let Some(base) = &self.base {
            url = base.join(&path_and_query(&url))?;
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(self.fields(query));
        }
        Ok(url)
    }

    /// The fields of a form or a query. Of one that is there twice, the last counts.
    fn fields(&self, text: &str) -> BTreeMap<String, String> {
        let text = filled(text, self.shared);
        let fields = form_urlencoded::parse(text.as_bytes());
        let fields = fields.map(|(name, value)| (name.into(), filled(&value, &self.values)));
        let mut fields: BTreeMap<_, _> = fields.collect();
        fields.retain(|_, value| !value.is_empty());
        fields
    }
}

fn filled<K: Display>(text: &str, values: &BTreeMap<K, String>) -> String {
    let mut text = text.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    text
}

fn refused(part: &str, error: Option<&str>) -> String {
    let error = error.map(|it| format!(", but the error {}", spelt(it)));
    format!(
        "no {part} came{}. Are the client's id and secret right, and is the callback registered \
         exactly so? A sign-in must not be cancelled, nor take three minutes",
        error.unwrap_or_default()
    )
}
