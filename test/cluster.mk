# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

# The Kubernetes control plane of the tests, for the root Makefile to include.
# ROOT is the repository; test/cluster/README.md describes what is behind this.

CLUSTER_BIN ?= $(ROOT)/bin/cluster

# An exported STATE or PORT_BASE is some other program's, so the environment does
# not count; for KUBECONFIG only the command line does, because the one in the
# environment leads to real clusters.
cluster-value = $(if $(findstring environment,$(origin $(1))),,$($(1)))
cluster-kubeconfig := $(if $(filter command,$(firstword $(origin KUBECONFIG))),$(KUBECONFIG))

.PHONY: cluster cluster-build cluster-down node-build

# The launcher itself needs a second to compile. The flags are those with which
# it builds the rest, so that the standard library is compiled once.
cluster-launcher = cd '$(ROOT)/test/cluster' && CGO_ENABLED=0 GOWORK=off go run -trimpath -buildvcs=false .

cluster-build:
	@$(cluster-launcher) build --out '$(abspath $(CLUSTER_BIN))'

# Apart from cluster-build: only a real node needs a kubelet.
node-build:
	@$(cluster-launcher) build --node --out '$(abspath $(CLUSTER_BIN))'

ifneq ($(cluster-kubeconfig),)
cluster: cluster-build
	@'$(CLUSTER_BIN)/cluster' up --kubeconfig '$(cluster-kubeconfig)' \
		$(if $(call cluster-value,PORT_BASE),--port-base '$(PORT_BASE)') \
		$(if $(call cluster-value,STATE),--state '$(STATE)') \
		$(if $(filter-out 0,$(call cluster-value,SOURCE_CONTROLLER)),--source-controller)
else
cluster:
	@echo 'usage: make cluster KUBECONFIG=FILE [PORT_BASE=N] [STATE=DIR] [SOURCE_CONTROLLER=1]' >&2
	@echo 'FILE is written, and is taken from the command line only, not from the environment.' >&2
	@exit 2
endif

# Not from CLUSTER_BIN: ending nothing must not begin with a build of everything.
cluster-down:
	@$(cluster-launcher) down $(if $(call cluster-value,STATE),--state '$(abspath $(STATE))')
