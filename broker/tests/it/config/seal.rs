//! What is sealed into a browser's cookie.

use broker::cookie_cipher::{CookieCipher, CookieKey};
use proptest::prelude::*;

use crate::scratch::Scratch;

#[test]
fn a_kept_key_opens_what_it_sealed_before() {
    let scratch = Scratch::new();
    let path = scratch.file("key");
    let cookie_cipher =
        |fresh: u8| CookieCipher::new(vec![CookieKey::kept_at(&path, [fresh; 32]).unwrap()]);
    let sealed = cookie_cipher(1).encrypt("name", "text".to_owned());
    assert_eq!(
        cookie_cipher(2).decrypt("name", &sealed).as_deref(),
        Some("text")
    );
    assert_eq!(cookie_cipher(3).decrypt("other", &sealed), None);
}

proptest! {
    #[test]
    fn whatever_is_sealed_can_be_opened_and_stands_in_a_cookie(text in "\\PC{0,300}") {
        let cookie_cipher = CookieCipher::new(vec![CookieKey::from_random(&[1; 32])]);
        let sealed = cookie_cipher.encrypt("name", text.clone());
        prop_assert!(sealed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        prop_assert_eq!(cookie_cipher.decrypt("name", &sealed), Some(text));
    }

    #[test]
    fn nothing_that_was_not_sealed_is_opened(text in any::<String>()) {
        let cookie_cipher = CookieCipher::new(vec![CookieKey::from_random(&[1; 32])]);
        prop_assert_eq!(cookie_cipher.decrypt("name", &text), None);
    }
}
