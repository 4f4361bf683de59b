# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

# The Kubernetes control plane of the tests. The root Makefile includes this file.
# ROOT is the root of the repository. test/cluster/README.md describes the control plane.

CLUSTER_BIN ?= $(ROOT)/bin/cluster

# An exported STATE or PORT_BASE belongs to another program, so the environment is
# ignored. KUBECONFIG is read from the command line only, because the one in the
# environment is for real clusters.
cluster-value = $(if $(findstring environment,$(origin $(1))),,$($(1)))
cluster-kubeconfig := $(if $(filter command,$(firstword $(origin KUBECONFIG))),$(KUBECONFIG))

.PHONY: cluster cluster-build cluster-down kubernetes-build node-build

# The launcher compiles in a second. It builds the components with the flags of all builds, so that the
# standard library and the libraries of Kubernetes are compiled once.
cluster-launcher = cd '$(ROOT)/test/cluster' && CGO_ENABLED=0 GOWORK=off go run -trimpath -buildvcs=false .

cluster-build:
	@$(cluster-launcher) build --out '$(abspath $(CLUSTER_BIN))'

# Separate from cluster-build: only a real node needs a kubelet.
node-build:
	@$(cluster-launcher) build --node --out '$(abspath $(CLUSTER_BIN))'

# The same with the servers of Kubernetes of another minor version, in bin/kubernetes.
kubernetes-build:
	@$(cluster-launcher) build --kubernetes '$(MINOR)'

ifneq ($(cluster-kubeconfig),)
cluster: cluster-build
	@'$(CLUSTER_BIN)/cluster' up --kubeconfig '$(cluster-kubeconfig)' \
		$(if $(call cluster-value,PORT_BASE),--port-base '$(PORT_BASE)') \
		$(if $(call cluster-value,STATE),--state '$(STATE)') \
		$(if $(filter-out 0,$(call cluster-value,SOURCE_CONTROLLER)),--source-controller)
else
cluster:
	@echo 'usage: make cluster KUBECONFIG=FILE [PORT_BASE=N] [STATE=DIR] [SOURCE_CONTROLLER=1]' >&2
	@echo 'FILE is created. It is read from the command line only, not from the environment.' >&2
	@exit 2
endif

# Not from CLUSTER_BIN: stopping a cluster must not build all components first.
cluster-down:
	@$(cluster-launcher) down $(if $(call cluster-value,STATE),--state '$(abspath $(STATE))')
