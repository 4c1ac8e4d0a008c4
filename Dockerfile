# The environment of requirements.lock, for Kubernetes and other places of containers (docs/deployment.md):
#   docker build --tag captionlab/captionlab:0.2.0 .
# The workflow is not in it: Snakemake puts it into /workdir of a pod, and elsewhere a checkout is mounted there.
# This base and no slim one, because it has git, which says the commit in provenance.
FROM python:3.11-bookworm

LABEL org.opencontainers.image.title="captionlab" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.source="https://github.com/captionlab/captionlab"

COPY requirements.lock /opt/captionlab/

# uv by its hash too; it installs the rest in a tenth of pip's time. Its cache is a mount, so it is not in the image.
ENV VIRTUAL_ENV=/opt/captionlab/venv PATH=/opt/captionlab/venv/bin:$PATH
RUN python3 -m venv /opt/captionlab/venv \
 && sed -n '/^uv==/,/[^\\]$/p' /opt/captionlab/requirements.lock > /opt/captionlab/uv.lock \
 && pip install --no-cache-dir --require-hashes --requirement /opt/captionlab/uv.lock
RUN --mount=type=cache,target=/opt/captionlab/cache \
    UV_CACHE_DIR="${UV_CACHE_DIR:-/opt/captionlab/cache}" uv pip install --require-hashes \
    --requirement /opt/captionlab/requirements.lock

# A checkout that is mounted belongs to somebody else, and git would not tell its commit.
ENV GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/workdir

WORKDIR /workdir
