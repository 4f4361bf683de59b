# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

# `make` lists the targets. They need Go, git and make.

ROOT := $(CURDIR)
BIN := $(ROOT)/bin
GOLANGCI_LINT := go tool -modfile=hack/tools/golangci-lint/go.mod golangci-lint
GENERATED := api/v2/zz_generated.deepcopy.go api/ops/v1alpha1/zz_generated.deepcopy.go api/v1alpha1/zz_generated.deepcopy.go api/cattle/v1/zz_generated.deepcopy.go config/crd/bases config/helmchart/crd config/rbac/role.yaml docs/flags.md \
	charts/pintle/crds charts/pintle/files

# All builds use the same flags, so that the build cache has each package once: product, plugin, tests
# and test cluster. Only what uses the race detector differs. Data for debuggers is left out: it costs a
# tenth of a first build, and stack traces have their line numbers without it.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -gcflags=all=-dwarf=false)
export CGO_ENABLED := 0

# hack/suites/table.go has the suites. It prints the duration and the processor time of each.
SUITES = go run ./hack/suites
# The other suites use the control plane in bin/cluster. Their results are never cached.
WITH_CLUSTER = KUBEBUILDER_ASSETS='$(CLUSTER_BIN)' PINTLE_CLUSTER_BIN='$(CLUSTER_BIN)' PINTLE_CONTROLLER='$(BIN)/pintle'

# A tag, or the commit and whether files were changed.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REVISION := $(shell git describe --always --abbrev=40 --dirty --exclude='*' 2>/dev/null || echo unknown)
LDFLAGS := -X github.com/pintle-dev/pintle/internal/version.version=$(VERSION) -X github.com/pintle-dev/pintle/internal/version.revision=$(REVISION)

.DEFAULT_GOAL := help
.PHONY: help run run-build fetch test test-unit test-long test-soak test-changed test-integration test-e2e test-guide test-page screenshots test-node test-node-here node-release test-reference reference-build test-helm helm-build test-neighbours neighbours-build test-kubernetes verify check-generated build plugin release image push build-race bench bench-compare bench-go chaos attacks soak load-build vulncheck lint fmt vet clean

help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile hack/generate.mk
	@echo '  make cluster          Start a cluster: KUBECONFIG=FILE [PORT_BASE=N] [STATE=DIR] [SOURCE_CONTROLLER=1]'
	@echo '  make cluster-down     End it: [STATE=DIR]'
	@echo 'With PINTLE_CRDS=PATH, the tests use the CRD of HelmRelease in that file or folder.'

include test/cluster.mk
include hack/generate.mk

# KUBECONFIG is read from make's command line only, because the one in the environment is for real
# clusters.
run: $(if $(cluster-kubeconfig),,fetch) build run-build $(if $(cluster-kubeconfig),,cluster-build) ## Run a demonstration. ONCE=1 ends when ready; SAMPLE=helmchart applies a HelmChart; KUBECONFIG=FILE uses that cluster.
	@exec '$(BIN)/pintle-run' --bin bin/cluster --controller bin/pintle $(if $(filter-out 0,$(ONCE)),--once) $(if $(call cluster-value,SAMPLE),--sample '$(call cluster-value,SAMPLE)') \
		$(if $(cluster-kubeconfig),--kubeconfig '$(cluster-kubeconfig)')

# The modules of the control plane are downloaded while the controller is compiled.
fetch:
	@(cd test/cluster && GOWORK=off go list -deps ./controlplane github.com/fluxcd/source-controller) >/dev/null 2>&1 &

run-build: plugin
	@go build -o '$(BIN)/pintle-run' ./test/run

test: cluster-build build run-build ## Run what every change must pass.
	@$(SUITES) vet unit race integration smoke pages

test-unit: ## Run the tests that need no cluster, for daily work.
	@$(SUITES) vet unit

test-integration: cluster-build ## Run the tests of the controller against an API server.
	@$(SUITES) integration

LONG := vet race-all unit-long integration-long alone e2e failover restarts guides page chaos attacks launcher node reference neighbours helm

test-long: cluster-build build build-race run-build load-build ## Run everything, with the race detector, and write the result into docs/reliability.md.
	@$(SUITES) -strict -record docs/reliability.md $(LONG)

# Of the suites of test-long, at most two: those whose subject the last commits changed.
test-changed: cluster-build build build-race run-build load-build ## Run the long suites that belong to the last commits.
	@chosen=$$($(SUITES) -changed) && echo "suites of the last commits: $${chosen:-none}" && $(SUITES) $$chosen

