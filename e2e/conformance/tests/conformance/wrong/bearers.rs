//! Wrong with what tokens fetch and how they end.

use super::super::proxy::Answered;
use super::Wrong;

const TOKEN: &str = "/v1/token";
const PROFILE: &str = "/v1/profile";
const REVOKE: &str = "/v1/revoke";

pub(crate) fn all() -> Vec<Wrong> {
    [bearers(), revocations()].into_iter().flatten().collect()
}

fn bearers() -> Vec<Wrong> {
    vec![
        Wrong::takes("takes a token in the query", &[], |_, asked| {
            if let Some((path, token)) = asked.path.clone().split_once("?access_token=") {
                asked.path = path.to_owned();
                asked.authorize(&format!("Bearer {token}"));
            }
            None
        })
        .and_chooses(&["bearer.header"]),
        Wrong::takes("revokes for anybody", &["bearer.shape"], |_, asked| {
            let is_it = asked.path == REVOKE && asked.authorization().is_empty();
            is_it.then(|| Answered::of(200, "{}"))
        }),
        Wrong::says(
            "knows tokens that nobody issued",
            &["bearer.known"],
            |memory, asked, answered| {
                let bearer = asked.authorization();
                if asked.path == TOKEN && answered.status == 200 {
                    let token = answered.json()["access_token"].clone();
                    let token = token.as_str().expect("a token");
                    memory.known.insert(format!("Bearer {token}"));
                } else if asked.path == PROFILE && answered.status == 200 {
                    memory
                        .answers
                        .insert("profile".to_owned(), answered.clone());
                } else if asked.path == PROFILE
                    && bearer.len() == "Bearer fsi_".len() + 43
                    && !memory.known.contains(&bearer)
                {
                    *answered = memory.answers["profile"].clone();
                }
            },
        ),
        Wrong::says(
            "shows no profile for a token",
            &["profile.bearer", "token.lifetime"],
            |_, asked, answered| {
                if asked.path == PROFILE && answered.status == 200 {
                    *answered = Answered::refused(403);
                }
            },
        )
        .blocking(&["profile.subject_stable"]),
    ]
}

fn revocations() -> Vec<Wrong> {
    vec![
        Wrong::says(
            "shows a profile for a revoked token",
            &["bearer.ended"],
            |memory, asked, answered| {
                let bearer = asked.authorization();
                if asked.path == REVOKE && answered.status == 200 {
                    memory.known.insert(bearer);
                } else if asked.path == PROFILE && answered.status == 200 {
                    memory
                        .answers
                        .insert("profile".to_owned(), answered.clone());
                } else if asked.path == PROFILE && memory.known.contains(&bearer) {
                    *answered = memory.answers["profile"].clone();
                }
            },
        ),
        Wrong::says(
            "revokes nothing at all",
            &["revoke.accepted"],
            |_, asked, answered| {
                if asked.path == REVOKE && answered.status == 200 {
                    *answered = Answered::refused(403);
                }
            },
        )
        .blocking(&["revoke.body", "revoke.idempotent", "bearer.ended"]),
        Wrong::says(
            "revokes a token once",
            &["revoke.idempotent"],
            |memory, asked, answered| {
                if asked.path == REVOKE
                    && answered.status == 200
                    && !memory.known.insert(asked.authorization())
                {
                    *answered = Answered::refused(401);
                }
            },
        ),
        Wrong::both(
            "revokes only what it issued",
            &["revoke.idempotent"],
            |memory, asked| {
                let is_it = asked.path == REVOKE
                    && asked.authorization().len() == "Bearer fsi_".len() + 43
                    && !memory.known.contains(&asked.authorization());
                is_it.then(|| Answered::refused(401))
            },
            |memory, asked, answered| {
                if asked.path == TOKEN && answered.status == 200 {
                    let token = answered.json()["access_token"].clone();
                    let token = token.as_str().expect("a token");
                    memory.known.insert(format!("Bearer {token}"));
                }
            },
        ),
    ]
}
