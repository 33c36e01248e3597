//! The header of every page: the way to the other pages, and to the other sandboxes.

use crate::runtime::StackRuntime;
use crate::sandbox_directory::SandboxLink;

/// The links of a header.
pub(crate) struct PageHeader {
    /// The URL of the demo.
    pub(crate) demo: Option<String>,
    /// The stack or sandbox of this page, if there is another.
    pub(crate) current: Option<String>,
    /// The others: the stack first, then its sandboxes.
    pub(crate) others: Vec<SandboxLink>,
}

impl PageHeader {
    pub(crate) fn new(runtime: &StackRuntime) -> Self {
        let own = runtime.own_sandbox.as_ref();
        let stack = own.map(|own| SandboxLink {
            name: STACK.to_owned(),
            control: own.stack_control.clone(),
        });
        let sandboxes = runtime.sandboxes.list().into_iter();
        let sandboxes = sandboxes.filter(|(id, _)| own.is_none_or(|own| own.id != *id));
        let sandboxes = sandboxes.map(|(id, link)| SandboxLink {
            name: label(&id.to_string(), &link.name),
            ..link
        });
        let others: Vec<_> = stack.into_iter().chain(sandboxes).collect();
        let current = match own {
            Some(own) => label(&own.id.to_string(), &own.name),
            None => STACK.to_owned(),
        };
        Self {
            demo: runtime.urls.consumer.clone(),
            current: Some(current).filter(|_| !others.is_empty()),
            others,
        }
    }
}

const STACK: &str = "The stack";

/// `Sandbox s1 (checkout)`; without the name, where that is only the id.
fn label(id: &str, name: &str) -> String {
    match id == name {
        true => format!("Sandbox {id}"),
        false => format!("Sandbox {id} ({name})"),
    }
}
