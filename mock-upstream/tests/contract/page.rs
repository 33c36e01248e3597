//! The sign-in page.

use mock_upstream::misbehaviour::Group;
use mock_upstream::people::seeded;
use mock_upstream::{Client, Misbehaviour, Mode, Provider};

use crate::world::{CALLBACK, Params, Seen, World, authorization, redemption};

async fn interactive() -> World {
    World::with(|settings| {
        settings.google.mode = Mode::Interactive;
        settings.github.mode = Mode::Interactive;
    })
    .await
}

async fn page(world: &World, provider: Provider) -> Seen {
    world.authorize(provider, &authorization(provider)).await
}

/// The handle in the page's forms.
fn handle(page: &Seen) -> String {
    let (_, rest) = page.body.split_once(r#"name="request" value=""#).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

async fn choose(world: &World, provider: Provider, handle: &str, pairs: &[(&str, &str)]) -> Seen {
    let url = format!("{}/mock/sign-in", world.upstream(provider).url());
    let form = Params::of(pairs).and("request", handle);
    world.post(&url, &form).await
}

/// More than the imitation keeps, in pages that nobody uses.
const LONG_STATES: usize = 200;

#[tokio::test]
async fn g7_pages_that_wait_for_a_choice_hold_a_bounded_number_of_bytes() {
    const MOST_BYTES: usize = 9 * 1024 * 1024;
    let world = interactive().await;
    let state = "a".repeat(60_000);
    for provider in Provider::ALL {
        let long = authorization(provider).with("state", &state);
        for _ in 0..LONG_STATES {
            let seen = world.authorize(provider, &long).await;
            assert_eq!(seen.status, 200);
        }
        let held = world.upstream(provider).bytes_held();
        assert!((1_000_000..MOST_BYTES).contains(&held), "{held} bytes");
        // The newest goes on.
        let handle = handle(&page(&world, provider).await);
        let chosen = choose(&world, provider, &handle, &[("person", "ada")]).await;
        assert_eq!(chosen.status, 303);
        world.upstream(provider).reset();
        assert_eq!(world.upstream(provider).bytes_held(), 0);
    }
}

#[tokio::test]
async fn g7_the_journal_cuts_a_long_query() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let long = authorization(provider).with("x", &"a".repeat(60_000));
        world.authorize(provider, &long).await;
        let last = world.upstream(provider).journal().pop().unwrap();
        assert!(last.query.len() < 5_000, "{} bytes", last.query.len());
        assert!(last.query.ends_with('…'), "{}", last.query);
    }
}

#[tokio::test]
async fn the_page_says_loudly_what_it_is_not() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let seen = page(&world, provider).await;
        seen.assert_page(200, &format!("MOCK — not the real {provider}"));
    }
}

#[tokio::test]
async fn everyone_has_a_button_and_a_reason() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let seen = page(&world, provider).await;
        for known in seeded() {
            assert!(
                seen.body
                    .contains(&format!(r#"data-person="{}""#, known.key))
            );
            assert!(seen.body.contains(known.why));
        }
    }
}

#[tokio::test]
async fn every_misbehaviour_of_the_provider_has_a_button_and_no_other_has() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let seen = page(&world, provider).await;
        let everything = Provider::ALL.into_iter().flat_map(Misbehaviour::of);
        for known in everything {
            let shown = seen
                .body
                .contains(&format!(r#"data-misbehave="{}""#, known.name()));
            assert_eq!(shown, Misbehaviour::of(provider).contains(known));
        }
    }
}

