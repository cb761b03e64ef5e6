//! Made-up secrets of many kinds. They are put together at run time, so that no scanner of a
//! repository finds one in this file.

/// A made-up secret, with the text it stands in.
pub(crate) struct Sample {
    /// The kind that is found.
    pub(crate) kind: &'static str,
    /// The text, in which the secret occurs once.
    pub(crate) text: String,
    /// The part that must not be left.
    pub(crate) secret: String,
}

/// Characters drawn by a fixed sequence.
fn draw(from: &[u8], length: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let drawn = (0..length).map(|_| char::from(from[(next() % from.len() as u64) as usize]));
    drawn.collect()
}

/// Returns letters and digits. The last two are a letter of either case, so that no run is a word.
fn alnum(length: usize, seed: u64) -> String {
    let all = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    format!("{}7qZ", draw(all, length - 3, seed))
}

fn hex(length: usize, seed: u64) -> String {
    format!("{}7f", draw(b"0123456789abcdef", length - 2, seed))
}

fn upper(length: usize, seed: u64) -> String {
    format!("{}7Q", draw(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length - 2, seed))
}

/// Returns lines of Base64, as key files have them.
fn lines(count: u64, seed: u64) -> Vec<String> {
    (0..count).map(|line| alnum(64, seed + line)).collect()
}

