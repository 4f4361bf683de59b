# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

# `make` lists the targets. They need Go, git and make.

ROOT := $(CURDIR)
BIN := $(ROOT)/bin
GOLANGCI_LINT := go tool -modfile=hack/tools/golangci-lint/go.mod golangci-lint
GENERATED := api/v2/zz_generated.deepcopy.go api/ops/v1alpha1/zz_generated.deepcopy.go api/v1alpha1/zz_generated.deepcopy.go config/crd/bases config/rbac/role.yaml docs/flags.md \
	charts/pintle/crds charts/pintle/files

# The race detector needs a C compiler. Without one, the tests run without it and print a warning.
RACE := $(if $(shell command -v "$${CC:-cc}" || command -v gcc),-race)
$(if $(RACE),,$(warning no C compiler is found: the tests run without the race detector))

# Packages without goroutines. The race detector cannot find anything in their tests, and slows them
# down 10 to 50 times.
PURE_PACKAGES := ./api/... ./internal $(addprefix ./internal/,diagnosis hookjob operation plan policy readiness release render/postrender scenario served status values)
# All packages whose tests need no cluster.
FAST_PACKAGES := . ./api/... ./internal/... $(addprefix ./test/,attacks/... bench/... chaos/... fixture/... harness/... manifests/... run/... soak/...)
# The other suites use the control plane in bin/cluster. Their results are never cached.
WITH_CLUSTER = KUBEBUILDER_ASSETS='$(CLUSTER_BIN)' PINTLE_CLUSTER_BIN='$(CLUSTER_BIN)' PINTLE_CONTROLLER='$(BIN)/pintle-race'

SUITE_vet := go vet ./... && go vet -tags=reference ./test/e2e
SUITE_pure := go test $(PURE_PACKAGES)
# It takes much CPU time. Suites beside it have time limits, so they take precedence.
SUITE_fast := nice go test -timeout=60m $(RACE) $$(go list $(FAST_PACKAGES) | grep -vxF "$$(go list $(PURE_PACKAGES))")
# It reads files outside of its module, which the test cache ignores.
SUITE_monitoring := cd test/monitoring && go vet . && PINTLE_PROMTOOL="$$(../../hack/promtool.sh "$(BIN)/promtool")" go test -count=1 .
SUITE_cluster = cd test/cluster && $(WITH_CLUSTER) CGO_ENABLED=0 go test -trimpath -count=1 -timeout=30m .
# Tests wait most of the time, so more of them run side by side than there are processors.
INTEGRATION = $(WITH_CLUSTER) go test $(RACE) -count=1 -timeout=80m -parallel=8
# While an aggregated API is away, the discovery of its control plane is incomplete. Its test takes a
# minute and excludes all others, so it has a process and a control plane of its own.
INTEGRATION_ALONE := ^TestAggregatedAPIAway$$
SUITE_integration = $(INTEGRATION) ./test/integration/... -skip='$(INTEGRATION_ALONE)'
SUITE_alone = $(INTEGRATION) ./test/integration -run='$(INTEGRATION_ALONE)'
# Tests that stop or replace the controller exclude all others. They run in two processes, and all
# other tests in a third one. Each process has a control plane of its own.
E2E_FAILOVER := ^(TestFailover|TestHooksMoveBetweenShards|TestHooksSurviveFailover|TestSecondController|TestSecondControllerTakesOver|TestShards|TestShortOfMemory)$$
E2E_RESTARTS := ^(TestClouds|TestHooksSurviveKill|TestOperationSurvivesKill|TestRemoteCluster|TestShutdownIsNoFailure|TestSurvivesKill)$$
E2E = cd test/e2e && $(WITH_CLUSTER) ../../hack/e2e.sh '$(BIN)/e2e.test' -test.v -test.timeout=60m -test.parallel=4
SUITE_failover = $(E2E) -test.run='$(E2E_FAILOVER)'
SUITE_restarts = $(E2E) -test.run='$(E2E_RESTARTS)'
SUITE_e2e = $(E2E) -test.skip='$(E2E_FAILOVER)|$(E2E_RESTARTS)'
# The seed is fixed, so that a failure can be repeated.
SUITE_chaos = '$(BIN)/pintle-chaos' --bin '$(CLUSTER_BIN)' --controller '$(BIN)/pintle-race' --short --seed 1
# The kernel does not limit the memory of executables with the race detector.
SUITE_attacks = '$(BIN)/pintle-attacks' --bin '$(CLUSTER_BIN)' --controller '$(BIN)/pintle' --short --seed 1

