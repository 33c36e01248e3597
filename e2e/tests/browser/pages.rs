//! Every page passes the checks of axe, on a desktop and on a phone, and in dark those of its
//! colours; every page fits every screen, of which the pictures of `target/screenshots/` are
//! taken; and what the sign-in page of the imitated providers does by itself.

use serde_json::{Value, json};
use testkit::http::Http;
use thirtyfour::Key;
use thirtyfour::error::WebDriverResult;

use crate::application::Application;
use crate::user::{Flow, User};
use crate::{close_after, interactive, open_with_tabs, start};

const AXE: &str = "tests/browser/axe/node_modules/axe-core/axe.min.js";

/// The rules and elements that a page breaks, a line each; of all rules, or of those named.
const FINDS: &str = "const [rules, done] = arguments; \
    axe.run({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) }).then(found => done(found.violations.map(it => \
    `${it.id}: ${it.help} (${it.nodes.map(node => node.target.join(' ')).join(', ')})`)));";

/// A user, and the rules that are put into each page.
struct Checker<'a> {
    user: User<'a>,
    axe: String,
    is_phone: bool,
}

impl Checker<'_> {
    /// Asserts that the page which is open breaks no rule.
    async fn passes(&self, page: &str) -> WebDriverResult<()> {
        self.passes_in(page, "light", Value::Null).await?;
        if self.is_phone {
            return Ok(());
        }
        let of_colours = json!(["color-contrast", "link-in-text-block"]);
        self.passes_in(page, "dark", of_colours).await
    }

    async fn passes_in(&self, page: &str, scheme: &str, rules: Value) -> WebDriverResult<()> {
        self.user.prefers(scheme).await?;
        self.user.runs(&self.axe).await?;
        let browser = self.user.browser;
        let found = browser.execute_async(FINDS, vec![rules]).await?;
        assert_eq!(found.json(), &json!([]), "{page}, {scheme}");
        Ok(())
    }

    async fn opens(&self, origin: &str, path: &str) -> WebDriverResult<()> {
        self.user.opens(&format!("{origin}{path}")).await?;
        self.passes(path).await
    }
}

/// The pages of the inspector that show something without a login.
const PAGES: [&str; 18] = [
    "/",
    "/others",
    "/calls",
    "/rules",
    "/class",
    "/source",
    "/source/consumer-demo/src/clean.rs",
    "/lessons",
    "/lessons/first-sign-in",
    "/lessons/two-tabs",
    "/lessons/lost-answer",
    "/lessons/replay",
    "/lessons/relay",
    "/lessons/nothing",
    "/practice",
    "/practice/cancel",
    "/logins/nothing",
    "/logins/nothing?call=nothing",
];

/// A learner who has looked at one exercise.
const PRACTISED: &str = include_str!("practised.json");

#[tokio::test(flavor = "multi_thread")]
async fn no_page_breaks_a_rule_of_axe() {
    for (width, height) in [(1280, 900), (390, 844)] {
        let axe = std::fs::read_to_string(AXE);
        let axe = axe.expect("`just test-browser` installs axe");
        at_the_stack!(async |stack, user| {
            user.browser.set_window_rect(0, 0, width, height).await?;
            let is_phone = width < 500;
            let checker = Checker {
                user,
                axe,
                is_phone,
            };
            let (user, urls) = (&checker.user, stack.urls());
            let exercises = Http::at(&urls.control).post("/api/practice");
            let exercises = exercises.header("Content-Type", "application/json");
            let kept = exercises.body(PRACTISED).send().await;
            assert_eq!(kept.status, 204, "{kept:?}");
            for page in PAGES {
                checker.opens(&urls.control, page).await?;
            }
            starts_class(&stack).await;
            checker.opens(&urls.control, "/class").await?;
            checker.opens(&urls.broker, "/login/anything").await?;
            for provider in [&urls.google, &urls.github] {
                checker.opens(provider, "/").await?;
            }
            let login = Application::at(&stack).await.login().await;
            user.opens(&login.authorization_url).await?;
            user.sees_continue_enabled().await?;
            checker.passes("the confirmation page").await?;
            user.opens_the_demo().await?;
            checker.passes("the demo").await?;
            for (flow, provider) in [(Flow::Clean, "google"), (Flow::Legacy, "github")] {
                user.goes_to(flow, provider).await?;
                checker.passes(provider).await?;
                user.runs("document.querySelectorAll('details').forEach(it => it.open = true)")
                    .await?;
                checker.passes("every part of the provider's page").await?;
                user.chooses("ada").await?;
                user.is_signed_in_as("Ada Lovelace").await?;
                checker.passes("the profile").await?;
            }
            user.goes_to(Flow::Clean, "google").await?;
            user.chooses_misbehaviour("bad_signature").await?;
            user.sees_problem("invalid_provider_response").await?;
            checker.passes("a problem").await?;
            for path in paths_of_the_newest_login(&stack) {
                checker.opens(&urls.control, &path).await?;
            }
        });
    }
}