/// Returns the samples. Each secret differs from the others.
pub(crate) fn corpus() -> Vec<Sample> {
    let mut all = Vec::new();
    let mut add = |kind, before: &str, secret: String, after: &str| {
        all.push(Sample { kind, text: format!("{before}{secret}{after}"), secret });
    };
    // A prefix in two pieces, and the rest.
    let token = |pieces: [&str; 2], rest: String| format!("{}{}{rest}", pieces[0], pieces[1]);
    let mut seed = 1;
    let mut simple = |kind, pieces, rest: &dyn Fn(u64) -> String| {
        seed += 1;
        add(kind, "use ", token(pieces, rest(seed)), " for it.");
    };
    simple("aws-access-key", ["AK", "IA"], &|s| upper(16, s));
    simple("aws-access-key", ["AS", "IA"], &|s| upper(16, s));
    for letter in ["p_", "o_", "u_", "s_", "r_"] {
        simple("github-token", ["gh", letter], &|s| alnum(36, s));
    }
    simple("github-token", ["github_", "pat_"], &|s| {
        format!("{}_{}", alnum(22, s), alnum(59, s + 900))
    });
    simple("gitlab-token", ["glp", "at-"], &|s| alnum(20, s));
    simple("openai-key", ["sk-", "proj-"], &|s| {
        format!("{}-{}_x", alnum(40, s), alnum(20, s + 900))
    });
    simple("openai-key", ["s", "k-"], &|s| alnum(48, s));
    simple("anthropic-key", ["sk-", "ant-api03-"], &|s| {
        format!("{}-{}AA", alnum(60, s), alnum(30, s + 900))
    });
    simple("openrouter-key", ["sk-", "or-v1-"], &|s| hex(64, s));
    simple("google-api-key", ["AI", "za"], &|s| alnum(35, s));
    simple("google-oauth-secret", ["GOC", "SPX-"], &|s| alnum(28, s));
    simple("google-oauth-token", ["ya", "29."], &|s| alnum(60, s));
    simple("slack-token", ["xo", "xb-"], &|s| {
        format!("123456789012-1234567890123-{}", alnum(24, s))
    });
    simple("slack-token", ["xa", "pp-"], &|s| format!("1-A0123-987-{}", hex(64, s)));
    simple("stripe-key", ["sk_", "live_"], &|s| alnum(24, s));
    simple("stripe-key", ["rk_", "test_"], &|s| alnum(24, s));
    simple("stripe-webhook-secret", ["wh", "sec_"], &|s| alnum(32, s));
    simple("twilio-key", ["S", "K"], &|s| hex(32, s));
    simple("sendgrid-key", ["S", "G."], &|s| format!("{}.{}", alnum(22, s), alnum(43, s + 900)));
    simple("mailgun-key", ["ke", "y-"], &|s| hex(32, s));
    simple("npm-token", ["np", "m_"], &|s| alnum(36, s));
    simple("pypi-token", ["py", "pi-"], &|s| format!("AgEIcHlwaS5vcmc{}", alnum(60, s)));
    simple("crates-token", ["ci", "o"], &|s| alnum(32, s));
    simple("docker-token", ["dckr_", "pat_"], &|s| alnum(27, s));
    simple("huggingface-token", ["h", "f_"], &|s| alnum(34, s));
    simple("digitalocean-token", ["dop_", "v1_"], &|s| hex(64, s));
    simple("heroku-key", ["HR", "KU-"], &|s| format!("{}-{}", hex(8, s), alnum(40, s + 900)));
    simple("shopify-token", ["shp", "at_"], &|s| hex(32, s));
    simple("square-token", ["sq0", "csp-"], &|s| alnum(43, s));
    simple("databricks-token", ["da", "pi"], &|s| hex(32, s));
    simple("linear-key", ["lin_", "api_"], &|s| alnum(40, s));
    simple("notion-token", ["nt", "n_"], &|s| alnum(46, s));
    simple("notion-token", ["sec", "ret_"], &|s| alnum(43, s));
    simple("vault-token", ["hv", "s."], &|s| alnum(90, s));
    simple("sentry-token", ["snt", "rys_"], &|s| alnum(60, s));
    simple("grafana-token", ["gl", "sa_"], &|s| format!("{}_{}", alnum(32, s), hex(8, s + 900)));
    simple("postman-key", ["PM", "AK-"], &|s| format!("{}-{}", hex(24, s), hex(34, s + 900)));
    simple("doppler-token", ["dp.", "pt."], &|s| alnum(43, s));
    simple("fly-token", ["fm", "2_"], &|s| alnum(80, s));
    simple("atlassian-token", ["ATA", "TT3"], &|s| format!("xFfGF0{}", alnum(60, s)));
    simple("new-relic-key", ["NR", "AK-"], &|s| upper(27, s));
    simple("figma-token", ["fi", "gd_"], &|s| alnum(40, s));
    simple("groq-key", ["gs", "k_"], &|s| alnum(52, s));
    simple("xai-key", ["xa", "i-"], &|s| alnum(80, s));
    simple("perplexity-key", ["pp", "lx-"], &|s| alnum(48, s));
    simple("replicate-token", ["r", "8_"], &|s| alnum(37, s));
    simple("rubygems-key", ["ruby", "gems_"], &|s| hex(48, s));
    simple("pulumi-token", ["pu", "l-"], &|s| hex(40, s));
    simple("planetscale-token", ["pscale_", "tkn_"], &|s| alnum(43, s));
    simple("supabase-key", ["sb", "p_"], &|s| hex(40, s));
    simple("tailscale-key", ["ts", "key-"], &|s| format!("auth-{}", alnum(30, s)));
    simple("telegram-token", ["123456", "7890:AA"], &|s| alnum(33, s));
    simple("azure-client-secret", ["abC", "8Q~"], &|s| alnum(34, s));
    simple("age-key", ["AGE-SECRET-", "KEY-1"], &|s| upper(58, s));
    simple("dynatrace-token", ["dt0", "c01."], &|s| {
        format!("{}.{}", upper(24, s), upper(64, s + 900))
    });

    let part =
        |length, seed| draw(b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMN0123456789-_", length, seed);
    add(
        "jwt",
        "session ",
        format!("ey{}{}.ey{}.s{}", "J", part(30, 700), part(60, 701), part(42, 702)),
        " ends",
    );
    add(
        "terraform-token",
        "is ",
        format!("{}.atlas{}.{}", alnum(14, 703), "v1", alnum(67, 704)),
        ".",
    );
    add(
        "discord-token",
        "bot ",
        format!("M{}.{}.{}", alnum(23, 705), alnum(6, 706), alnum(38, 707)),
        "",
    );
    let block = |label: &str, seed, feed: &str| {
        let body = lines(6, seed).join(feed);
        format!(
            "-----BEGIN {label}PRIVATE KEY-----{feed}{body}{feed}-----END {label}PRIVATE KEY-----"
        )
    };
    add("private-key", "the key:\n", block("RSA ", 710, "\n"), "\nand more");
    add("private-key", "the key:\n", block("OPENSSH ", 720, "\n"), "\nand more");
    add("private-key", "{\\\"key\\\": \\\"", block("", 730, "\\n"), "\\\"}");
    add(
        "slack-webhook",
        "https://hooks.slack.com/services/",
        format!("T0{}/B0{}/{}", upper(9, 740), upper(9, 741), alnum(24, 742)),
        " posts",
    );
    add(
        "azure-storage-key",
        "AccountName=shop;AccountKey=",
        format!("{}==", alnum(86, 743)),
        ";EndpointSuffix=core.windows.net",
    );
    add(
        "azure-sas",
        "https://shop.blob.core.windows.net/a?sv=2022&sig=",
        format!("{}%3D", alnum(43, 744)),
        "&se=2030",
    );
    add(
        "url-password",
        "postgres://ada:",
        format!("{}x!", alnum(14, 745)),
        "@db.example.org:5432/shop",
    );
    add("url-password", "mongodb+srv://root:", alnum(20, 746), "@cluster0.example.net");
    add("bearer-token", "Authorization: Bearer ", alnum(40, 747), "\n");
    add("basic-credentials", "Authorization: Basic ", format!("{}==", alnum(26, 748)), "\n");
    add(
        "aws-secret-key",
        "aws_secret_access_key = ",
        format!("{}/{}", alnum(20, 749), alnum(19, 750)),
        "\n",
    );
    add("datadog-key", "DD_API_KEY=", hex(32, 751), "\n");
    add("cloudflare-key", "CLOUDFLARE_API_TOKEN=\"", alnum(40, 752), "\"");
    add("password", "password = \"", format!("{}!", alnum(11, 753)), "\"");
    add("password", "DB_PASS=", alnum(12, 754), "\nDB_HOST=x");
    add(
        "password",
        "Server=db;User Id=sa;Password=",
        format!("{}#", alnum(12, 755)),
        ";Encrypt=true",
    );
    add("password", "run --password ", alnum(12, 756), " --verbose");
    add("api-key", "{\"api_key\": \"", alnum(32, 757), "\"}");
    add("token", "  token: ", alnum(32, 758), "\n");
    add("secret", "client_secret=", alnum(32, 759), "&grant_type=x");
    all
}
