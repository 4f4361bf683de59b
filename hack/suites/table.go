// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

// suite are steps that are measured together.
type suite struct {
	steps []step
	// minutes is how long the suite takes on two cores, for the choice among long suites.
	minutes int
	// paths are prefixes of the files whose changes ask for a long suite.
	paths []string
}

const (
	// unitPackages are all packages whose tests need no cluster.
	unitPackages = ". ./api/... ./hack/... ./internal/... ./test/bubble/... ./test/fixture/... ./test/harness/... ./test/load/... ./test/manifests/... ./test/run/... ./test/scenario"
	// racePackages use goroutines or locks.
	racePackages = "./internal/apiretry ./internal/attempt ./internal/chart ./internal/cluster ./internal/controller ./internal/controller/capabilities ./internal/controller/helmrelease ./internal/controller/optional ./internal/drift ./internal/events ./internal/fair ./internal/helm/apply ./internal/helm/storage ./internal/helm/wait ./internal/leader/... ./internal/page/access ./internal/page/live ./internal/parallel ./internal/render/handler ./internal/render/postrender ./internal/view/read ./internal/watch ./internal/worker ./test/bubble"
	// sequential tests are among the most costly ones of these packages, and start no goroutines.
	sequential = "^(TestBomb|TestListLimits|TestTooLargeIsExplained)$"
	// Tests wait most of the time, so more of them run side by side than there are processors.
	side = "-test.parallel=8"

	// Tests that stop or replace the controller exclude all others.
	failover = "^(TestFailover|TestHooksMoveBetweenShards|TestHooksSurviveFailover|TestSecondController|TestSecondControllerTakesOver|TestShards|TestShortOfMemory)$"
	restarts = "^(TestClouds|TestHelmCharts|TestHooksSurviveKill|TestNextHookSurvivesKill|TestOperationSurvivesKill|TestRemoteCluster|TestRolloutStages|TestRolloutSurvivesKill|TestShutdownIsNoFailure|TestSurvivesKill|TestValuesFromSources)$"
	// While an aggregated API is away, the discovery of its control plane is incomplete.
	alone = "^TestAggregatedAPIAway$"
)

// integration and smoke are what `make test` runs with a control plane.
func integration() test { return test{pkg: "test/integration", flags: []string{"-test.short", side}} }

func smoke() test {
	return test{pkg: "test/e2e", controller: plain, flags: []string{"-test.short", "-test.parallel=4"}}
}