#[tokio::test]
async fn misbehaviours_stand_under_the_heading_of_their_group() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let seen = page(&world, provider).await;
        let shown = seen.body.split("<h3>").skip(1).map(|rest| {
            let (title, buttons) = rest.split_once("</h3>").unwrap();
            (title.to_owned(), buttons.matches("data-misbehave").count())
        });
        let expected = Group::ALL.iter().map(|&group| {
            let of_group = |known: &&Misbehaviour| known.group() == group;
            let count = Misbehaviour::of(provider).iter().filter(of_group).count();
            (group.title().to_owned(), count)
        });
        let expected = expected.filter(|(_, count)| *count > 0);
        assert_eq!(shown.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_page_needs_no_script_and_nothing_from_elsewhere() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let seen = page(&world, provider).await;
        for foreign in ["<script", "src=", "url(", "@import", "<link"] {
            assert!(!seen.body.contains(foreign), "{foreign}");
        }
    }
}

// A browser applies form-action to the redirects after a form as well.
#[tokio::test]
async fn no_form_action_stops_the_redirects() {
    let world = interactive().await;
    let seen = page(&world, Provider::Google).await;
    let policy = seen.header("content-security-policy");
    assert!(policy.contains("default-src 'none'"));
    assert!(!policy.contains("form-action"));
}

#[tokio::test]
async fn choosing_a_person_goes_on_with_303_and_a_code_that_works() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let handle = handle(&page(&world, provider).await);
        let seen = choose(&world, provider, &handle, &[("person", "musa")]).await;
        assert_eq!(seen.status, 303);
        assert!(seen.header("location").starts_with(CALLBACK));
        let code = seen.callback().get("code").unwrap().to_owned();
        let answer = world.token(provider, &redemption(&code)).await;
        assert!(answer.json()["access_token"].is_string());
    }
}

// Seen in server logs: `prompt` echoes what Google did.
#[tokio::test]
async fn google_echoes_the_consent_given_on_the_page() {
    let world = interactive().await;
    let handle = handle(&page(&world, Provider::Google).await);
    let seen = choose(&world, Provider::Google, &handle, &[("person", "ada")]).await;
    assert_eq!(seen.callback().get("prompt"), Some("consent"));
}

