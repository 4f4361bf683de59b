# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

ARG GO_VERSION=1.26.8

FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS builder
ARG TARGETOS
ARG TARGETARCH
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
WORKDIR /src

# A separate layer, so that a change of code does not download all modules again.
COPY go.mod go.sum ./
RUN go mod download

COPY clouds.go controllers.go leader.go main.go manager.go page.go standby.go workers.go ./
COPY api/ api/
COPY internal/ internal/
ARG VERSION=unknown
ARG REVISION=unknown
RUN GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false \
    -ldflags="-s -w -X github.com/pintle-dev/pintle/internal/version.version=${VERSION} -X github.com/pintle-dev/pintle/internal/version.revision=${REVISION}" \
    -o /rootfs/manager ./

# Files of the final image in addition to the executable: CA certificates, and a directory for
# temporary files. The manifests mount a writable volume there.
RUN mkdir -p /rootfs/etc/ssl/certs /rootfs/tmp \
    && cp /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
    && chmod 1777 /rootfs/tmp

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="pintle" org.opencontainers.image.licenses="Apache-2.0" org.opencontainers.image.source="https://github.com/pintle-dev/pintle" org.opencontainers.image.version="${VERSION}" org.opencontainers.image.revision="${REVISION}"
COPY --from=builder /rootfs/ /
# A number, so that the kubelet can check that it is not root.
USER 65532:65532
ENTRYPOINT ["/manager"]