# The commands of the guides, on a cluster with the real helm-controller and its CRD.
SUITE_guide = $(WITH_CLUSTER) PINTLE_CRDS='$(BIN)/reference/crds' PINTLE_REFERENCE='$(BIN)/reference/helm-controller' \
	go test $(RACE) -count=1 -timeout=40m ./test/guide

# The web page in Chromium. hack/page.sh fetches it.
PAGE = $(WITH_CLUSTER) hack/page.sh '$(BIN)' go test $(RACE) -count=1 -timeout=40m
SUITE_page = $(PAGE) ./test/page

# A tag, or the commit and whether files were changed.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REVISION := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X github.com/pintle-dev/pintle/internal/version.version=$(VERSION) -X github.com/pintle-dev/pintle/internal/version.revision=$(REVISION)

.DEFAULT_GOAL := help
.PHONY: help run run-build test test-long test-fast test-integration test-e2e test-guide test-page screenshots e2e-build test-node test-node-here test-reference reference-build test-flux flux-build verify check-generated build plugin image build-race bench bench-build bench-compare bench-go chaos chaos-build attacks attacks-build soak vulncheck lint fmt vet clean

help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile hack/generate.mk
	@echo '  make cluster          Start a cluster: KUBECONFIG=FILE [PORT_BASE=N] [STATE=DIR] [SOURCE_CONTROLLER=1]'
	@echo '  make cluster-down     End it: [STATE=DIR]'
	@echo 'With PINTLE_CRDS=PATH, the tests use the CRD of HelmRelease in that file or folder.'

include test/cluster.mk
include hack/generate.mk

# KUBECONFIG is read from make's command line only, because the one in the environment is for real
# clusters.
run: build run-build $(if $(cluster-kubeconfig),,cluster-build) ## Run a demonstration. ONCE=1 ends when ready; KUBECONFIG=FILE uses that cluster.
	@exec '$(BIN)/pintle-run' --bin bin/cluster --controller bin/pintle $(if $(filter-out 0,$(ONCE)),--once) \
		$(if $(cluster-kubeconfig),--kubeconfig '$(cluster-kubeconfig)')

run-build: plugin
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-run' ./test/run

test: cluster-build build build-race run-build e2e-build chaos-build attacks-build reference-build ## Run all tests.
	@hack/suites.sh vet '$(SUITE_vet)' pure '$(SUITE_pure)' fast '$(SUITE_fast)' monitoring '$(SUITE_monitoring)' \
		-- e2e "$(SUITE_e2e)" integration "$(SUITE_integration)" alone "$(SUITE_alone)" \
		-- failover "$(SUITE_failover)" restarts "$(SUITE_restarts)" cluster "$(SUITE_cluster)" page "$(SUITE_page)" guide "$(SUITE_guide)" chaos "$(SUITE_chaos)" attacks "$(SUITE_attacks)"

# Not a part of `make test`, which runs the same tests with fewer repetitions.
LONG_integration := ^(TestOperationAndUpgradeAtOnce|TestOperationWaitsForUpgrade|TestPlansEqualChanges|TestUpgradeWaitsForOperation)$$
LONG_e2e := ^(TestOneCommitOneRevision|TestOperationSurvivesKill|TestSurvivesKill|TestUpgradesWithTestPod)$$

test-long: cluster-build build build-race e2e-build chaos-build attacks-build ## Repeat tests 5 times more often than `make test`, inject all faults, and run all attacks: 50 rounds, 25 kills, 100 commits, 100 approvals.
	@PINTLE_REPEAT=5 hack/suites.sh \
		integration "$(INTEGRATION) ./test/integration -run='$(LONG_integration)'" e2e "$(E2E) -test.run='$(LONG_e2e)'" \
		chaos "$(subst --short,,$(SUITE_chaos))" attacks "$(subst --short,,$(SUITE_attacks))"

test-fast: ## Run the tests that need no cluster.
	@hack/suites.sh vet '$(SUITE_vet)' pure '$(SUITE_pure)' fast '$(SUITE_fast)' monitoring '$(SUITE_monitoring)'

test-integration: cluster-build ## Run the tests of the controller against an API server.
	@hack/suites.sh integration "$(SUITE_integration)" alone "$(SUITE_alone)"

# SCENARIO is an environment variable of the tests, since a regular expression needs quoting here.
test-e2e: export PINTLE_SCENARIO = $(value SCENARIO)
test-e2e: cluster-build build-race e2e-build ## Run the tests of everything together: [SCENARIO=REGEXP] those scenarios only.
	@$(if $(value SCENARIO),$(E2E) -test.run='^TestScenarios$$',hack/suites.sh \
		e2e "$(SUITE_e2e)" -- failover "$(SUITE_failover)" -- restarts "$(SUITE_restarts)")

