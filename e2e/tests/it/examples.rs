//! The README quotes the examples exactly.

#[test]
fn the_excerpt_in_the_readme_is_in_its_example() {
    let readme = include_str!("../../README.md");
    let example = include_str!("../../consumers/python/test_app.py");
    let (_, rest) = readme.split_once("```python\n").expect("an excerpt");
    let (excerpt, _) = rest.split_once("```").expect("its end");
    assert!(excerpt.lines().count() > 5, "{excerpt}");
    // In the example it is in a class.
    let indented = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    };
    let excerpt: String = excerpt.lines().map(indented).collect();
    assert!(example.contains(&excerpt), "{excerpt}");
}
