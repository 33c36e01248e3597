//! GitHub's REST API.

use mock_upstream::people::seeded;
use mock_upstream::{Next, Person, Provider};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::world::{Seen, World, authorization, redemption};

const GITHUB: Provider = Provider::GitHub;

fn call(world: &World, path: &str) -> RequestBuilder {
    let url = format!("{}{path}", world.mock.github().url());
    world
        .request(Method::GET, &url)
        .header("user-agent", "contract")
}

async fn token_with_scope(world: &World, scope: &str) -> String {
    let params = authorization(GITHUB).with("scope", scope);
    let code = world.code_for(GITHUB, &params).await;
    world
        .token(GITHUB, &redemption(&code))
        .await
        .text("access_token")
}

async fn seen_by(person: Person, path: &str) -> Value {
    let world = World::new().await;
    world.queue(GITHUB, Next::Person(person));
    let token = world.sign_in(GITHUB).await.text("access_token");
    Seen::of(call(&world, path).bearer_auth(token)).await.json()
}

fn seeded_person(key: &str) -> Person {
    let known = seeded().into_iter().find(|known| known.key == key);
    known.unwrap().at(GITHUB).clone()
}

// REST API reference, "Get the authenticated user".
#[tokio::test]
async fn the_account_has_a_numeric_id_and_a_login() {
    let body = seen_by(seeded_person("ada"), "/user").await;
    assert_eq!(body["id"], 9_000_001);
    assert_eq!(body["login"], "ada-mock");
    assert_eq!(body["name"], "Ada Lovelace");
    assert_eq!(body["email"], "ada@people.example");
    assert_eq!(
        body["avatar_url"],
        "https://pictures.example/github/ada?v=4"
    );
}

#[tokio::test]
async fn who_has_no_name_has_null() {
    let body = seen_by(seeded_person("grace"), "/user").await;
    assert!(body.as_object().unwrap().contains_key("name"));
    assert_eq!(body["name"], Value::Null);
}

#[tokio::test]
async fn a_person_without_a_username_still_has_a_login() {
    let person = Person {
        id: "7".to_owned(),
        ..Person::default()
    };
    assert_eq!(seen_by(person, "/user").await["login"], "user7");
}

// dexidp/dex: the address in /user is the public one.
#[tokio::test]
async fn a_private_address_is_in_the_list_alone() {
    let person = seeded_person("hedy");
    assert_eq!(seen_by(person.clone(), "/user").await["email"], Value::Null);
    let emails = seen_by(person, "/user/emails").await;
    let primary = emails
        .as_array()
        .unwrap()
        .iter()
        .find(|email| email["primary"] == true);
    let expected = json!({
        "email": "hedy@people.example",
        "primary": true,
        "verified": true,
        "visibility": "private",
    });
    assert_eq!(primary, Some(&expected));
    assert_eq!(emails.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn any_person_may_keep_the_address_private() {
    let json = json!({
        "id": "7",
        "email": "e@mail.example",
        "email_verified": true,
        "email_private": true,
    });
    let person: Person = serde_json::from_value(json).unwrap();
    assert_eq!(seen_by(person.clone(), "/user").await["email"], Value::Null);
    let emails = seen_by(person, "/user/emails").await;
    let expected = json!({
        "email": "e@mail.example",
        "primary": true,
        "verified": true,
        "visibility": "private",
    });
    assert!(emails.as_array().unwrap().contains(&expected), "{emails}");
}

#[tokio::test]
async fn an_unverified_address_is_listed_as_such_and_not_public() {
    let person = seeded_person("alan");
    assert_eq!(seen_by(person.clone(), "/user").await["email"], Value::Null);
    let emails = seen_by(person, "/user/emails").await;
    assert_eq!(emails[0]["verified"], false);
}

#[tokio::test]
async fn who_has_no_address_has_an_empty_list() {
    let person = Person {
        id: "7".to_owned(),
        ..Person::default()
    };
    assert_eq!(seen_by(person, "/user/emails").await, json!([]));
}

// REST API reference: the private part needs read:user or user.
#[tokio::test]
async fn the_private_part_needs_a_scope() {
    let world = World::new().await;
    for (scope, shown) in [
        ("", false),
        ("user:email", false),
        ("read:user", true),
        ("user", true),
    ] {
        let token = token_with_scope(&world, scope).await;
        let body = Seen::of(call(&world, "/user").bearer_auth(token))
            .await
            .json();
        assert_eq!(body.get("plan").is_some(), shown, "{scope}");
    }
}

// That it is a 404 is not confirmed.
#[tokio::test]
async fn the_addresses_need_a_scope() {
    let world = World::new().await;
    for (scope, status) in [
        ("", 404),
        ("read:user", 404),
        ("user:email", 200),
        ("user", 200),
    ] {
        let token = token_with_scope(&world, scope).await;
        let seen = Seen::of(call(&world, "/user/emails").bearer_auth(token)).await;
        assert_eq!(seen.status, status, "{scope}");
    }
}

// REST API, "Getting started": no User-Agent, no service.
#[tokio::test]
async fn a_call_without_a_user_agent_is_403() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    let url = format!("{}/user", world.mock.github().url());
    let request = world.request(Method::GET, &url).bearer_auth(token);
    let seen = Seen::of(request).await;
    assert_eq!(seen.status, 403);
    assert!(seen.body.contains("User-Agent"));
}

// Changelog of 2026-03-12.
#[tokio::test]
async fn an_unknown_api_version_is_400() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    for (version, status) in [
        ("2022-11-28", 200),
        ("2026-03-10", 200),
        ("2020-01-01", 400),
    ] {
        let request = call(&world, "/user").bearer_auth(&token);
        let seen = Seen::of(request.header("x-github-api-version", version)).await;
        assert_eq!(seen.status, status, "{version}");
    }
}

