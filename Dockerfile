# feedmill with a private Valkey server inside. Without settings it keeps its data in /var/lib/feedmill:
#   docker run --read-only --tmpfs /run/feedmill:uid=65532,mode=700 -v feedmill:/var/lib/feedmill feedmill
# Set FEEDMILL_REDIS_URL for a server elsewhere, and FEEDMILL_ADMIN_LISTEN=0.0.0.0:9810 to reach metrics from outside.
# Secrets come as files: FEEDMILL_REDIS_PASSWORD_FILE, FEEDMILL_REDIS_URL_FILE. tests/package/image rehearses the steps.
#
# Targets beside the image itself:
#   docker build --target test .     compiles and runs the tests; nothing of it goes into an image
#   docker build --target sample .   the image with the sample publisher in it, for compose.yaml

# Pinned by digest, so that a moved tag changes nothing (Debian 13.6). For a later one:
#   docker buildx imagetools inspect debian:13-slim
#   docker build --build-arg BASE=debian:13-slim@sha256:… .
ARG BASE=debian:13-slim@sha256:d7e12182ce18b85b93007c1dedf31f2d29e01ccf3182cc4017c709b6259bc132

FROM ${BASE} AS build
WORKDIR /src
COPY scripts/install-packages scripts/install-packages
RUN scripts/install-packages
COPY . .
RUN scripts/build
# The packages that the binary's libraries come from, so that the list below cannot go stale; and all that it is made of.
RUN ldd build/release/feedmill | awk '/=> \// {print $3}' | xargs readlink -f | xargs dpkg -S \
    | cut -d: -f1 | sort -u > build/runtime-packages
RUN scripts/sbom build/release/feedmill > build/feedmill.spdx.json

FROM build AS test
RUN scripts/test

FROM build AS publisher
RUN scripts/build release feedmill_sample_publisher

FROM ${BASE} AS image
COPY --from=build /src/build/runtime-packages /tmp/runtime-packages
# glibc's converters for CJK charsets, where they are a package of their own.
RUN apt-get update \
    && apt-cache search --names-only '^libc-gconv-modules-extra$' | cut -d' ' -f1 >> /tmp/runtime-packages \
    && xargs -a /tmp/runtime-packages apt-get install -y --no-install-recommends ca-certificates valkey-server \
    && rm -rf /var/lib/apt/lists/* /tmp/runtime-packages \
    && install -d -o 65532 -g 65532 -m 700 /var/lib/feedmill /run/feedmill
COPY --from=build /src/build/release/feedmill /usr/bin/feedmill
COPY --from=build /src/build/feedmill.spdx.json /src/LICENSE /usr/share/doc/feedmill/

LABEL org.opencontainers.image.title="feedmill" \
      org.opencontainers.image.description="Asynchronous feed ingestion into Redis" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.documentation="/usr/share/doc/feedmill"
ENV FEEDMILL_STORE_DATA_DIR=/var/lib/feedmill RUNTIME_DIRECTORY=/run/feedmill
VOLUME /var/lib/feedmill
EXPOSE 9810 9811
USER 65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s CMD ["feedmill", "health"]
ENTRYPOINT ["feedmill"]
CMD ["run"]

FROM image AS sample
COPY --from=publisher /src/build/release/tests/support/feedmill_sample_publisher /usr/bin/
# Its libraries are among those of feedmill.
RUN ! ldd /usr/bin/feedmill_sample_publisher | grep 'not found'

# What is built when no target is named.
FROM image