async fn starts_class(stack: &stack::Stack) {
    let class = Http::at(&stack.urls().control).post("/api/classes");
    let class = class.json(&json!({ "learners": 2 })).send().await;
    assert_eq!(class.status, 201, "{}", class.text());
}

/// The page of the newest login, of each of its calls, and of its presentation.
fn paths_of_the_newest_login(stack: &stack::Stack) -> Vec<String> {
    let login = stack.event_log().logins(1).remove(0);
    let events = stack.event_log().events(0, Some(&login));
    let calls = events.iter().map(|event| match event.to {
        "broker" => format!("/logins/{login}?call={}", event.request_id),
        _ => format!("/logins/{login}?call=p{}", event.seq),
    });
    let pages = [
        format!("/logins/{login}"),
        format!("/present/{login}?arrow=3"),
    ];
    pages.into_iter().chain(calls).collect()
}

/// The time after which a page counts as one that hangs, in milliseconds. A page takes a
/// tenth of a second; a browser without a free connection waits for ever.
const HANGS_MS: u64 = 8_000;

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_loads_after_twenty_pages_and_in_the_twelfth_tab() {
    let stack = start(interactive()).await;
    let browser = open_with_tabs().await;
    let user = User::at(&browser, &stack);
    let steps = async {
        let limit = std::time::Duration::from_millis(HANGS_MS);
        browser.set_page_load_timeout(limit).await?;
        for round in 0..20 {
            let path = ["/", "/others", "/lessons", "/calls"][round % 4];
            user.opens_control(path).await?;
        }
        for _ in 0..12 {
            let tab = browser.new_tab().await?;
            user.switches_to(&tab).await?;
            user.opens_control("/").await?;
        }
        let title = browser.title().await?;
        assert!(title.contains("Logins"), "{title}");
        Ok(())
    };
    close_after(&browser, steps).await;
}

