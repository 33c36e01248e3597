//! What the pages for refusals say to a user.

use contract::Rule;

/// A page's title, and what happened and what to do, in words for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageText {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

impl PageText {
    /// The text for a request that `rule` refused. A user can do nothing about most rules;
    /// those share one text.
    pub(super) fn of(rule: Rule) -> Self {
        let (title, text) = match rule {
            Rule::HandleKnown => (
                "This sign-in is over",
                "This sign-in link has expired, or was already used. Go back to the app and start again.",
            ),
            Rule::UpstreamLoginOnce => (
                "This sign-in is over",
                "This sign-in was already used. Go back to the app; if you are not signed in there, start again.",
            ),
            Rule::UpstreamLoginExpiry => (
                "This sign-in is over",
                "It took longer than ten minutes, so it has ended. Go back to the app and start again.",
            ),
            Rule::HandleOneBrowser => (
                "This sign-in belongs to another browser",
                "This link was already opened in another browser. If that was not you, someone else \
                 may have your link. Go back to the app and start again.",
            ),
            Rule::UpstreamLoginOwnBrowser => (
                "This sign-in did not begin in this browser",
                "You came back in another browser than the one you started in, or this browser does \
                 not keep cookies. Go back to the app, start again, and stay in one browser.",
            ),
            Rule::RequestCookies => (
                "A cookie in this browser cannot be read",
                "Another site of the same domain has left a cookie that hides ours. Delete the cookies \
                 of this domain in your browser's settings, then go back to the app and start again.",
            ),
            Rule::UpstreamLoginRateLimit => (
                "Too many people are signing in from here",
                "There are too many sign-ins from your network at the moment. Wait a minute, then \
                 reload this page. Your sign-in is not lost.",
            ),
            Rule::BrokerOverload => (
                "Too many people are signing in right now",
                "Wait a moment, then go back to the app and start again.",
            ),
            Rule::RelayOwnPage => (
                "This did not come from our own page",
                "The button that you pressed was not ours. If another website brought you here, close \
                 this page. Otherwise go back to the app and start again.",
            ),
            Rule::RequestPath | Rule::RequestMethod => (
                "Page not found",
                "There is nothing to see at this address. To sign in, go to the app that you want to use.",
            ),
            Rule::RequestPrefetch => (
                "This page was not loaded ahead of time",
                "Open the link to load it.",
            ),
            Rule::StoreReachable => (
                "Sign-in is not possible right now",
                "The sign-in service is not available at the moment. Try again in a minute.",
            ),
            Rule::BrokerFault => (
                "Sign-in is not possible right now",
                "Something went wrong on our side. Try again in a minute.",
            ),
            Rule::AuthorizeClient | Rule::RedirectUriRegistered => (
                "This sign-in cannot go on",
                "The sign-in of this app is not set up correctly. Please tell the app's makers.",
            ),
            _ => (
                "This sign-in cannot go on",
                "Your browser sent something that we cannot use. Go back to the app and start again; \
                 if that does not help, tell the app's makers.",
            ),
        };
        Self { title, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_for_users_is_the_sentence_of_a_rule_or_has_a_word_of_the_protocol() {
        let words = [
            "client_id",
            "redirect_uri",
            "GET ",
            "curl",
            "rule",
            "broker",
        ];
        for shown in Rule::ALL {
            let PageText { title, text } = PageText::of(*shown);
            assert!(text.ends_with('.') && !title.ends_with('.'), "{shown}");
            for rule in Rule::ALL {
                assert!(!title.contains(rule.sentence()), "{shown}: {title}");
                assert!(!text.contains(rule.sentence()), "{shown}: {text}");
                assert!(!text.contains(rule.advice()), "{shown}: {text}");
            }
            for word in words {
                let has_word = title.contains(word) || text.contains(word);
                assert!(!has_word, "{shown}: {title} {text}");
            }
        }
    }
}