# It takes hours: all faults of `make chaos`, all attacks, and repetitions.
SOAK_integration := ^(TestOperationAndUpgradeAtOnce|TestOperationWaitsForUpgrade|TestPlansEqualChanges|TestUpgradeWaitsForOperation)$$
SOAK_e2e := ^(TestOneCommitOneRevision|TestOperationSurvivesKill|TestSurvivesKill|TestUpgradesWithTestPod)$$

test-soak: export PINTLE_REPEAT = 5
test-soak: cluster-build build load-build ## Repeat tests 5 times more often than `make test-long`, inject all faults, run all attacks, and test all versions of Kubernetes: 50 rounds, 25 kills, 100 commits, 100 approvals.
	$(WITH_CLUSTER) go test -count=1 -timeout=6h -parallel=8 -run='$(SOAK_integration)' ./test/integration
	$(WITH_CLUSTER) go test -count=1 -timeout=6h -parallel=4 -run='$(SOAK_e2e)' ./test/e2e
	'$(BIN)/pintle-load' chaos --bin '$(CLUSTER_BIN)' --controller '$(BIN)/pintle'
	'$(BIN)/pintle-load' attacks --bin '$(CLUSTER_BIN)' --controller '$(BIN)/pintle'
	@$(MAKE) test-kubernetes PINTLE_REPEAT=

# Not a part of `make test-long`: building the servers of two more versions takes minutes.
test-kubernetes: cluster-build build ## Test with all minor versions of Kubernetes in support, and write the result into docs/compatibility.md.
	@$(SUITES) -record docs/compatibility.md kubernetes-1.35 kubernetes-1.36 integration smoke

# SCENARIO is an environment variable of the tests, since a regular expression needs quoting here.
test-e2e: export PINTLE_SCENARIO = $(value SCENARIO)
test-e2e: cluster-build build build-race ## Run the tests of everything together: [SCENARIO=REGEXP] those scenarios only.
	@$(if $(value SCENARIO),$(WITH_CLUSTER) go test -count=1 -v -run='^TestScenarios$$' ./test/e2e,$(SUITES) e2e failover restarts)

# Not a part of `make test`: it needs root and installs Debian's containerd and runc.
test-node: ## Run the tests on a real node, with real containers: as root, or they are skipped. [DIST=dist] tests a release that was built before.
	@hack/node.sh "$(cluster-launcher)" test-node-here

test-node-here: export PINTLE_NODE = 1
test-node-here: node-build build $(if $(call cluster-value,DIST),,node-release)
	cd test/cluster && $(WITH_CLUSTER) go test -count=1 -v -run=RealNode .
	$(WITH_CLUSTER) PINTLE_RELEASE='$(abspath $(or $(call cluster-value,DIST),$(BIN)/release))' go test -count=1 -v -timeout=30m -parallel=4 ./test/node

node-release:
	@$(MAKE) --no-print-directory release VERSION=v0.0.0-node ARCH="$$(go env GOARCH)" DIST='$(BIN)/release'

test-guide: cluster-build build run-build ## Run the commands of README.md, docs/tutorial.md, docs/from-flux.md and docs/running.md.
	@$(SUITES) guides

test-page: cluster-build build ## Test the web page in Chromium.
	@$(SUITES) page

screenshots: cluster-build build ## Write the pictures of the web page in docs/images, with Debian's Chromium.
	@$(WITH_CLUSTER) hack/page.sh '$(BIN)' go test -count=1 -timeout=40m ./test/page -run='^TestPage$$/^pictures$$' -args -pictures='$(ROOT)/docs/images'

# The CRD of HelmRelease is that of helm-controller.
REFERENCE := github.com/fluxcd/helm-controller

test-reference: cluster-build build reference-build ## Test that releases move from helm-controller to this controller and back.
	@$(WITH_CLUSTER) PINTLE_CRDS='$(BIN)/reference/crds' PINTLE_REFERENCE='$(BIN)/reference/helm-controller' \
		go test -tags=reference -count=1 -v -timeout=30m -run='^TestReference$$' ./test/e2e

