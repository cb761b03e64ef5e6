//! Texts without secrets, which stay as they are.

use context_secrets::SecretFinder;

#[test]
fn placeholders_types_code_and_words_are_no_secrets() {
    let finder = SecretFinder::default();
    for text in [
        "password: string",
        "\"password\": \"string\"",
        "api_key = \"<your key>\"",
        "api_key=YOUR_API_KEY_1",
        "token: xxxxxxxx",
        "TOKEN=${TOKEN}",
        "TOKEN=$GITHUB_TOKEN_2",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password = getpass.getpass()",
        "token = self.config.auth_token2",
        "const token = generateToken2(user)",
        "secret: process.env.CLIENT_SECRET",
        "if password == other_password:",
        "the token: field is required, the password too",
        "use bearer authentication, or basic Authentication",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $ACCESS_TOKEN1234",
        "max_tokens=4096, total_tokens: 12345678",
        "next_page_token: CAESBg1234abcdEFGH",
        "a task-oriented risk-averse model with sk-learn-contrib",
        "postgres://user:password@localhost/db",
        "postgres://user:${PASSWORD}@localhost/db",
        "https://example.org/path?x=1@2",
        "git@github.com:owner/name.git",
        "-----BEGIN PRIVATE KEY----- line begins it",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END CERTIFICATE-----",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "PWD=/srv/ada/project2",
        "password_file: /run/secrets/db1",
        "compass: a1b2c3d4e5",
        "[secret:github-token] and password=[secret:password]",
        "toolu_01A09q90qw90lq917835lq9 call_abcDEF123456 msg_0123456789abcdefABCDEF",
        "The password must be at least 8 characters long: letters, digits.",
        "{\"type\": \"object\", \"properties\": {\"password\": {\"type\": \"string\"}}}",
        "arn:aws:iam::123456789012:role/AdminRole",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    ] {
        let (masked, counts) = finder.mask(text);
        assert_eq!(masked, text);
        assert!(counts.is_empty());
    }
}

#[test]
fn a_text_that_goes_on_is_held_from_the_beginning_of_a_secret() {
    let finder = SecretFinder::default();
    for (text, held) in [
        ("all said.", ""),
        ("a word", ""),
        ("the key gh", "gh"),
        ("the key ghp_a1B2", "ghp_a1B2"),
        ("the key ghp_a1B2 is", ""),
        ("so password = ", "password = "),
        ("so password = hun", "password = hun"),
        ("so password = hunter2 and", ""),
        ("x\n-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----\nMIIE"),
        ("", ""),
    ] {
        assert_eq!(&text[finder.open_from(text)..], held, "{text:?}");
    }
}
