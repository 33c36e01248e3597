//! A browser of the real program.

use reqwest::{Method, RequestBuilder};

use super::Served;
use crate::http::world::Answer;

/// A browser on a page of the consumer. It keeps every cookie and never goes anywhere
/// by itself.
#[derive(Default)]
pub(crate) struct Browser {
    cookies: Vec<String>,
}

impl Browser {
    /// Follows a link to `path`.
    pub(crate) async fn get(&mut self, served: &Served, path: &str) -> Answer {
        let answer = Answer::to(self.request(served, path)).await;
        let pair = |line: String| line.split(';').next().unwrap().to_owned();
        self.cookies
            .extend(answer.set_cookies().into_iter().map(pair));
        answer
    }

    /// The request of a browser that follows a link to `path`.
    pub(crate) fn request(&self, served: &Served, path: &str) -> RequestBuilder {
        served
            .request(Method::GET, path)
            .header("Accept", "text/html")
            .header("Sec-Fetch-Site", "cross-site")
            .header("Sec-Fetch-Mode", "navigate")
            .header("Sec-Fetch-Dest", "document")
            .header("Referer", "https://app.example/")
            .header("Cookie", self.cookies.join("; "))
    }
}
