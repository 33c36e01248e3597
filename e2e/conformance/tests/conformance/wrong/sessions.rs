//! Wrong with requests: what should be refused is taken.

use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use super::super::ground::{CALLBACK, CLIENT_ID, OTHER_CLIENT_ID, SECRET};
use super::super::proxy::{Answered, Asked};
use super::Wrong;
use testkit::fresh;

const SESSION: &str = "/v1/login/session";

const FIELDS: &[&str] = &[
    "client_id",
    "client_secret",
    "session_key",
    "provider",
    "redirect_uri",
    "grant_type",
    "code",
    "code_verifier",
];

pub(crate) fn all() -> Vec<Wrong> {
    [requests(), clients(), sessions()]
        .into_iter()
        .flatten()
        .collect()
}

fn requests() -> Vec<Wrong> {
    vec![
        Wrong::takes("takes an unversioned path", &[], |_, asked| {
            if asked.path == "/login/session" {
                asked.path = SESSION.to_owned();
            }
            None
        })
        .and_chooses(&["request.path"]),
        Wrong::takes("answers GET where it should not", &[], |_, asked| {
            let is_it = asked.method == Method::GET && asked.path == "/v1/token";
            is_it.then(|| Answered::of(200, "{}"))
        })
        .and_chooses(&["request.method"]),
        Wrong::takes(
            "takes JSON under any name",
            &["body.media_type"],
            |_, asked| {
                if asked
                    .headers
                    .get(CONTENT_TYPE)
                    .is_some_and(|it| it == "text/plain")
                {
                    let json = HeaderValue::from_static("application/json");
                    asked.headers.insert(CONTENT_TYPE, json);
                }
                None
            },
        ),
        Wrong::takes("takes an array of one", &["body.json"], |_, asked| {
            if let Value::Array(items) = asked.json() {
                asked.body = items[0].to_string().into_bytes();
            }
            None
        }),
        Wrong::takes(
            "takes fields that it does not know",
            &["body.unknown_field"],
            |_, asked| {
                asked.edit(|body| {
                    if let Some(members) = body.as_object_mut() {
                        members.retain(|name, _| FIELDS.contains(&name.as_str()));
                    }
                });
                None
            },
        ),
        Wrong::takes(
            "makes up a callback that is missing",
            &["body.missing_field"],
            |_, asked| {
                asked.edit(|body| {
                    if body.get("redirect_uri").is_none() {
                        body["redirect_uri"] = CALLBACK.into();
                    }
                });
                None
            },
        ),
        Wrong::takes(
            "takes null for the callback",
            &["body.field_type"],
            |_, asked| {
                asked.edit(|body| {
                    if body.get("redirect_uri") == Some(&Value::Null) {
                        body["redirect_uri"] = CALLBACK.into();
                    }
                });
                None
            },
        ),
        Wrong::takes(
            "does not care about case",
            &["body.field_names"],
            |_, asked| {
                asked.edit(|body| {
                    if let Some(id) = body.as_object_mut().and_then(|it| it.remove("Client_Id")) {
                        body["client_id"] = id;
                    }
                });
                None
            },
        ),
        Wrong::takes(
            "takes a callback with a query",
            &["redirect_uri.shape"],
            |_, asked| {
                trim_callback(asked, "?x=1");
                None
            },
        ),
        Wrong::takes(
            "takes a callback with a fragment",
            &["redirect_uri.shape"],
            |_, asked| {
                trim_callback(asked, "#x");
                None
            },
        ),
        Wrong::takes(
            "takes a callback with a slash more",
            &["redirect_uri.registered"],
            |_, asked| {
                trim_callback(asked, "/");
                None
            },
        ),
        Wrong::takes(
            "takes a callback that begins like a registered one",
            &["redirect_uri.registered"],
            |_, asked| {
                trim_callback(asked, "/below");
                None
            },
        ),
    ]
}

fn trim_callback(asked: &mut Asked, end: &str) {
    if asked.text("redirect_uri") == format!("{CALLBACK}{end}") {
        asked.put("redirect_uri", CALLBACK);
    }
}