// table has all suites by name. The suites of `make test` use -short.
func table() map[string]suite {
	return map[string]suite{
		"vet":         {steps: []step{command("go vet ./... && go vet -tags=reference ./test/e2e")}},
		"unit":        {steps: []step{command("go test -short -vet=off -ldflags='-s -w' " + unitPackages), command(monitoring)}},
		"race":        {steps: []step{command(ifCompiler + "CGO_ENABLED=1 go test -race -short -vet=off -ldflags='-s -w' -skip='" + sequential + "' " + racePackages)}},
		"integration": {steps: []step{integration().step}},
		"smoke":       {steps: []step{smoke().step}},
		"pages": {steps: []step{
			test{pkg: "test/guide", controller: plain, flags: []string{"-test.short"}}.step,
			command("PINTLE_CONTROLLER=$PWD/bin/pintle hack/page.sh \"$PWD/bin\" go test -short -count=1 -timeout=10m ./test/page"),
		}},

		// Long tests enumerate orders and inputs. The race detector makes them 10 times longer.
		"race-all":         {steps: []step{command("CGO_ENABLED=1 go test -race -short -vet=off -ldflags='-s -w' -timeout=60m " + unitPackages)}, minutes: 15},
		"unit-long":        {steps: []step{command("go test -vet=off -ldflags='-s -w' -timeout=60m " + unitPackages)}, minutes: 15},
		"integration-long": {steps: []step{test{pkg: "test/integration", race: true, flags: []string{side, "-test.skip=" + alone}}.step}, minutes: 20},
		"alone":            {steps: []step{test{pkg: "test/integration", race: true, flags: []string{"-test.run=" + alone}}.step}, minutes: 3, paths: []string{"internal/controller/capabilities", "internal/helm/kinds"}},
		"e2e":              {steps: []step{test{pkg: "test/e2e", race: true, controller: raced, flags: []string{"-test.parallel=4", "-test.skip=" + failover + "|" + restarts}}.step}, minutes: 7, paths: []string{"test/e2e", "internal/inputs", "internal/helm", "config/samples"}},
		"failover":         {steps: []step{test{pkg: "test/e2e", race: true, controller: raced, flags: []string{"-test.run=" + failover}}.step}, minutes: 10, paths: []string{"internal/leader", "internal/oomwatch", "leader", "standby", "main", "manager", "workers"}},
		"restarts":         {steps: []step{test{pkg: "test/e2e", race: true, controller: raced, flags: []string{"-test.run=" + restarts}}.step}, minutes: 11, paths: []string{"internal/rollout", "internal/controller/helmrelease/rollouts", "internal/helm/revision", "internal/helm/storage", "internal/helmchart", "internal/controller/helmcharts", "internal/cluster", "internal/attempt", "clouds"}},
		// helm-controller is built with the libraries that it requires, so this is too long for changes.
		"guides":     {steps: []step{command("make reference-build"), command("PINTLE_CRDS=$PWD/bin/reference/crds PINTLE_REFERENCE=$PWD/bin/reference/helm-controller PINTLE_CONTROLLER=$PWD/bin/pintle go test -count=1 -timeout=40m ./test/guide")}, minutes: 20, paths: []string{"docs", "test/guide", "cmd", "internal/cli"}},
		"page":       {steps: []step{command("PINTLE_CONTROLLER=$PWD/bin/pintle hack/page.sh \"$PWD/bin\" go test -count=1 -timeout=40m ./test/page")}, minutes: 5, paths: []string{"internal/page", "internal/view", "test/page", "test/browser"}},
		"chaos":      {steps: []step{command("bin/pintle-load chaos --bin bin/cluster --controller bin/pintle-race --short --seed 1")}, minutes: 6, paths: []string{"internal/apiretry", "internal/release", "internal/status", "internal/controller", "test/load/chaos", "test/load/frame"}},
		"attacks":    {steps: []step{command("bin/pintle-load attacks --bin bin/cluster --controller bin/pintle --short --seed 1")}, minutes: 6, paths: []string{"internal/render", "internal/worker", "internal/chart", "internal/bounded", "internal/fair", "internal/page", "internal/policy", "test/load/attacks", "test/load/frame"}},
		"launcher":   {steps: []step{command("cd test/cluster && go test -count=1 -timeout=30m .")}, minutes: 3, paths: []string{"test/cluster"}},
		"node":       {steps: []step{command("make test-node")}, minutes: 7, paths: []string{"internal/diagnosis", "internal/hookjob", "internal/operation", "hack/release", "charts", "config", "test/node"}},
		"reference":  {steps: []step{command("make test-reference")}, minutes: 9, paths: []string{"api/v2", "test/reference"}},
		"neighbours": {steps: []step{command("make test-neighbours")}, minutes: 7, paths: []string{"internal/controller/helmcharts", "internal/events", "internal/metrics", "test/neighbours"}},
		"helm":       {steps: []step{command("make test-helm")}, minutes: 3, paths: []string{"internal/helm/storage", "internal/render", "test/helm"}},

		// With older servers of Kubernetes than the other suites. docs/compatibility.md has their versions.
		"kubernetes-1.35": {steps: kubernetes("1.35"), minutes: 9},
		"kubernetes-1.36": {steps: kubernetes("1.36"), minutes: 9},
	}
}

// kubernetes builds the servers of a minor version of Kubernetes, and runs what `make test` runs with a
// control plane.
func kubernetes(minor string) []step {
	steps := []step{command("make kubernetes-build MINOR=" + minor)}
	for _, t := range []test{integration(), smoke()} {
		t.cluster = "kubernetes/" + minor
		steps = append(steps, t.step)
	}
	return steps
}

// ifCompiler ends a command without a failure if there is no C compiler, which the race detector needs.
const ifCompiler = `command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null || { echo 'SKIPPED, the race detector needs a C compiler'; exit 0; }; `

// monitoring reads files outside of its module, which the test cache ignores.
const monitoring = `cd test/monitoring && go vet . && PINTLE_PROMTOOL="$(../../hack/promtool.sh "$OLDPWD/bin/promtool")" go test -count=1 .`