#[tokio::test]
async fn cancelling_is_access_denied() {
    let world = interactive().await;
    for provider in Provider::ALL {
        let seen = page(&world, provider).await;
        assert!(
            seen.body
                .contains(r#"<button id="cancel" name="misbehave" value="deny">"#)
        );
        let seen = choose(&world, provider, &handle(&seen), &[("misbehave", "deny")]).await;
        assert_eq!(seen.status, 303);
        assert_eq!(seen.callback().get("error"), Some("access_denied"));
    }
}

#[tokio::test]
async fn any_other_person_can_sign_in_by_the_form() {
    let world = interactive().await;
    let handle = handle(&page(&world, Provider::GitHub).await);
    let fields = [
        ("person", "other"),
        ("id", "77"),
        ("username", "someone"),
        ("email", "someone@people.example"),
        ("email_verified", "true"),
        ("email_private", "true"),
    ];
    let seen = choose(&world, Provider::GitHub, &handle, &fields).await;
    let code = seen.callback().get("code").unwrap().to_owned();
    let token = world
        .token(Provider::GitHub, &redemption(&code))
        .await
        .text("access_token");
    let url = format!("{}/user", world.mock.github().url());
    let request = world.request(reqwest::Method::GET, &url);
    let request = request.header("user-agent", "contract").bearer_auth(token);
    let body = Seen::of(request).await.json();
    assert_eq!(body["id"], 77);
    assert_eq!(body["login"], "someone");
    assert_eq!(body["email"], serde_json::Value::Null);
}

#[tokio::test]
async fn only_github_asks_whether_the_address_is_private() {
    let world = interactive().await;
    for (provider, asks) in [(Provider::Google, false), (Provider::GitHub, true)] {
        let seen = page(&world, provider).await;
        let field = r#"name="email_private""#;
        assert_eq!(seen.body.contains(field), asks, "{provider}");
    }
}

#[tokio::test]
async fn a_choice_that_cannot_be_taken_shows_the_page_again_and_keeps_the_sign_in() {
    let world = interactive().await;
    let provider = Provider::GitHub;
    let handle = handle(&page(&world, provider).await);
    let wrong: [&[_]; 4] = [
        &[("person", "other"), ("id", "<b>ada</b>")],
        &[("person", "nobody")],
        &[("misbehave", "bad_signature")],
        &[],
    ];
    for pairs in wrong {
        let seen = choose(&world, provider, &handle, pairs).await;
        seen.assert_page(400, r#"role="alert""#);
        assert!(!seen.body.contains("ada</b>"));
    }
    let seen = choose(&world, provider, &handle, &[("person", "ada")]).await;
    assert_eq!(seen.status, 303);
}

// What the page asks is consent, and the callback says so.
#[tokio::test]
async fn a_choice_on_googles_page_gives_a_refresh_token_each_time() {
    let world = interactive().await;
    for _ in 0..2 {
        let params = authorization(Provider::Google).with("access_type", "offline");
        let handle = handle(&world.authorize(Provider::Google, &params).await);
        let seen = choose(&world, Provider::Google, &handle, &[("person", "ada")]).await;
        assert_eq!(seen.callback().get("prompt"), Some("consent"));
        let code = seen.callback().get("code").unwrap().to_owned();
        let answer = world.token(Provider::Google, &redemption(&code)).await;
        assert!(answer.text("refresh_token").starts_with("1//"));
    }
}

#[tokio::test]
async fn a_choice_is_made_once() {
    let world = interactive().await;
    let handle = handle(&page(&world, Provider::Google).await);
    let person = [("person", "ada")];
    let first = choose(&world, Provider::Google, &handle, &person).await;
    let second = choose(&world, Provider::Google, &handle, &person).await;
    assert_eq!(first.status, 303);
    second.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn nobody_can_choose_for_a_request_that_was_never_checked() {
    let world = interactive().await;
    let forged = [
        ("person", "ada"),
        ("redirect_uri", "https://attacker.example/"),
    ];
    let seen = choose(&world, Provider::Google, "forged", &forged).await;
    seen.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn what_the_form_adds_does_not_change_what_was_checked() {
    let world = interactive().await;
    let handle = handle(&page(&world, Provider::Google).await);
    let pairs = [
        ("person", "ada"),
        ("redirect_uri", "https://attacker.example/"),
        ("state", "x"),
    ];
    let seen = choose(&world, Provider::Google, &handle, &pairs).await;
    assert!(seen.header("location").starts_with(CALLBACK));
    assert_ne!(seen.callback().get("state"), Some("x"));
}

#[tokio::test]
async fn a_page_waits_ten_minutes() {
    let world = interactive().await;
    let in_time = handle(&page(&world, Provider::Google).await);
    let too_late = handle(&page(&world, Provider::Google).await);
    let person = [("person", "ada")];
    world.advance_ms(599_999);
    let seen = choose(&world, Provider::Google, &in_time, &person).await;
    assert_eq!(seen.status, 303);
    world.advance_ms(1);
    let seen = choose(&world, Provider::Google, &too_late, &person).await;
    seen.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn a_reset_forgets_the_pages_that_wait() {
    let world = interactive().await;
    let handle = handle(&page(&world, Provider::GitHub).await);
    world.mock.reset();
    let seen = choose(&world, Provider::GitHub, &handle, &[("person", "ada")]).await;
    seen.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn what_the_page_shows_is_escaped() {
    let world = World::with(|settings| {
        let name = "<script>alert(1)</script>";
        settings.github.client = Client::new(name, "secret", [CALLBACK]).unwrap();
        settings.github.mode = Mode::Interactive;
    })
    .await;
    let params = authorization(Provider::GitHub)
        .with("client_id", "<script>alert(1)</script>")
        .with("scope", "\"><script>alert(2)</script>");
    let seen = world.authorize(Provider::GitHub, &params).await;
    assert_eq!(seen.status, 200);
    assert!(!seen.body.contains("<script"));
}