/// The layout as a user sees it.
impl User<'_> {
    pub(crate) async fn sees_no_sideways_scroll(&self, picture: &str) -> WebDriverResult<()> {
        self.takes_picture(picture).await?;
        let script = "const page = document.documentElement; \
                      return page.scrollWidth - page.clientWidth;";
        assert_eq!(self.runs(script).await?, 0, "{picture} is too wide");
        Ok(())
    }

    /// Asserts that the page which is open is as wide as a phone, a tablet and a desktop.
    pub(crate) async fn fits_every_screen(&self, page: &str) -> WebDriverResult<()> {
        for width in [320, 390, 700, 900, 1280] {
            self.has_a_window_of(width, 844).await?;
            let picture = format!("{page}-{width}");
            self.sees_no_sideways_scroll(&picture).await?;
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_a_sign_in_fits_every_screen() {
    at_the_stack!(async |stack, user| {
        user.opens_the_demo().await?;
        user.fits_every_screen("demo").await?;
        for (flow, provider) in [(Flow::Clean, "google"), (Flow::Legacy, "github")] {
            user.goes_to(flow, provider).await?;
            user.fits_every_screen(provider).await?;
            user.chooses("musa").await?;
            user.sees_field("provider", provider).await?;
            user.fits_every_screen(&format!("profile-{provider}"))
                .await?;
        }
        // A line of the panel leads to a line of the source, which is in sight.
        user.clicks("#what-happened a[href*='/source/']").await?;
        let script = "const line = document.querySelector(':target').getBoundingClientRect(); \
                      return line.top >= 0 && line.bottom <= innerHeight;";
        assert_eq!(user.runs(script).await?, true);
        user.fits_every_screen("source").await?;
        user.opens(&format!("{}/callback", stack.urls().consumer))
            .await?;
        user.fits_every_screen("problem").await?;
        user.opens(&format!("{}/login/unknown", stack.urls().broker))
            .await?;
        user.sees_refusal("This sign-in link has expired, or was already used")
            .await?;
        user.fits_every_screen("broker").await?;
        let login = Application::at(&stack).await.login().await;
        user.opens(&login.authorization_url).await?;
        user.sees_continue_enabled().await?;
        user.fits_every_screen("question").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_the_control_address_fits_every_screen() {
    at_the_stack!(async |stack, user| {
        user.signs_in(Flow::Clean, "google").await?;
        let login = stack.event_log().logins(1).remove(0);
        for (page, path) in [
            ("inspector", "/".to_owned()),
            ("calls", "/calls".to_owned()),
            ("lessons", "/lessons".to_owned()),
            ("documents", "/docs".to_owned()),
            ("document", "/docs/CONTROL.md".to_owned()),
            ("present", format!("/present/{login}?arrow=3")),
        ] {
            user.opens_control(&path).await?;
            user.fits_every_screen(page).await?;
        }
        user.begins("relay").await?;
        user.clicks("#do-1").await?;
        user.sees("#attacks .state", "waits for the victim").await?;
        user.fits_every_screen("lesson").await?;

        let control = Http::at(&stack.urls().control);
        for name in ["checkout", "A long name of a test: signs_in_with_github"] {
            let started = control
                .post("/api/sandboxes")
                .json(&json!({ "name": name }));
            assert_eq!(started.send().await.status, 201);
        }
        starts_class(&stack).await;
        user.opens_control("/class").await?;
        user.fits_every_screen("class").await?;
        user.opens_control("/").await?;
        user.clicks(".picker summary").await?;
        user.fits_every_screen("sandboxes").await?;
        // The tools do so in their cards, too.
        for width in [360, 780, 1000, 1040, 1100, 1280, 1600] {
            user.has_a_window_of(width, 900).await?;
            let too_wide = "return [...document.querySelectorAll('.tool')] \
                            .filter(card => card.scrollWidth > card.clientWidth) \
                            .map(card => card.querySelector('h2').textContent);";
            assert_eq!(user.runs(too_wide).await?, json!([]), "{width}");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_cancel_is_in_sight_and_the_closed_page_is_short() {
    at_the_stack!(async |_stack, user| {
        user.has_a_window_of(390, 844).await?;
        for provider in ["google", "github"] {
            user.goes_to(Flow::Clean, provider).await?;
            let height = user.runs("return document.documentElement.scrollHeight;");
            let height = height.await?.as_u64().unwrap();
            assert!(height <= 1_500, "{provider}: {height}");
            // At the top of the page and at its end.
            for scroll in ["0", "document.body.scrollHeight"] {
                let script = format!(
                    "scrollTo(0, {scroll}); \
                     const cancel = document.querySelector('#cancel').getBoundingClientRect(); \
                     return cancel.top >= 0 && cancel.bottom <= innerHeight;"
                );
                assert_eq!(user.runs(&script).await?, true, "{provider}, {scroll}");
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_failures_are_found_by_words_and_the_keyboard_does_all() {
    at_the_stack!(async |_stack, user| {
        user.goes_to(Flow::Clean, "google").await?;
        user.opens_part("failures").await?;
        user.types("#failure-search", "signature HS256").await?;
        user.reads("1 failure found").await?;
        assert_eq!(user.counts_shown("[data-misbehave]").await?, 1);
        // From the search to the only button that is left.
        user.presses(Key::Tab).await?;
        assert!(user.focus().await?.starts_with("alg_hs256"));
        user.presses(Key::Enter).await?;
        user.sees_problem("invalid_provider_response").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_the_list_of_failures_is_simply_there() {
    at_the_stack!(async |_stack, user| {
        user.disables_scripts().await?;
        user.goes_to(Flow::Clean, "github").await?;
        user.opens_part("failures").await?;
        assert_eq!(user.counts_shown("#failure-search").await?, 0);
        user.chooses_misbehaviour("token_503").await?;
        user.sees_problem("provider_unavailable").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_likely_next_on_the_page_has_the_focus() {
    at_the_stack!(async |_stack, user| {
        user.goes_to(Flow::Clean, "github").await?;
        user.opens_part("someone-else").await?;
        // The browser's own check accepts leading zeros.
        user.types("[name=id]", "0042").await?;
        user.types("[name=username]", "octo").await?;
        user.clicks("#other").await?;
        user.reads("Use digits without leading zeros").await?;
        let script = "return [document.activeElement.id, document.activeElement.value];";
        assert_eq!(user.runs(script).await?, json!(["id", "0042"]));

        user.goes_to(Flow::Clean, "google").await?;
        user.types("#again", " ").await?;
        user.chooses("musa").await?;
        user.signs_out().await?;
        // The broker asks for the account picker, where the same user again is one key.
        user.goes_to(Flow::Clean, "google").await?;
        user.presses(Key::Enter).await?;
        user.sees_field("provider", "google").await?;
    });
}
