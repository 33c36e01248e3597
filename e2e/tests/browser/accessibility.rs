//! Every page passes the checks of axe, on a desktop and on a phone; and in dark those of its
//! colours.

use serde_json::{Value, json};
use thirtyfour::error::WebDriverResult;

use crate::application::Application;
use crate::user::{Flow, User};
use crate::{chromium, interactive, start};

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
const PAGES: [&str; 14] = [
    "/",
    "/others",
    "/calls",
    "/source",
    "/source/consumer-demo/src/clean.rs",
    "/lessons",
    "/lessons/first-sign-in",
    "/lessons/two-tabs",
    "/lessons/lost-answer",
    "/lessons/replay",
    "/lessons/relay",
    "/lessons/nothing",
    "/logins/nothing",
    "/logins/nothing?call=nothing",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_page_breaks_a_rule_of_axe() {
    for (width, height) in [(1280, 900), (390, 844)] {
        let axe = std::fs::read_to_string(AXE);
        let axe = axe.expect("`just test-browser` installs axe");
        let stack = start(interactive()).await;
        let browser = chromium::open().await;
        let steps = async {
            browser.set_window_rect(0, 0, width, height).await?;
            let checker = Checker {
                user: User::at(&browser, &stack),
                axe,
                is_phone: width < 500,
            };
            let (user, urls) = (&checker.user, stack.urls());
            for page in PAGES {
                checker.opens(&urls.control, page).await?;
            }
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
            Ok(())
        };
        chromium::close_after(&browser, steps).await;
    }
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
    let browser = chromium::open_with_tabs().await;
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
    chromium::close_after(&browser, steps).await;
}
