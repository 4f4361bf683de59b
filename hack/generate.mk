# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0

# Generators. The root Makefile includes this file; run the targets from the root.
# The results are committed, and `make verify` fails if the targets would change them.

CONTROLLER_GEN ?= go tool -modfile=hack/tools/controller-gen/go.mod controller-gen

.PHONY: generate
generate: ## Generate deep copies from the API types, and the list of flags from the code.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...
	@go test -count=1 ./internal/options -run='^TestDocument$$' -rewrite

.PHONY: manifests
manifests: ## Generate the CRDs from the API types and the role from the controllers' markers, also for the chart.
	$(CONTROLLER_GEN) crd:headerFile=hack/tools/boilerplate.yaml.txt paths=./api/... output:crd:artifacts:config=config/crd/bases
	@mkdir -p config/helmchart/crd && mv config/crd/bases/helm.cattle.io_*.yaml config/helmchart/crd
	$(CONTROLLER_GEN) rbac:roleName=manager-role,headerFile=hack/tools/boilerplate.yaml.txt paths=./internal/controller/... output:rbac:artifacts:config=config/rbac
	@rm -rf charts/pintle/crds && mkdir -p charts/pintle/crds charts/pintle/files && cp config/crd/bases/*.yaml charts/pintle/crds
	@sed -n '/^rules:/,$$p' config/rbac/role.yaml >charts/pintle/files/manager-rules.yaml
	@sed -n '/^rules:/,$$p' config/helmchart/role.yaml >charts/pintle/files/helmchart-rules.yaml
	@sed -n '/^rules:/,$$p' config/page/role.yaml >charts/pintle/files/page-rules.yaml
	@sed -n '/^rules:/,$$p' config/rbac/viewer_role.yaml >charts/pintle/files/viewer-rules.yaml
	@sed -n '/^apiVersion:/,$$p' config/policy/approval.yaml >charts/pintle/files/approval.yaml
