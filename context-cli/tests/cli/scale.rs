//! The commands of `docs/scale.md`, on a server of their own.

use crate::harness::Bench;
use crate::server_fixture::{Postgres, ServerFixture as _};

/// The server and the replica of the page are one server here, which has no replica.
#[test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
fn the_commands_of_the_page_do_what_it_says() {
    let server = Postgres::new("scale");
    let page = include_str!("../../../docs/scale.md");
    let bench = Bench::with_sample();
    let url = server.url();
    let mut outputs = Vec::new();
    for block in page.split("```sh\n").skip(1) {
        let block = block.split("```").next().expect("a block ends");
        for line in block.lines().filter_map(|line| line.strip_prefix("context ")) {
            let line = line
                .replace("postgres://db/chats?partitions=16", &format!("{url}&partitions=16"))
                .replace("postgres://db/chats", &url)
                .replace("postgres://replica/chats", &url)
                .replace('"', "");
            let ran = bench.run(&line);
            assert_eq!(ran.status, 0, "{line}: {}", ran.err);
            outputs.push(ran.out);
        }
    }
    assert_eq!(outputs.len(), 3, "the page has three commands");
    assert!(outputs[1].contains("notes"), "{outputs:?}");
    let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'shop.run'::regclass";
    let count = server.with(&server.database, async |client| {
        client.query_one(partitions, &[]).await.expect("the server answers").get::<_, i64>(0)
    });
    assert_eq!(count, 16);
    server.drop();
}