fn clients() -> Vec<Wrong> {
    vec![
        Wrong::takes(
            "takes the secret in a URL",
            &["request.secret_in_url"],
            |_, asked| {
                let is_missing = asked.json().get("client_secret").is_none();
                if let Some((path, _)) = asked.path.clone().split_once("?client_secret=")
                    && is_missing
                {
                    asked.path = path.to_owned();
                    asked.put("client_secret", SECRET);
                }
                None
            },
        ),
        Wrong::takes(
            "takes HTTP Basic authentication",
            &["client.in_body"],
            |_, asked| {
                if asked.authorization().starts_with("Basic ") && asked.method == Method::POST {
                    asked.put("client_id", CLIENT_ID);
                    asked.put("client_secret", SECRET);
                }
                None
            },
        ),
        Wrong::takes(
            "takes a client_id of 101 characters",
            &["client_id.length"],
            |_, asked| {
                if asked.text("client_id").len() > 100 {
                    asked.put("client_id", CLIENT_ID);
                }
                None
            },
        ),
        Wrong::takes(
            "takes a client_secret of 201 characters",
            &["client_secret.length"],
            |_, asked| {
                if asked.text("client_secret").len() > 200 {
                    asked.put("client_secret", SECRET);
                }
                None
            },
        ),
        Wrong::takes(
            "compares secrets as far as its own goes",
            &["client.recognised"],
            |_, asked| {
                if asked.text("client_secret") == format!("{SECRET}x") {
                    asked.put("client_secret", SECRET);
                }
                None
            },
        ),
        Wrong::takes(
            "takes any client's name",
            &["client.recognised"],
            |_, asked| {
                let id = asked.text("client_id");
                if !id.is_empty() && id.len() <= 100 && id != OTHER_CLIENT_ID {
                    asked.put("client_id", CLIENT_ID);
                }
                None
            },
        ),
    ]
}

fn sessions() -> Vec<Wrong> {
    vec![
        Wrong::takes(
            "knows Google by another case",
            &["provider.known"],
            |_, asked| {
                if asked.text("provider") == "Google" {
                    asked.put("provider", "google");
                }
                None
            },
        ),
        Wrong::takes(
            "takes a padded session key",
            &["session_key.pattern"],
            |_, asked| {
                let key = asked.text("session_key");
                if let Some(key) = key.strip_suffix('=') {
                    asked.put("session_key", key);
                }
                None
            },
        ),
        Wrong::takes("lets a session key be used again", &[], |memory, asked| {
            let key = asked.text("session_key");
            // Only whole requests: others are refused for another reason.
            let is_whole = asked.path == SESSION && key.len() == 43;
            if is_whole && !memory.known.insert(key) {
                asked.put("session_key", &fresh::secret());
            }
            None
        })
        .and_chooses(&["session_key.fresh"]),
        Wrong::says(
            "answers a started login 201",
            &["session.status"],
            |_, asked, answered| {
                if asked.path == SESSION && answered.status == 200 {
                    answered.status = 201;
                }
            },
        ),
        Wrong::says("says more of a started login", &[], |_, asked, answered| {
            if asked.path == SESSION && answered.status == 200 {
                answered.edit(|body| body["session_id"] = "1".into());
            }
        })
        .and_chooses(&["answer.members"]),
        Wrong::says(
            "does not say how long a login lives",
            &["session.fields"],
            |_, asked, answered| {
                if asked.path == SESSION && answered.status == 200 {
                    answered.edit(|body| {
                        body.as_object_mut()
                            .expect("an object")
                            .remove("expires_in");
                    });
                }
            },
        )
        .blocking(&["session.expires_in"]),
        Wrong::says(
            "gives a login 601 seconds",
            &["session.expires_in"],
            |_, _, answered| {
                answered.edit(|body| {
                    if body["expires_in"] == 600 {
                        body["expires_in"] = 601.into();
                    }
                });
            },
        ),
        Wrong::says(
            "writes the seconds as text",
            &["session.expires_in"],
            |_, _, answered| {
                answered.edit(|body| {
                    if body["expires_in"] == 600 {
                        body["expires_in"] = "600".into();
                    }
                });
            },
        ),
        Wrong::says(
            "puts a query into authorization_url",
            &["authorization_url.shape"],
            |_, _, answered| lengthen_url(answered, "?from=us"),
        ),
        Wrong::says(
            "puts a fragment into authorization_url",
            &["authorization_url.shape"],
            |_, _, answered| lengthen_url(answered, "#here"),
        ),
        Wrong::both(
            "puts the session key into authorization_url",
            &["url.no_secret"],
            |_, asked| {
                if let Some((_, path)) = asked.path.clone().split_once("/~/") {
                    asked.path = format!("/{path}");
                }
                None
            },
            |_, asked, answered| {
                let key = asked.text("session_key");
                answered.edit(|body| {
                    if let Some(url) = body["authorization_url"].as_str() {
                        let url = url.replace("/login/", &format!("/{key}/~/login/"));
                        body["authorization_url"] = url.into();
                    }
                });
            },
        ),
    ]
}

fn lengthen_url(answered: &mut Answered, end: &str) {
    answered.edit(|body| {
        if let Some(url) = body["authorization_url"].as_str() {
            body["authorization_url"] = format!("{url}{end}").into();
        }
    });
}