// Seen in several projects.
#[tokio::test]
async fn a_bad_token_is_bad_credentials() {
    let world = World::new().await;
    let seen = Seen::of(call(&world, "/user").bearer_auth("gho_none")).await;
    let body = json!({
        "message": "Bad credentials",
        "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    });
    assert_eq!(seen.status, 401);
    assert_eq!(seen.json(), body);
}

// REST API, "Authenticating": `Bearer` or `token`. A scheme has no case (RFC 9110).
#[tokio::test]
async fn the_scheme_is_bearer_or_token_in_any_case() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    for (scheme, status) in [
        ("Bearer", 200),
        ("bearer", 200),
        ("token", 200),
        ("Token", 200),
        ("Basic", 401),
        ("tokens", 401),
    ] {
        let request = call(&world, "/user").header("authorization", format!("{scheme} {token}"));
        assert_eq!(Seen::of(request).await.status, status, "{scheme}");
    }
}

#[tokio::test]
async fn without_a_bearer_token_there_is_nothing_to_see() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    assert_eq!(Seen::of(call(&world, "/user")).await.status, 401);
    let in_the_query = call(&world, &format!("/user?access_token={token}"));
    assert_eq!(Seen::of(in_the_query).await.status, 401);
}

// REST API reference: per_page, 30 unless told, 100 at most.
#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let world = World::new().await;
    world.queue(GITHUB, Next::Person(seeded_person("hedy")));
    let token = world.sign_in(GITHUB).await.text("access_token");
    let url = world.mock.github().url();
    let first = call(&world, "/user/emails?per_page=1").bearer_auth(&token);
    let first = Seen::of(first).await;
    let next = format!(r#"<{url}/user/emails?per_page=1&page=2>; rel="next""#);
    assert_eq!(first.json().as_array().unwrap().len(), 1);
    assert!(first.header("link").starts_with(&next));
    let second = call(&world, "/user/emails?per_page=1&page=2").bearer_auth(&token);
    let second = Seen::of(second).await;
    assert_eq!(second.json()[0]["primary"], true);
    assert_eq!(second.header("link"), "");
}

// REST API, "Troubleshooting": a trailing slash is a 404.
#[tokio::test]
async fn a_trailing_slash_is_404() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    let seen = Seen::of(call(&world, "/user/").bearer_auth(token)).await;
    assert_eq!(seen.status, 404);
}

// Docs sample and types derived from it.
#[tokio::test]
async fn the_public_part_has_githubs_members() {
    let world = World::new().await;
    let token = token_with_scope(&world, "").await;
    let request = call(&world, "/user").bearer_auth(token);
    let body = Seen::of(request).await.json();
    let mut members: Vec<_> = body
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    members.sort_unstable();
    let known = "avatar_url bio blog company created_at email followers following gravatar_id \
                 hireable html_url id location login name node_id public_gists public_repos \
                 site_admin twitter_username type updated_at url";
    assert_eq!(members.join(" "), known);
}

#[tokio::test]
async fn the_private_part_has_githubs_members() {
    let world = World::new().await;
    let token = token_with_scope(&world, "read:user").await;
    let request = call(&world, "/user").bearer_auth(token);
    let body = Seen::of(request).await.json();
    for member in [
        "private_gists",
        "total_private_repos",
        "owned_private_repos",
        "disk_usage",
        "collaborators",
        "two_factor_authentication",
        "plan",
    ] {
        assert!(body.get(member).is_some(), "{member}");
    }
}

// Not confirmed: 404 hides, 403 says so.
#[tokio::test]
async fn how_a_missing_scope_is_hidden_can_be_chosen() {
    let world = World::with(|settings| settings.github.unconfirmed.github_hidden_status = 403);
    let world = world.await;
    let token = token_with_scope(&world, "read:user").await;
    let seen = Seen::of(call(&world, "/user/emails").bearer_auth(token)).await;
    assert_eq!(seen.status, 403);
}

