# The HTTP API of docs/http.md. The section "Install" of the README has the commands.

FROM rust:1.95-slim-trixie AS build
WORKDIR /src
COPY . .
RUN cargo install --path context-cli --profile dist --locked --root /out

FROM debian:trixie-slim
# Certificates for PostgreSQL and Redis over TLS.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --create-home context
COPY --from=build /out/bin/context /usr/local/bin/context
USER context
WORKDIR /data
VOLUME /data
# Another store, such as postgres://…, is a value of this variable. CONTEXT_SERVE_TOKENS has the
# tokens: without them the service refuses to listen to other machines.
ENV CONTEXT_STORE=sqlite:/data/context.db
EXPOSE 8080
# There is no curl in the image; bash opens the connection itself.
HEALTHCHECK --start-period=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /healthz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && grep -q '^ok' <&3"]
ENTRYPOINT ["context"]
CMD ["serve", "--address", "0.0.0.0", "--port", "8080"]
