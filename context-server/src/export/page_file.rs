//! A file that is being written: the first page as it is, and the answers of the inspector in
//! packs.

use std::collections::BTreeMap;
use std::io::{self, Write};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::PreEscaped;
use sha2::{Digest, Sha256};
use tower::ServiceExt as _;

use super::HtmlExportError;
use crate::assets;

/// The bytes of answers that are packed together.
const PACK: usize = 400 * 1024;

/// A file that is being written.
pub(super) struct PageFile<'o, W> {
    router: Router,
    /// For each address the pack and the place in it.
    places: BTreeMap<String, (usize, usize)>,
    packs: usize,
    /// The answers of the pack that is not full yet.
    open: Vec<String>,
    bytes: usize,
    out: &'o mut W,
}

impl<'o, W: Write> PageFile<'o, W> {
    pub(super) fn new(router: Router, out: &'o mut W) -> Self {
        Self { router, places: BTreeMap::new(), packs: 0, open: Vec::new(), bytes: 0, out }
    }

    /// Returns the answer of the inspector.
    async fn answer(&self, path: &str) -> Result<(StatusCode, String), HtmlExportError> {
        let failed = |problem: String| HtmlExportError::Page { path: path.to_owned(), problem };
        let request = Request::get(path).header("host", "localhost").body(Body::empty());
        let request = request.map_err(|error| failed(error.to_string()))?;
        let answer = match self.router.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await;
        let bytes = bytes.map_err(|error| failed(error.to_string()))?;
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) async fn page(&self, path: &str) -> Result<String, HtmlExportError> {
        match self.answer(path).await? {
            (status, body) if status.is_success() => Ok(body),
            (status, _) => {
                Err(HtmlExportError::Page { path: path.to_owned(), problem: status.to_string() })
            }
        }
    }

    /// Adds the answer for an address.
    pub(super) async fn add(&mut self, path: &str) -> Result<(), HtmlExportError> {
        let body = self.page(path).await?;
        self.put(&[path.to_owned()], body)
    }

    /// Adds a body under several addresses.
    pub(super) fn put(
        &mut self,
        addresses: &[String],
        body: String,
    ) -> Result<(), HtmlExportError> {
        for address in addresses {
            self.places.insert(address.clone(), (self.packs, self.open.len()));
        }
        self.bytes += body.len();
        self.open.push(body);
        if self.bytes >= PACK {
            self.pack()?;
        }
        Ok(())
    }

    fn pack(&mut self) -> Result<(), HtmlExportError> {
        if self.open.is_empty() {
            return Ok(());
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut packed, &self.open).map_err(io::Error::from)?;
        let packed = STANDARD.encode(packed.finish()?);
        writeln!(
            self.out,
            "<script type=\"text/plain\" id=\"pack-{}\">{packed}</script>",
            self.packs
        )?;
        self.open.clear();
        (self.packs, self.bytes) = (self.packs + 1, 0);
        Ok(())
    }

    /// Writes the head and the first page, so that a browser draws it before it has the rest.
    pub(super) async fn begin(
        &mut self,
        title: &str,
        start: &str,
        base: &str,
    ) -> Result<(), HtmlExportError> {
        let (script, styles) = (assets::bundle(), assets::styles());
        let theme = assets::theme();
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        let policy = format!(
            "default-src 'none'; script-src {} {}; style-src {}; img-src data:",
            hash(&script),
            hash(theme),
            hash(styles)
        );
        let page = self.page(start).await?;
        let body = page.split_once("<body>").and_then(|(_, rest)| rest.rsplit_once("</body>"));
        let body = body.map_or("", |(body, _)| body);
        let title = maud::html! { (title) }.into_string();
        let (start, base) =
            (maud::html! { (start) }.into_string(), maud::html! { (base) }.into_string());
        write!(
            self.out,
            "<!DOCTYPE html><html lang=\"en\" data-root=\"\" data-static><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"content-security-policy\" content=\"{}\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{title} · context</title>\
             <link rel=\"icon\" href=\"data:,\"><style>{styles}</style><script>{theme}</script></head>\
             <body data-start=\"{base}\" data-first=\"{start}\">{body}",
            PreEscaped(policy).0
        )?;
        self.out.flush()?;
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), HtmlExportError> {
        self.pack()?;
        let places = serde_json::to_string(&self.places).map_err(io::Error::from)?;
        // No address may end the element.
        let places = places.replace('<', "\\u003c");
        writeln!(self.out, "<script type=\"application/json\" id=\"places\">{places}</script>")?;
        writeln!(self.out, "<script type=\"module\">{}</script></body></html>", assets::bundle())?;
        self.out.flush()?;
        Ok(())
    }
}
