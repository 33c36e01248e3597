//! The documents of the repository, as they were compiled: who has only the program reads them
//! at its control address.

/// A document in Markdown.
#[derive(Debug)]
pub struct Document {
    /// The path below the repository: `docs/CONNECT.md`.
    pub path: &'static str,
    /// The text.
    pub text: &'static str,
}

macro_rules! documents {
    ($($path:literal)+) => {
        &[$(Document { path: $path, text: include_str!(concat!("../../../", $path)) }),+]
    };
}

/// Every document, in reading order.
pub static DOCUMENTS: &[Document] = documents! {
    "README.md"
    "docs/CONNECT.md" "docs/EXAMINE.md" "docs/TESTING.md" "docs/SANDBOXES.md"
    "docs/CONTROL.md" "docs/INSPECTOR.md" "docs/PRACTICE.md" "docs/TEACH.md" "docs/PROTECTION.md"
    "docs/GLOSSARY.md" "docs/INSTALL.md" "docs/PROVIDERS.md" "docs/OPERATE.md" "docs/DEPLOY.md"
    "docs/LOG.md" "docs/CONFORMANCE.md" "docs/PROOF.md" "docs/ARCHITECTURE.md"
    "docs/CONTRIBUTING.md"
    "consumer-demo/README.md" "e2e/consumers/README.md" "broker/README.md"
    "mock-upstream/README.md"
};

impl Document {
    /// The document at a path below `/docs/`.
    pub fn at(path: &str) -> Option<&'static Self> {
        DOCUMENTS.iter().find(|it| it.below_docs() == path)
    }

    /// The path of its page: `/docs/CONNECT.md`.
    pub fn href(&self) -> String {
        format!("/docs/{}", self.below_docs())
    }

    fn below_docs(&self) -> &'static str {
        self.path.strip_prefix("docs/").unwrap_or(self.path)
    }
}
