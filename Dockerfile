# feedmill with a private Valkey server inside. Without settings it keeps its data in /var/lib/feedmill:
#   docker run --read-only --tmpfs /run/feedmill:uid=65532,mode=700 -v feedmill:/var/lib/feedmill feedmill
# Set FEEDMILL_REDIS_URL for a server elsewhere, and FEEDMILL_ADMIN_LISTEN=0.0.0.0:9810 to reach metrics from outside.

FROM debian:13-slim AS build
WORKDIR /src
COPY scripts/install-packages scripts/install-packages
RUN scripts/install-packages
COPY . .
RUN scripts/build
# The packages that the binary's libraries come from, so that the list below cannot go stale.
RUN ldd build/release/feedmill | awk '/=> \// {print $3}' | xargs readlink -f | xargs dpkg -S \
    | cut -d: -f1 | sort -u > build/runtime-packages

FROM build AS test
RUN scripts/test

FROM debian:13-slim
COPY --from=test /src/build/runtime-packages /tmp/runtime-packages
RUN apt-get update \
    && xargs -a /tmp/runtime-packages apt-get install -y --no-install-recommends \
       ca-certificates valkey-server \
    && rm -rf /var/lib/apt/lists/* /tmp/runtime-packages \
    && install -d -o 65532 -g 65532 -m 700 /var/lib/feedmill /run/feedmill
COPY --from=test /src/build/release/feedmill /usr/bin/feedmill
COPY LICENSE /usr/share/doc/feedmill/LICENSE

LABEL org.opencontainers.image.title="feedmill" \
      org.opencontainers.image.description="Asynchronous feed ingestion into Redis" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV FEEDMILL_DATA_DIR=/var/lib/feedmill RUNTIME_DIRECTORY=/run/feedmill
VOLUME /var/lib/feedmill
EXPOSE 9810 9811
USER 65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s CMD ["feedmill", "health"]
ENTRYPOINT ["feedmill"]
CMD ["run"]
