use textkit::*;

// The release notes script reads this format.
#[test]
fn table_format() {
    let mut table = Table::new(&["file", "lines", "share"]);
    table.align(1, Align::Right).unwrap();
    table.align(2, Align::Center).unwrap();
    table.row(&["wrap.rs", &group_thousands(1234), &percent(1, 2)]).unwrap();
    table.row(&["diff.rs", &group_thousands(99), &percent(1, 20)]).unwrap();
    let expected = "\
file     lines  share
-------  -----  -----
wrap.rs  1,234  50.0%
diff.rs     99  5.0%
";
    assert_eq!(table.render(), expected);
}

#[test]
fn report() {
    let template = Template::parse(
        "# {{ title | title }}\n{{#each files}}- {{ . | kebab }}\n{{/each}}{{#if note}}{{ note }}\n{{/if}}",
    )
    .unwrap();
    let mut context = Context::new();
    context.insert("title".to_string(), Value::Text("state of the art".to_string()));
    context.insert(
        "files".to_string(),
        Value::List(vec!["FooBar".to_string(), "bazQux".to_string()]),
    );
    let text = template.render(&context).unwrap();
    assert_eq!(text, "# State of the Art\n- foo-bar\n- baz-qux\n");
}

#[test]
fn wrapped_and_indented() {
    let text = dedent("    one two three four\n    five six\n");
    let text = indent(&fill(&text, 14), "> ");
    assert_eq!(text, "> one two three\n> four five six");
    assert_eq!(longest_line(&text), 15);
}
