# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

ARG GO_VERSION=1.26.8

FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS builder
ARG TARGETOS
ARG TARGETARCH
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
WORKDIR /src

# On their own, so that a change of code does not download every module again.
COPY go.mod go.sum ./
RUN go mod download

COPY clouds.go leader.go main.go ./
COPY api/ api/
COPY internal/ internal/
RUN GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false -ldflags="-s -w" -o /rootfs/manager ./

# What the final image has besides: the authorities that TLS peers are checked against, and a place for temporary files, over which the
# manifests mount one that can be written to.
RUN mkdir -p /rootfs/etc/ssl/certs /rootfs/tmp \
    && cp /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
    && chmod 1777 /rootfs/tmp

FROM scratch
COPY --from=builder /rootfs/ /
# A number, so that the kubelet can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["/manager"]
