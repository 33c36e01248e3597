use super::*;

fn line(from: &str, to: &str, what: &str) -> TranscriptLine {
    TranscriptLine {
        at: 0,
        from: from.to_owned(),
        to: to.to_owned(),
        what: what.to_owned(),
        is_wrong: false,
    }
}

#[test]
fn browsers_are_left_of_the_app_and_the_examiner_is_on_the_right() {
    let transcript = [
        line("examiner", "broker", "the next POST /v1/token meets: drop"),
        line("browser A", "app", "GET /"),
        line("browser A", "https://evil.example", "GET /"),
        line("browser B", "github", "GET /"),
        line("examiner", "clock", "600 s pass"),
    ];
    let expected = [
        "browser A",
        "browser B",
        "app",
        "broker",
        "github",
        "https://evil.example",
        "clock",
        "examiner",
    ];
    assert_eq!(parties(&transcript), expected);
}

#[test]
fn a_long_run_loses_its_middle_but_never_the_wrong_arrow() {
    let mut transcript: Vec<_> = (0..200)
        .map(|number| line("browser A", "app", &format!("GET /{number} \u{2192} 200")))
        .collect();
    // The same exchange in turn is one arrow.
    transcript.splice(0..1, vec![transcript[0].clone(); 20]);
    transcript[119].is_wrong = true;
    let svg = draw("long", &transcript);
    assert_eq!(svg.matches("<polygon").count(), MAX_ARROWS + 1);
    assert_eq!(svg.matches("step refused").count(), 1);
    assert!(svg.contains("✗ GET /100"), "{svg}");
    assert!(svg.contains("(× 20)"), "{svg}");
    assert!(svg.contains("88 more exchanges") && svg.contains("75 more exchanges"));
}

#[test]
fn every_label_lies_inside_the_diagram() {
    let long = format!(
        "GET /callback?{} \u{2192} 303",
        "parameter=value&".repeat(20)
    );
    let transcript = [line("browser A", "app", &long), line("app", "app", &long)];
    let mut y = 0;
    for ends in [(60, 180), (400, 470), (60, 60)] {
        let arrow = arrow(&transcript[0], 1, ends, 480, &mut y);
        for text in arrow.texts {
            let half = text_width(&text.text) / 2;
            assert!(text.x - half >= 0 && text.x + half <= 480, "{}", text.text);
        }
    }
    assert!(draw("to itself", &transcript).contains("<polygon"));
}

#[test]
fn a_long_query_is_shortened_to_its_first_names() {
    let short = "GET /callback?state=[masked abcdefgh]&code=[masked ijklmnop]";
    assert_eq!(label(short), short);
    let long = format!(
        "GET /authorize?client_id=1&state=2&scope=3&{}",
        "x".repeat(80)
    );
    assert_eq!(
        label(&long),
        "GET /authorize?client_id&state&scope&\u{2026}"
    );
}
