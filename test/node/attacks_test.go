// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
)

// TestInstalledUnderAttack: with the limits of config/default, charts that take all stack, memory or
// time get a condition with that limit. The Pod does not restart, and another release is upgraded
// meanwhile. Not parallel: it replaces the controller of the other tests.
func TestInstalledUnderAttack(t *testing.T) {
	w := newWorld(t)
	w.Must(env.Controller.Stop(t.Context()))
	t.Cleanup(func() { w.Must(env.Controller.Start()) })
	w.install()
	deployer := w.deployer()
	honest := w.release("honest", values{}, func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = deployer })
	w.UntilReady(honest)

	var attacked []*helmv2.HelmRelease
	var attacks []corpus.Attack
	for _, name := range []string{"templates/endless", "values/tpl", "templates/output", "archives/many-values", "schemas/exponential"} {
		attack, ok := corpus.Named(name)
		if !ok {
			t.Fatalf("there is no attack %s", name)
		}
		attacks, attacked = append(attacks, attack), append(attacked, w.attack(attack, deployer))
	}
	w.confined(string(w.controllerPod().UID))
	w.Edit(honest, func(hr *helmv2.HelmRelease) { hr.Spec.Values = w.Raw(values{"script": slowly}) })
	for i, attack := range attacks {
		w.Until(attacked[i], "to be "+attack.Outcome.String(), func(hr *helmv2.HelmRelease) bool {
			return attack.Outcome.Met(harness.ReadyCondition(hr.Status.Conditions))
		})
	}
	w.UntilRevision(honest, 2)
	// The Pod would wait for attacks that are retried when it is deleted.
	for _, hr := range append(attacked, honest) {
		w.Must(env.Client.Delete(t.Context(), hr))
		w.UntilGone(hr)
	}
	if pod := w.controllerPod(); !pod.Status.ContainerStatuses[0].Ready || pod.Status.ContainerStatuses[0].RestartCount > 0 {
		t.Errorf("the controller's Pod is not well: %s", fixture.PodText(pod))
	}
}

// attack creates the release of an attack that consists of a chart and of fields of the spec.
func (w world) attack(a corpus.Attack, serviceAccount string) *helmv2.HelmRelease {
	w.Helper()
	about := &helmchart.Metadata{Name: corpus.Chart, Version: corpus.Version}
	w.Must(env.Registry.Push(w.Context(), w.Namespace+"/"+a.ID(), corpus.Version, about, a.Archive()))
	source := w.Source(a.ID(), env.Registry.Address, a.ID(), sourcev1.OCIRepositoryRef{Tag: corpus.Version})
	hr := w.Draft(a.ID(), fixture.ChartRef(helmv2.KindOCIRepository, source.Name), nil)
	hr.Spec.ServiceAccountName, hr.Spec.Timeout = serviceAccount, &metav1.Duration{Duration: 5 * time.Second}
	if a.Edit != nil {
		a.Edit(hr)
	}
	w.Create(hr)
	return hr
}

// maxWorkerData is above the memory limit of a worker and what the Go runtime reserves beside it.
const maxWorkerData = 400 << 20

// confined waits until a worker runs in a Pod, and checks that its filter of system calls is active
// in addition to that of the container, and that its memory is limited.
func (w world) confined(podUID string) {
	w.Helper()
	w.Must(env.Until(w.Context(), "a confined worker in the controller's Pod", func() (string, bool) {
		workers := workersOf(podUID)
		for _, pid := range workers {
			status, limit := procStatus(pid), dataLimit(pid)
			parent := procStatus(status["PPid"])
			if status["Seccomp"] == "2" && status["NoNewPrivs"] == "1" && parent["Seccomp"] == "2" &&
				decimal(status["Seccomp_filters"]) > decimal(parent["Seccomp_filters"]) && limit > 0 && limit < maxWorkerData {
				return "", true
			}
		}
		return fmt.Sprint("workers ", workers), false
	}))
}

// workersOf returns the process IDs of the workers in a Pod.
func workersOf(podUID string) (all []string) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, path := range lines {
		pid := filepath.Base(filepath.Dir(path))
		command, err := os.ReadFile(path) //nolint:gosec // a file of the kernel
		if err != nil || !strings.Contains(string(command), "\x00render-worker\x00") {
			continue
		}
		cgroups, err := os.ReadFile(filepath.Join("/proc", pid, "cgroup")) //nolint:gosec // a file of the kernel
		// With the systemd driver, the name of the cgroup has underscores.
		if err == nil && strings.Contains(strings.ReplaceAll(string(cgroups), "_", "-"), podUID) {
			all = append(all, pid)
		}
	}
	return all
}

// procStatus returns the fields of /proc/PID/status, none if the process has ended.
func procStatus(pid string) map[string]string {
	fields := map[string]string{}
	content, err := os.ReadFile(filepath.Join("/proc", pid, "status")) //nolint:gosec // a file of the kernel
	if err != nil {
		return fields
	}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// dataLimit returns the limit of the data of a process in bytes, 0 without one.
func dataLimit(pid string) int {
	content, err := os.ReadFile(filepath.Join("/proc", pid, "limits")) //nolint:gosec // a file of the kernel
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, "Max data size"); ok {
			return decimal(strings.Fields(rest)[0])
		}
	}
	return 0
}

// decimal returns a decimal number, 0 for other texts.
func decimal(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