e2e-build:
	@go test -c $(RACE) -o '$(BIN)/e2e.test' ./test/e2e

# Not a part of `make test`: it needs root and installs Debian's containerd, runc and buildah.
SUITE_machine = cd test/cluster && $(WITH_CLUSTER) PINTLE_NODE=1 CGO_ENABLED=0 go test -trimpath -count=1 -v -run=RealNode .
SUITE_node = $(WITH_CLUSTER) PINTLE_NODE=1 PINTLE_IMAGE='$(BIN)/image.tar' hack/e2e.sh go test $(RACE) -count=1 -v -timeout=10m -parallel=4 ./test/node

test-node: ## Run the tests on a real node, with real containers: as root, or they are skipped.
	@hack/node.sh "$(cluster-launcher)" test-node-here

test-node-here: node-build build-race
	@hack/image.sh '$(BIN)/image.tar'
	@hack/suites.sh machine "$(SUITE_machine)" node "$(SUITE_node)"

test-guide: cluster-build build-race run-build reference-build ## Run the commands of docs/tutorial.md, docs/from-flux.md and docs/running.md.
	@$(SUITE_guide) -v

test-page: cluster-build build-race ## Test the web page in Chromium.
	@$(SUITE_page) -v

# The controller without the race detector has a version.
screenshots: cluster-build build ## Write the pictures of the web page in docs/images, with Debian's Chromium.
	@$(subst pintle-race,pintle,$(PAGE)) ./test/page -run='^TestPage$$/^pictures$$' -args -pictures='$(ROOT)/docs/images'

# TestReference is not a part of `make test`. The CRD of HelmRelease is that of helm-controller.
REFERENCE := github.com/fluxcd/helm-controller
SUITE_reference = $(WITH_CLUSTER) PINTLE_CRDS='$(BIN)/reference/crds' PINTLE_REFERENCE='$(BIN)/reference/helm-controller' \
	go test $(RACE) -tags=reference -count=1 -v -timeout=15m -run='^TestReference$$' ./test/e2e

test-reference: cluster-build build-race reference-build ## Test that releases move from helm-controller to this controller and back.
	@$(SUITE_reference)

