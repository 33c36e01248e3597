//! The providers' pages, which are shown while an examination runs, so that each browser
//! can choose who signs in.

use crate::testbed::Testbed;

/// The providers whose pages were automatic before.
#[derive(Debug, Default)]
pub(super) struct Interactive(Vec<&'static str>);

impl Interactive {
    pub(super) async fn switch(&mut self, testbed: &Testbed) -> Result<(), String> {
        for provider in ["google", "github"] {
            if testbed.control.mode(provider).await? == "automatic" {
                // Before the call: it may take effect although its answer is lost.
                self.0.push(provider);
                testbed.control.set_mode(provider, "interactive").await?;
            }
        }
        Ok(())
    }

    /// Leaves the stack as it was found, after an interruption as well.
    pub(super) async fn restore(self, testbed: &Testbed) {
        // The stack may have ended meanwhile; there is nothing left to restore then.
        let _ = testbed.control.disarm().await;
        for provider in self.0 {
            let _ = testbed.control.set_mode(provider, "automatic").await;
        }
    }
}
