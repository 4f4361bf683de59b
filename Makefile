# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

# `make` lists what there is. Nothing but Go, git and make is needed.

ROOT := $(CURDIR)
BIN := $(ROOT)/bin
GOLANGCI_LINT := go tool -modfile=hack/tools/golangci-lint/go.mod golangci-lint
GENERATED := api/v2/zz_generated.deepcopy.go api/ops/v1alpha1/zz_generated.deepcopy.go config/crd/bases config/rbac/role.yaml docs/flags.md \
	charts/pintle/crds charts/pintle/files/manager-rules.yaml

# The race detector needs a C compiler. Without one the tests run all the same, and say what they leave out.
RACE := $(if $(shell command -v "$${CC:-cc}" || command -v gcc),-race)
$(if $(RACE),,$(warning no C compiler is found: the tests run without the race detector))

# What runs without a cluster.
FAST_PACKAGES := . ./api/... ./internal/... ./test/harness/... ./test/bench/... ./test/chaos/... ./test/soak/... ./test/manifests/...
# The other suites run against the control plane in bin/cluster, and are run anew every time.
WITH_CLUSTER = KUBEBUILDER_ASSETS='$(CLUSTER_BIN)' PINTLE_CLUSTER_BIN='$(CLUSTER_BIN)' PINTLE_CONTROLLER='$(BIN)/pintle-race'

SUITE_vet := go vet ./... && go vet -tags=reference ./test/e2e
SUITE_fast := go test $(RACE) $(FAST_PACKAGES)
# What it reads lies outside of its module, which the test cache does not look at.
SUITE_monitoring := cd test/monitoring && go vet . && PINTLE_PROMTOOL="$$(../../hack/promtool.sh "$(BIN)/promtool")" go test -count=1 .
SUITE_cluster = cd test/cluster && $(WITH_CLUSTER) CGO_ENABLED=0 go test -trimpath -count=1 .
SUITE_integration = $(WITH_CLUSTER) go test $(RACE) -count=1 -timeout=30m ./test/integration/...
SUITE_e2e = $(WITH_CLUSTER) hack/e2e.sh go test $(RACE) -count=1 -v -timeout=20m -parallel=4 ./test/e2e
# The seed is fixed: a suite that fails is repeated by the same schedule.
SUITE_chaos = '$(BIN)/pintle-chaos' --bin '$(CLUSTER_BIN)' --controller '$(BIN)/pintle-race' --short --seed 1

.DEFAULT_GOAL := help
.PHONY: help run test test-fast test-integration test-e2e test-node test-node-here test-reference reference-build test-flux flux-build verify check-generated build image build-race bench bench-build bench-compare bench-go chaos chaos-build soak vulncheck lint fmt vet clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile hack/generate.mk
	@echo '  make cluster          Start a cluster: KUBECONFIG=FILE [PORT_BASE=N] [STATE=DIR] [SOURCE_CONTROLLER=1]'
	@echo '  make cluster-down     End it: [STATE=DIR]'
	@echo 'With PINTLE_CRDS=PATH, the tests use the CRD of HelmRelease in that file or folder.'

include test/cluster.mk
include hack/generate.mk

# KUBECONFIG counts on make's command line only; the one in the environment leads to real clusters.
run: build $(if $(cluster-kubeconfig),,cluster-build) ## Show it at work. ONCE=1 ends when ready; KUBECONFIG=FILE uses that cluster.
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-run' ./test/run
	@exec '$(BIN)/pintle-run' --bin bin/cluster --controller bin/pintle $(if $(filter-out 0,$(ONCE)),--once) \
		$(if $(cluster-kubeconfig),--kubeconfig '$(cluster-kubeconfig)')

test: cluster-build build-race chaos-build ## Run all tests.
	@hack/suites.sh vet '$(SUITE_vet)' fast '$(SUITE_fast)' monitoring '$(SUITE_monitoring)' cluster "$(SUITE_cluster)" integration "$(SUITE_integration)" e2e "$(SUITE_e2e)" chaos "$(SUITE_chaos)"