reference-build:
	@mkdir -p '$(BIN)/reference/crds'
	cd test/reference && CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false -o '$(BIN)/reference/helm-controller' $(REFERENCE)
	@cd test/reference && install -m 644 "$$(GOWORK=off go list -m -f '{{.Dir}}' $(REFERENCE))"/config/crd/bases/*.yaml '$(BIN)/reference/crds'

# Not a part of `make test`: building the command takes minutes.
SUITE_flux = $(WITH_CLUSTER) PINTLE_FLUX='$(BIN)/flux' go test $(RACE) -tags=reference -count=1 -v -timeout=15m -run='^TestFlux$$' ./test/e2e

test-flux: cluster-build build-race flux-build ## Test that the flux command works with this controller.
	@$(SUITE_flux)

flux-build:
	@hack/flux.sh '$(BIN)/flux'

# Like KUBECONFIG, its variables are read from the command line only.
bench: build cluster-build bench-build ## Measure what releases cost, as docs/performance.md describes: [N=100] [SUITE=all|page] [CHECK=1] [JSON=FILE] ...
	@exec '$(BIN)/pintle-bench' --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--n '$(or $(call cluster-value,N),$(if $(filter page,$(call cluster-value,SUITE)),3000,100))' --concurrent '$(or $(call cluster-value,CONCURRENT),10)' \
		--idle '$(or $(call cluster-value,IDLE),60s)' --json '$(call cluster-value,JSON)' \
		--suite '$(call cluster-value,SUITE)' --crds '$(or $(call cluster-value,CRDS),0)' --charts '$(or $(call cluster-value,CHARTS),1)' \
		--unready '$(or $(call cluster-value,UNREADY),0)' --unready-timeout '$(or $(call cluster-value,UNREADY_TIMEOUT),2m)' \
		--chart-size '$(call cluster-value,CHART_SIZE)' --interval '$(or $(call cluster-value,INTERVAL),0)' \
		$(if $(filter-out 0,$(call cluster-value,DRIFT)),--drift-detection) $(if $(filter-out 0,$(call cluster-value,POLICY)),--policy) \
		$(if $(filter-out 0,$(call cluster-value,CHECK)),--check) $(if $(filter 0,$(call cluster-value,AUDIT)),--audit=false)

bench-compare: bench-build ## Compare the costs of two results of `make bench`: A=FILE B=FILE.
	@exec '$(BIN)/pintle-bench' compare '$(call cluster-value,A)' '$(call cluster-value,B)'

bench-build:
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-bench' ./test/bench

BENCH_PACKAGES := ./internal/chart ./internal/release ./internal/status ./internal/helm ./internal/helm/apply ./internal/helm/storage ./internal/values

bench-go: ## Run the benchmarks of single packages.
	@go test -run='^$$' -bench=. -benchmem $(BENCH_PACKAGES)

# Not a part of `make test`: it takes MINUTES and some more.
soak: build cluster-build ## Change many releases for a long time and check that all become ready: [N=300] [MINUTES=20] [SEED=N] [CONTROLLER=FILE] [ARGS=FLAGS].
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-soak' ./test/soak
	@exec '$(BIN)/pintle-soak' --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--n '$(or $(call cluster-value,N),300)' --duration '$(or $(call cluster-value,MINUTES),20)m' \
		--seed '$(or $(call cluster-value,SEED),0)'

# `make test` runs its short form.
chaos: build cluster-build chaos-build ## Disturb the controller and check that no release fails: [MODE=each|random|outage|kill] [ONLY=REGEXP] [SEED=N] [SHORT=1] [RELEASES=N] [KILLS=100] [TERMS=20] [OUTAGES=10] [CONTROLLER=FILE] [ARGS=FLAGS].
	@exec '$(BIN)/pintle-chaos' --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--mode '$(call cluster-value,MODE)' --only '$(call cluster-value,ONLY)' --seed '$(or $(call cluster-value,SEED),0)' \
		--releases '$(or $(call cluster-value,RELEASES),0)' --kills '$(or $(call cluster-value,KILLS),100)' \
		--terms '$(or $(call cluster-value,TERMS),20)' --outages '$(or $(call cluster-value,OUTAGES),10)' \
		$(if $(filter-out 0,$(call cluster-value,SHORT)),--short)

chaos-build:
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-chaos' ./test/chaos

# `make test` runs its short form.
attacks: build cluster-build attacks-build ## Attack the controller with charts, values and kubeconfigs of tenants in 768 MiB: [ONLY=REGEXP] [SEED=N] [SHORT=1] [ROUNDS=5] [TABLE=FILE] [CONTROLLER=FILE] [ARGS=FLAGS].
	@exec '$(BIN)/pintle-attacks' --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--only '$(call cluster-value,ONLY)' --seed '$(or $(call cluster-value,SEED),0)' --rounds '$(or $(call cluster-value,ROUNDS),5)' \
		--table '$(call cluster-value,TABLE)' $(if $(filter-out 0,$(call cluster-value,SHORT)),--short)

attacks-build:
	@CGO_ENABLED=0 go build -trimpath -o '$(BIN)/pintle-attacks' ./test/attacks

verify: generate manifests check-generated vet ## Check generated files, format, lint, imports, sizes and words.
	$(GOLANGCI_LINT) fmt --diff
	$(GOLANGCI_LINT) run
	hack/sizes.sh
	$(if $(wildcard internal/*_test.go),go test ./internal)

check-generated: generate manifests
	@git diff --exit-code -- $(GENERATED) || { echo 'generated files were out of date and have been updated: commit them' >&2; exit 1; }

build: ## Build the controller.
	CGO_ENABLED=0 go build -trimpath -ldflags='$(LDFLAGS)' -o '$(BIN)/pintle' .

plugin: ## Build kubectl-pintle, the plugin of kubectl: copy it to a folder of PATH.
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o '$(BIN)/kubectl-pintle' ./cmd/kubectl-pintle

# It needs docker. `make test-node` builds the image too, with Debian's buildah.
image: ## Build the image, with docker: [IMAGE=pintle:latest].
	@command -v docker >/dev/null || { echo 'make image: there is no docker; another builder can use the Dockerfile' >&2; exit 1; }
	docker build --build-arg VERSION='$(VERSION)' --build-arg REVISION='$(REVISION)' -t '$(or $(call cluster-value,IMAGE),pintle:latest)' .

build-race: # The controller as the end-to-end tests run it.
	CGO_ENABLED=$(if $(RACE),1,0) go build $(RACE) -o '$(BIN)/pintle-race' .

# Not a part of `make test`: it needs https://vuln.go.dev.
GOVULNCHECK := go tool -modfile=hack/tools/govulncheck/go.mod govulncheck

vulncheck: ## Look for known vulnerabilities in called functions; it needs the network.
	@$(GOVULNCHECK) . || { echo 'vulncheck: vulnerabilities were found, or the database could not be read: see above.' >&2; exit 1; }

lint: ## Run the linters.
	$(GOLANGCI_LINT) run

fmt: ## Format the code.
	$(GOLANGCI_LINT) fmt

vet: ## Run go vet.
	$(SUITE_vet)

clean: ## Remove all build results.
	rm -rf '$(BIN)'
