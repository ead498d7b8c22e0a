# The server for hosts, with everything for Redis and gRPC. It speaks MCP on standard input and output:
#   docker run -i --rm mcp-binance-server
#   docker run --rm -p 127.0.0.1:3000:3000 mcp-binance-server --http --host 0.0.0.0 --unsafe-no-auth

# scripts/base_image writes the digests of these tags here; no release is made without.
# The page of the live chart is the same for every processor: it is made by the one that builds.
FROM --platform=$BUILDPLATFORM node:22-bookworm-slim AS page
WORKDIR /web
COPY web .
RUN npm ci --ignore-scripts --no-audit --no-fund && node build.mjs /page/chart.html

FROM python:3.13-slim-bookworm AS build
WORKDIR /build
COPY requirements/host.txt requirements/build.txt requirements/
RUN python -m venv /opt/server \
 && /opt/server/bin/pip install --no-cache-dir --require-hashes -r requirements/host.txt \
 && pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY web/LICENSE-lightweight-charts.txt web/NOTICE.txt web/
COPY src src
COPY --from=page /page/chart.html src/mcp_binance_server/surface/apps/chart.html
ENV CHART_PAGE=required
RUN pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /build/dist . \
 && /opt/server/bin/pip install --no-cache-dir --no-deps /build/dist/*.whl \
 && /opt/server/bin/pip uninstall --yes pip

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.source="https://github.com/mcp-binance-server/mcp-binance-server" \
      org.opencontainers.image.licenses="MIT" \
      io.modelcontextprotocol.server.name="io.github.mcp-binance-server/mcp-binance-server"
# Certificates are checked against those of the system.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin server
COPY --from=build /opt/server /opt/server
COPY docker/healthcheck.py /opt/healthcheck.py
ENV PATH=/opt/server/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MCP_BINANCE_LOG_FORMAT=json
USER 10001
WORKDIR /home/server
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 CMD ["python", "/opt/healthcheck.py"]
ENTRYPOINT ["mcp-binance-server"]
