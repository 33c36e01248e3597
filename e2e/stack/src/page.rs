//! The frame of the pages of the control address: their header, with the way to the
//! other pages and to the other sandboxes, and how they are answered.

use askama::Template;
use broker::relay::RelayGuard;
use rocket::http::{ContentType, Method, Status};
use rocket::response::content::RawHtml;
use rocket::route::{Handler, Outcome, Route};
use rocket::{Data, Request};

use crate::runtime::{SandboxLink, StackRuntime};

/// A page with its status.
pub(crate) type PageResponse = (Status, RawHtml<String>);

/// A style sheet, script or picture, which is compiled into the program.
#[derive(Clone)]
struct Asset(ContentType, &'static [u8]);

/// The route of an asset at `path`.
pub(crate) fn asset(
    path: &str,
    media_type: ContentType,
    content: &'static (impl AsRef<[u8]> + ?Sized),
) -> Route {
    Route::new(Method::Get, path, Asset(media_type, content.as_ref()))
}

#[rocket::async_trait]
impl Handler for Asset {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        let Self(media_type, content) = self.clone();
        Outcome::from(request, (media_type, content))
    }
}

/// The page that `template` makes.
pub(crate) fn html(template: &impl Template) -> RawHtml<String> {
    RawHtml(template.render().expect("the template only writes strings"))
}

/// 404 if the page is about something that does not exist.
pub(crate) fn found(is_known: bool) -> Status {
    match is_known {
        true => Status::Ok,
        false => Status::NotFound,
    }
}

/// The links of a header.
pub(crate) struct PageHeader {
    /// The sandbox of this page; `None` for the stack's own pages.
    pub(crate) sandbox: Option<String>,
    /// The URL of the demo.
    pub(crate) demo: Option<String>,
    /// Whether the relay guard of the demo's project is off.
    pub(crate) is_guard_off: bool,
    /// The others: the stack first, then its sandboxes.
    pub(crate) others: Vec<SandboxLink>,
}

impl PageHeader {
    pub(crate) fn new(runtime: &StackRuntime) -> Self {
        let own = runtime.own_sandbox.as_ref();
        let stack = own.map(|own| SandboxLink {
            name: "The stack".to_owned(),
            control: own.stack_control.clone(),
        });
        let sandboxes = runtime.sandboxes.list().into_iter();
        let sandboxes = sandboxes.filter(|(id, _)| own.is_none_or(|own| own.id != *id));
        let sandboxes = sandboxes.map(|(id, link)| SandboxLink {
            name: label(&id.to_string(), &link.name),
            ..link
        });
        let demo = runtime.projects.find("demo").ok();
        let guard = demo.and_then(|demo| runtime.projects.relay_guard(&demo));
        Self {
            is_guard_off: guard == Some(RelayGuard::Off),
            sandbox: own.map(|own| label(&own.id.to_string(), &own.name)),
            demo: runtime.urls.consumer.clone(),
            others: stack.into_iter().chain(sandboxes).collect(),
        }
    }

    /// The label of the closed menu.
    pub(crate) fn menu_label(&self) -> String {
        match (&self.sandbox, self.others.len()) {
            (None, 1) => "1 sandbox".to_owned(),
            (None, number) => format!("{number} sandboxes"),
            (Some(_), 1) => "The stack".to_owned(),
            (Some(_), number) => format!("The stack and {} more", number - 1),
        }
    }
}

/// `Sandbox s1 (checkout)`; without the name, where that is only the id.
fn label(id: &str, name: &str) -> String {
    match id == name {
        true => format!("Sandbox {id}"),
        false => format!("Sandbox {id} ({name})"),
    }
}