// Changelog of 2026-03-12: absent means 2022-11-28. The header that says so is
// general knowledge.
#[tokio::test]
async fn without_a_version_the_old_one_answers() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    let selected = "x-github-api-version-selected";
    let seen = Seen::of(call(&world, "/user").bearer_auth(&token)).await;
    assert_eq!(seen.header(selected), "2022-11-28");
    let new = call(&world, "/user").header("x-github-api-version", "2026-03-10");
    let seen = Seen::of(new.bearer_auth(&token)).await;
    assert_eq!(seen.header(selected), "2026-03-10");
}

// REST API, "Rate limits": five headers, counted by the hour and the person.
#[tokio::test]
async fn every_call_tells_how_many_are_left_of_the_hour() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    for (path, used) in [("/user", "1"), ("/user/emails", "2")] {
        let seen = Seen::of(call(&world, path).bearer_auth(&token)).await;
        let left = if used == "1" { "4999" } else { "4998" };
        let reset = (world.now_ms() / 1000 + 3600).to_string();
        assert_eq!(seen.header("x-ratelimit-limit"), "5000");
        assert_eq!(seen.header("x-ratelimit-used"), used);
        assert_eq!(seen.header("x-ratelimit-remaining"), left);
        assert_eq!(seen.header("x-ratelimit-reset"), reset);
        assert_eq!(seen.header("x-ratelimit-resource"), "core");
    }
    world.advance_ms(3_600_000);
    let seen = Seen::of(call(&world, "/user").bearer_auth(&token)).await;
    assert_eq!(seen.header("x-ratelimit-used"), "1");
}

// The same page: 403 with nothing left, until the reset.
#[tokio::test]
async fn who_has_used_up_the_hour_is_refused_until_it_is_over() {
    let world = World::with(|settings| settings.github.hourly_calls = Some(2)).await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    let ask = async || Seen::of(call(&world, "/user").bearer_auth(&token)).await;
    assert_eq!(ask().await.header("x-ratelimit-remaining"), "1");
    let last = ask().await;
    assert_eq!(last.status, 200);
    assert_eq!(last.header("x-ratelimit-remaining"), "0");
    let refused = ask().await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    assert!(
        refused
            .text("message")
            .starts_with("API rate limit exceeded")
    );
    world.advance_ms(3_600_000);
    assert_eq!(ask().await.status, 200);
}

// The second header is in a changelog, the first not confirmed.
#[tokio::test]
async fn the_scopes_are_in_the_headers_unless_switched_off() {
    let world = World::new().await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    let seen = Seen::of(call(&world, "/user/emails").bearer_auth(token)).await;
    assert_eq!(seen.header("x-oauth-scopes"), "read:user, user:email");
    assert_eq!(seen.header("x-accepted-oauth-scopes"), "user, user:email");

    let world = World::with(|settings| settings.github.unconfirmed.github_scope_headers = false);
    let world = world.await;
    let token = world.sign_in(GITHUB).await.text("access_token");
    let seen = Seen::of(call(&world, "/user/emails").bearer_auth(token)).await;
    assert_eq!(seen.header("x-oauth-scopes"), "");
    assert_eq!(seen.header("x-accepted-oauth-scopes"), "");
}

// REST API, "List email addresses": 30 on a page unless told, 100 at most.
#[tokio::test]
async fn who_has_forty_addresses_has_the_primary_one_on_the_second_page() {
    let world = World::new().await;
    world.queue(GITHUB, Next::Person(seeded_person("sofia")));
    let token = world.sign_in(GITHUB).await.text("access_token");
    let ask = async |query: &str| {
        let path = format!("/user/emails{query}");
        Seen::of(call(&world, &path).bearer_auth(&token)).await
    };
    let primaries = |seen: &Seen| {
        let all = seen.json();
        let all = all.as_array().unwrap();
        let primary = all.iter().filter(|email| email["primary"] == true);
        (all.len(), primary.count())
    };
    let first = ask("").await;
    let url = world.mock.github().url();
    let next = format!(r#"<{url}/user/emails?per_page=30&page=2>; rel="next""#);
    let last = format!(r#"<{url}/user/emails?per_page=30&page=2>; rel="last""#);
    assert_eq!(primaries(&first), (30, 0));
    assert_eq!(first.header("link"), format!("{next}, {last}"));
    assert_eq!(primaries(&ask("?page=2").await), (10, 1));
    assert_eq!(primaries(&ask("?per_page=100").await), (40, 1));
    assert_eq!(primaries(&ask("?page=3").await), (0, 0));
}

#[tokio::test]
async fn other_addresses_are_verified_and_nobody_says_who_may_see_them() {
    let emails = seen_by(seeded_person("sofia"), "/user/emails").await;
    let other = json!({
        "email": "sofia+1@people.example",
        "primary": false,
        "verified": true,
        "visibility": null,
    });
    assert_eq!(emails[0], other);
}