test-fast: ## Run the tests that need no cluster.
	@hack/suites.sh vet '$(SUITE_vet)' fast '$(SUITE_fast)' monitoring '$(SUITE_monitoring)'

test-integration: cluster-build ## Run the tests of the controller against an API server.
	@hack/suites.sh integration "$(SUITE_integration)"

# SCENARIO goes by the environment, which spares a regular expression all quoting.
test-e2e: export PINTLE_SCENARIO = $(value SCENARIO)
test-e2e: cluster-build build-race ## Run the tests of everything together: [SCENARIO=REGEXP] those scenarios only.
	@$(SUITE_e2e) $(if $(value SCENARIO),-run='^TestScenarios$$')

# Not a part of `make test`: it needs root, and Debian's containerd, runc and buildah, which it installs.
SUITE_machine = cd test/cluster && $(WITH_CLUSTER) PINTLE_NODE=1 CGO_ENABLED=0 go test -trimpath -count=1 -v -run=RealNode .
SUITE_node = $(WITH_CLUSTER) PINTLE_NODE=1 PINTLE_IMAGE='$(BIN)/image.tar' hack/e2e.sh go test $(RACE) -count=1 -v -timeout=10m -parallel=4 ./test/node

test-node: ## Run the tests on a real node, with real containers: as root, or they are skipped.
	@hack/node.sh "$(cluster-launcher)" test-node-here

test-node-here: node-build build-race
	@hack/image.sh '$(BIN)/image.tar'
	@hack/suites.sh machine "$(SUITE_machine)" node "$(SUITE_node)"

# Not a part of `make test`: it builds another controller. Its definition of HelmRelease is used as it is.
REFERENCE := github.com/fluxcd/helm-controller
SUITE_reference = $(WITH_CLUSTER) PINTLE_CRDS='$(BIN)/reference/crds' PINTLE_REFERENCE='$(BIN)/reference/helm-controller' \
	go test $(RACE) -tags=reference -count=1 -v -timeout=15m -run='^TestReference$$' ./test/e2e

test-reference: cluster-build build-race reference-build ## Test that helm-controller's releases change hands, both ways.
	@$(SUITE_reference)