reference-build:
	@mkdir -p '$(BIN)/reference/crds'
	cd test/reference && GOWORK=off go build -buildvcs=false -o '$(BIN)/reference/helm-controller' $(REFERENCE)
	@cd test/reference && install -m 644 "$$(GOWORK=off go list -m -f '{{.Dir}}' $(REFERENCE))"/config/crd/bases/*.yaml '$(BIN)/reference/crds'

# The module has Helm 3 and 4. Their tests compare Helm 4 with testdata of the renderer and of the storage.
test-helm: cluster-build build helm-build ## Compare charts and records with Helm 4, and test that the helm commands of Helm 3 and 4 work with this controller.
	@cd test/helm && GOWORK=off go vet . && GOWORK=off go test -count=1 .
	@$(WITH_CLUSTER) PINTLE_HELM3='$(BIN)/helm/helm3' PINTLE_HELM4='$(BIN)/helm/helm4' \
		go test -tags=reference -count=1 -v -timeout=30m -run='^TestHelm$$' ./test/e2e

helm-build:
	@mkdir -p '$(BIN)/helm'
	cd test/helm && for v in 3 4; do GOWORK=off go build -buildvcs=false -ldflags='-s -w' -o "$(BIN)/helm/helm$$v" helm.sh/helm/v$$v/cmd/helm || exit 1; done

# Not a part of `make test`: building the programs takes minutes.
NEIGHBOURS := ^(TestAlerts|TestFlux|TestKustomization|TestNotification)$$

test-neighbours: cluster-build build plugin neighbours-build ## Test with Flux's other controllers, k3s' helm-controller, the flux command and the alert rules.
	@$(WITH_CLUSTER) PINTLE_NEIGHBOURS='$(BIN)/neighbours' \
		go test -tags=reference -count=1 -v -timeout=30m -run='$(NEIGHBOURS)' ./test/e2e
	@$(WITH_CLUSTER) PINTLE_K3S='$(BIN)/neighbours/helm-controller' PATH="$(BIN):$$PATH" \
		go test -count=1 -v -timeout=10m -run='^TestFromK3s$$' ./test/guide
	@cd test/monitoring && PINTLE_ALERTS='$(BIN)/neighbours/alerts.yaml' go test -count=1 -v -run='^TestCausedAlerts$$' .

neighbours-build:
	@hack/neighbours.sh '$(BIN)/neighbours'
	@hack/faulty.sh '$(BIN)/neighbours/pintle-faulty'

# Like KUBECONFIG, its variables are read from the command line only.
bench: build cluster-build load-build ## Measure what releases cost, as docs/performance.md describes: [N=100] [SUITE=all|page] [CHECK=1] [JSON=FILE] ...
	@exec '$(BIN)/pintle-load' bench --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--n '$(or $(call cluster-value,N),$(if $(filter page,$(call cluster-value,SUITE)),3000,100))' --concurrent '$(or $(call cluster-value,CONCURRENT),10)' \
		--idle '$(or $(call cluster-value,IDLE),60s)' --json '$(call cluster-value,JSON)' \
		--suite '$(call cluster-value,SUITE)' --crds '$(or $(call cluster-value,CRDS),0)' --charts '$(or $(call cluster-value,CHARTS),1)' \
		--unready '$(or $(call cluster-value,UNREADY),0)' --unready-timeout '$(or $(call cluster-value,UNREADY_TIMEOUT),2m)' \
		--chart-size '$(call cluster-value,CHART_SIZE)' --interval '$(or $(call cluster-value,INTERVAL),0)' \
		$(if $(filter-out 0,$(call cluster-value,DRIFT)),--drift-detection) $(if $(filter-out 0,$(call cluster-value,POLICY)),--policy) \
		$(if $(filter-out 0,$(call cluster-value,CHECK)),--check) $(if $(filter 0,$(call cluster-value,AUDIT)),--audit=false)

bench-compare: load-build ## Compare the costs of two results of `make bench`: A=FILE B=FILE.
	@exec '$(BIN)/pintle-load' bench compare '$(call cluster-value,A)' '$(call cluster-value,B)'

load-build:
	@go build -o '$(BIN)/pintle-load' ./test/load

BENCH_PACKAGES := ./internal/chart ./internal/release ./internal/status ./internal/helm ./internal/helm/apply ./internal/helm/storage ./internal/values

bench-go: ## Run the benchmarks of single packages.
	@go test -run='^$$' -bench=. -benchmem $(BENCH_PACKAGES)

# Not a part of `make test`: it takes MINUTES and some more.
soak: build cluster-build load-build ## Change many releases for a long time and check that all become ready: [N=300] [MINUTES=20] [SEED=N] [CONTROLLER=FILE] [ARGS=FLAGS].
	@exec '$(BIN)/pintle-load' soak --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--n '$(or $(call cluster-value,N),300)' --duration '$(or $(call cluster-value,MINUTES),20)m' \
		--seed '$(or $(call cluster-value,SEED),0)'

# `make test-long` runs its short form.
chaos: build cluster-build load-build ## Disturb the controller and check that no release fails: [MODE=each|random|outage|kill] [ONLY=REGEXP] [SEED=N] [SHORT=1] [RELEASES=N] [KILLS=100] [TERMS=20] [OUTAGES=10] [CONTROLLER=FILE] [ARGS=FLAGS].
	@exec '$(BIN)/pintle-load' chaos --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--mode '$(call cluster-value,MODE)' --only '$(call cluster-value,ONLY)' --seed '$(or $(call cluster-value,SEED),0)' \
		--releases '$(or $(call cluster-value,RELEASES),0)' --kills '$(or $(call cluster-value,KILLS),100)' \
		--terms '$(or $(call cluster-value,TERMS),20)' --outages '$(or $(call cluster-value,OUTAGES),10)' \
		$(if $(filter-out 0,$(call cluster-value,SHORT)),--short)

# `make test-long` runs its short form.
attacks: build cluster-build load-build ## Attack the controller with charts, values and kubeconfigs of tenants in 768 MiB: [ONLY=REGEXP] [SEED=N] [SHORT=1] [ROUNDS=5] [TABLE=FILE] [CONTROLLER=FILE] [ARGS=FLAGS].
	@exec '$(BIN)/pintle-load' attacks --bin '$(CLUSTER_BIN)' \
		--controller '$(or $(call cluster-value,CONTROLLER),$(BIN)/pintle)' --args '$(call cluster-value,ARGS)' \
		--only '$(call cluster-value,ONLY)' --seed '$(or $(call cluster-value,SEED),0)' --rounds '$(or $(call cluster-value,ROUNDS),5)' \
		--table '$(call cluster-value,TABLE)' $(if $(filter-out 0,$(call cluster-value,SHORT)),--short)

verify: generate manifests check-generated vet ## Check generated files, format, lint and imports.
	$(GOLANGCI_LINT) fmt --diff
	$(GOLANGCI_LINT) run
	$(if $(wildcard internal/*_test.go),go test ./internal)

check-generated: generate manifests
	@git diff --exit-code -- $(GENERATED) || { echo 'generated files were out of date and have been updated: commit them' >&2; exit 1; }

build: ## Build the controller.
	go build -ldflags='$(LDFLAGS)' -o '$(BIN)/pintle' .

plugin: ## Build kubectl-pintle, the plugin of kubectl: copy it to a folder of PATH.
	go build -ldflags='-s -w' -o '$(BIN)/kubectl-pintle' ./cmd/kubectl-pintle

# All times in a release are the time of the commit, so that two builds give the same bytes.
RELEASE = go run ./hack/release -version='$(VERSION)' -revision='$(REVISION)' \
	-epoch="$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

release: ## Build the files of a release, as docs/releasing.md describes: VERSION=v1.2.3 [ARCH=amd64,arm64] [DIST=dist].
	@$(if $(filter command,$(firstword $(origin VERSION))),,echo 'usage: make release VERSION=v1.2.3' >&2; exit 2;) \
	$(RELEASE) $(if $(call cluster-value,ARCH),-arch='$(ARCH)') -out='$(or $(call cluster-value,DIST),dist)'

image: ## Build the image as bin/image.tar, an archive in OCI's layout: [VERSION=TAG] [ARCH=amd64,arm64].
	@mkdir -p '$(BIN)' && $(RELEASE) -arch="$(or $(call cluster-value,ARCH),$$(go env GOARCH))" -image='$(BIN)/image.tar'

push: image ## Build the image and push it: IMAGE=REPOSITORY:TAG [ARCH=amd64,arm64].
	@$(if $(call cluster-value,IMAGE),,echo 'usage: make push IMAGE=REPOSITORY:TAG' >&2; exit 2;) \
	go run ./hack/release -image='$(BIN)/image.tar' -push='$(IMAGE)'

build-race: # The controller as the long tests run it.
	CGO_ENABLED=1 go build -race -o '$(BIN)/pintle-race' .

# Not a part of `make test`: it needs https://vuln.go.dev.
GOVULNCHECK := go tool -modfile=hack/tools/govulncheck/go.mod govulncheck

vulncheck: ## Look for known vulnerabilities in called functions; it needs the network.
	@$(GOVULNCHECK) . || { echo 'vulncheck: vulnerabilities were found, or the database could not be read: see above.' >&2; exit 1; }

lint: ## Run the linters.
	$(GOLANGCI_LINT) run

fmt: ## Format the code.
	$(GOLANGCI_LINT) fmt

vet: ## Run go vet.
	go vet ./... && go vet -tags=reference ./test/e2e

clean: ## Remove all build results.
	rm -rf '$(BIN)' '$(ROOT)/dist'
