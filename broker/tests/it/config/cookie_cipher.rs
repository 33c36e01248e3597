//! The encryption of cookies, with keys from the configuration or a file.

use broker::cookie_cipher::{CookieCipher, CookieKey};
use proptest::prelude::*;

use crate::scratch::Scratch;

#[test]
fn a_stored_key_decrypts_what_it_encrypted_before() {
    let scratch = Scratch::new();
    let path = scratch.file("key");
    let cookie_cipher =
        |fresh: u8| CookieCipher::new(vec![CookieKey::kept_at(&path, [fresh; 32]).unwrap()]);
    let encrypted = cookie_cipher(1).encrypt("name", "text".to_owned());
    assert_eq!(
        cookie_cipher(2).decrypt("name", &encrypted).as_deref(),
        Some("text")
    );
    assert_eq!(cookie_cipher(3).decrypt("other", &encrypted), None);
}

proptest! {
    #[test]
    fn an_encrypted_text_fits_in_a_cookie_and_can_be_decrypted(text in "\\PC{0,300}") {
        let cookie_cipher = CookieCipher::new(vec![CookieKey::from_random(&[1; 32])]);
        let encrypted = cookie_cipher.encrypt("name", text.clone());
        prop_assert!(encrypted.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        prop_assert_eq!(cookie_cipher.decrypt("name", &encrypted), Some(text));
    }

    // Threats: CVE-2024-4540.
    #[test]
    fn a_text_that_was_not_encrypted_is_not_decrypted(text in any::<String>()) {
        let cookie_cipher = CookieCipher::new(vec![CookieKey::from_random(&[1; 32])]);
        prop_assert_eq!(cookie_cipher.decrypt("name", &text), None);
    }
}