reference-build:
	@mkdir -p '$(BIN)/reference/crds'
	cd test/reference && CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false -o '$(BIN)/reference/helm-controller' $(REFERENCE)
	@cd test/reference && install -m 644 "$$(GOWORK=off go list -m -f '{{.Dir}}' $(REFERENCE))"/config/crd/bases/*.yaml '$(BIN)/reference/crds'

# Not a part of `make test`: to build the command takes minutes.
SUITE_flux = $(WITH_CLUSTER) PINTLE_FLUX='$(BIN)/flux' go test $(RACE) -tags=reference -count=1 -v -timeout=15m -run='^TestFlux$$' ./test/e2e

test-flux: cluster-build build-race flux-build ## Test that the flux command works with what we do.
	@$(SUITE_flux)

flux-build:
	@hack/flux.sh '$(BIN)/flux'

# For its variables, too, only make's command line counts.
bench: build cluster-build bench-build ## Measure what releases cost, as docs/performance.md describes: [N=100] [SUITE=all] [CHECK=1] [JSON=FILE] ...
	@exec '$(BIN)/pintle-bench' --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--n '$(or $(call cluster-value,N),100)' --concurrent '$(or $(call cluster-value,CONCURRENT),10)' \
		--idle '$(or $(call cluster-value,IDLE),60s)' --json '$(call cluster-value,JSON)' \
		--suite '$(call cluster-value,SUITE)' --crds '$(or $(call cluster-value,CRDS),0)' --charts '$(or $(call cluster-value,CHARTS),1)' \
		--unready '$(or $(call cluster-value,UNREADY),0)' --unready-timeout '$(or $(call cluster-value,UNREADY_TIMEOUT),2m)' \
		--chart-size '$(call cluster-value,CHART_SIZE)' --interval '$(or $(call cluster-value,INTERVAL),0)' \
		$(if $(filter-out 0,$(call cluster-value,DRIFT)),--drift-detection) \
		$(if $(filter-out 0,$(call cluster-value,CHECK)),--check) $(if $(filter 0,$(call cluster-value,AUDIT)),--audit=false)

bench-compare: bench-build ## Say how much more B cost than A: A=FILE B=FILE, which `make bench` wrote.
	@exec '$(BIN)/pintle-bench' compare '$(call cluster-value,A)' '$(call cluster-value,B)'

bench-build:
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-bench' ./test/bench

BENCH_PACKAGES := ./internal/chart ./internal/release ./internal/status ./internal/helm ./internal/helm/apply ./internal/helm/storage ./internal/values

bench-go: ## Measure the pure parts on their own.
	@go test -run='^$$' -bench=. -benchmem $(BENCH_PACKAGES)

# Not a part of `make test`: it takes its time. MINUTES counts what changes; all of it takes some more.
soak: build cluster-build ## Change many releases for long and see them arrive: [N=300] [MINUTES=20] [SEED=N] [CONTROLLER=FILE] [ARGS=FLAGS].
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-soak' ./test/soak
	@exec '$(BIN)/pintle-soak' --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--n '$(or $(call cluster-value,N),300)' --duration '$(or $(call cluster-value,MINUTES),20)m' \
		--seed '$(or $(call cluster-value,SEED),0)'

# `make test` runs its short form.
chaos: build cluster-build chaos-build ## Fail requests of the controller and check that no release notices: [MODE=each|random|outage] [ONLY=REGEXP] [SEED=N] [SHORT=1] [CONTROLLER=FILE] [ARGS=FLAGS].
	@exec '$(BIN)/pintle-chaos' --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--mode '$(call cluster-value,MODE)' --only '$(call cluster-value,ONLY)' --seed '$(or $(call cluster-value,SEED),0)' \
		$(if $(filter-out 0,$(call cluster-value,SHORT)),--short)

chaos-build:
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-chaos' ./test/chaos

verify: generate manifests check-generated vet ## Check all that needs no running: generated files, format, lint, imports, sizes.
	$(GOLANGCI_LINT) fmt --diff
	$(GOLANGCI_LINT) run
	hack/sizes.sh
	$(if $(wildcard internal/*_test.go),go test ./internal)

check-generated: generate manifests
	@git diff --exit-code -- $(GENERATED) || { echo 'generated files were out of date; now they are not: commit them' >&2; exit 1; }

build: ## Build the controller.
	CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle' .

# Only with a container engine of one's own. `make test-node` builds the image too, with what Debian has.
image: ## Build the image, with docker: [IMAGE=pintle:latest].
	@command -v docker >/dev/null || { echo 'make image: there is no docker; what builds the image is the Dockerfile' >&2; exit 1; }
	docker build -t '$(or $(call cluster-value,IMAGE),pintle:latest)' .

build-race: # The controller as the end-to-end tests run it.
	CGO_ENABLED=$(if $(RACE),1,0) go build $(RACE) -o '$(BIN)/pintle-race' .

# Not a part of `make test`: it needs https://vuln.go.dev, and says so if it cannot have it.
GOVULNCHECK := go tool -modfile=hack/tools/govulncheck/go.mod govulncheck

vulncheck: ## Look for known vulnerabilities in what the controller calls; it needs the network.
	@$(GOVULNCHECK) . || { echo 'vulncheck: vulnerabilities were found, or the database could not be asked: see above. Nothing is known to be well.' >&2; exit 1; }

lint: ## Run the linters.
	$(GOLANGCI_LINT) run

fmt: ## Format the code.
	$(GOLANGCI_LINT) fmt

vet: ## Run go vet.
	$(SUITE_vet)

clean: ## Remove what was built.
	rm -rf '$(BIN)'
