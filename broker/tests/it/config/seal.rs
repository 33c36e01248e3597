//! What is sealed into a browser's cookie.

use broker::seal::{SealKey, Sealer};
use proptest::prelude::*;

use crate::scratch::Scratch;

#[test]
fn a_kept_key_opens_what_it_sealed_before() {
    let scratch = Scratch::new();
    let path = scratch.file("key");
    let sealer = |fresh: u8| Sealer::new(vec![SealKey::kept_at(&path, [fresh; 32]).unwrap()]);
    let sealed = sealer(1).seal("name", "text".to_owned());
    assert_eq!(sealer(2).open("name", &sealed).as_deref(), Some("text"));
    assert_eq!(sealer(3).open("other", &sealed), None);
}

proptest! {
    #[test]
    fn whatever_is_sealed_can_be_opened_and_stands_in_a_cookie(text in "\\PC{0,300}") {
        let sealer = Sealer::new(vec![SealKey::from_random(&[1; 32])]);
        let sealed = sealer.seal("name", text.clone());
        prop_assert!(sealed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        prop_assert_eq!(sealer.open("name", &sealed), Some(text));
    }

    #[test]
    fn nothing_that_was_not_sealed_is_opened(text in any::<String>()) {
        let sealer = Sealer::new(vec![SealKey::from_random(&[1; 32])]);
        prop_assert_eq!(sealer.open("name", &text), None);
    }
}
