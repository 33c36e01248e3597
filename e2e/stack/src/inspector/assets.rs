//! The style sheets, script and icon of the pages. They are compiled into the program.

use rocket::get;
use rocket::http::ContentType;

use super::diagram;

type Asset = (ContentType, &'static str);

#[get("/inspector.css")]
pub(super) fn style() -> Asset {
    (ContentType::CSS, include_str!("../../static/inspector.css"))
}

#[get("/diagram.css")]
pub(super) fn diagram_style() -> Asset {
    (ContentType::CSS, diagram::STYLE)
}

#[get("/inspector.js")]
pub(super) fn script() -> Asset {
    (
        ContentType::JavaScript,
        include_str!("../../static/inspector.js"),
    )
}

#[get("/follow_events.js")]
pub(super) fn event_script() -> Asset {
    (
        ContentType::JavaScript,
        include_str!("../../static/follow_events.js"),
    )
}

/// The icon where a browser looks for one by itself, as beside a JSON answer.
#[get("/favicon.ico")]
pub(super) fn favicon() -> Asset {
    icon()
}

#[get("/icon.svg")]
pub(super) fn icon() -> Asset {
    (ContentType::SVG, include_str!("../../static/icon.svg"))
}
