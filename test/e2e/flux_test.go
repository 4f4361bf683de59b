// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// fluxTimeout is the timeout of commands and of actions that must succeed.
const fluxTimeout = time.Hour

// TestFlux: the flux CLI works with releases, and its output is true when it is printed.
func TestFlux(t *testing.T) {
	w := newWorld(t)
	w.push("0.1.0")
	hr := w.release("hello", w.source("hello", env.Registry.Address).Name, values{"message": "one"})
	w.UntilRevision(hr, 1)
	f := flux{w, neighbour(t, "flux")}

	f.says("get hr hello", "hello", "0.1.0+", "False", "True", "Helm install succeeded for release "+w.Namespace+"/hello.v1")
	f.says("get hr hello --show-source", "OCIRepository/"+w.Namespace+"/hello")
	f.says("get hr hello --status-selector ready=true", "0.1.0+")
	f.says("reconcile hr hello", "applied revision 0.1.0+")
	f.is(hr, 1, "one")
	f.says("reconcile hr hello --force", "applied revision 0.1.0+")
	f.is(hr, 2, "one")
	w.push("0.2.0")
	f.says("reconcile hr hello --with-source", "applied revision 0.2.0+")
	f.is(hr, 3, "one")
	f.says("reconcile hr hello --reset", "applied revision 0.2.0+")
	f.is(hr, 3, "one")

	f.suspensions(hr)
	f.annotated(hr)
	f.failures(hr)

	f.says("trace deployment hello", "HelmRelease:    hello", "Revision:       0.2.0+", "OCIRepository:   hello", "Helm upgrade succeeded")
	// With a name, the command insists on spec.chart.
	f.says("events --for HelmRelease", "InstallSucceeded", "UpgradeSucceeded", "UpgradeFailed", "HelmRelease/hello")
	f.says("delete hr hello --silent", "helmrelease deleted")
	w.gone(hr)
}

// suspensions: a suspended release is left alone, and resume waits until it is in sync.
func (f flux) suspensions(hr *helmv2.HelmRelease) {
	f.Helper()
	f.says("suspend hr hello", "helmrelease suspended")
	f.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = f.Raw(values{"message": "two"}) })
	f.refuses("reconcile hr hello", "resource is suspended")
	f.Until(hr, "to have taken note of its suspension", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation
	})
	f.says("get hr hello", "0.2.0+", "True")
	f.message("hello", "one")
	f.says("resume hr hello", "applied revision 0.2.0+")
	f.is(hr, 4, "two")
	f.says("suspend hr hello", "helmrelease suspended")
	f.says("resume hr hello", "applied revision 0.2.0+")
	f.is(hr, 4, "two")
}

// annotated: a request to a release that an annotation suspends stays open, so reconcile reports no
// success before the suspension ends.
func (f flux) annotated(hr *helmv2.HelmRelease) {
	f.Helper()
	f.Edit(hr, func(hr *helmv2.HelmRelease) {
		metav1.SetMetaDataAnnotation(&hr.ObjectMeta, helmv2.AnnotationSuspend, "maintenance")
	})
	f.UntilCondition(hr, helmv2.ConditionSuspended, yes, helmv2.ReasonSuspended, "maintenance")
	handled := hr.Status.LastHandledReconcileAt
	ended := make(chan error, 1)
	go func() {
		out, err := f.run("reconcile hr hello")
		if err == nil && !strings.Contains(out, "applied revision 0.2.0+") {
			err = errors.New("flux reconcile reports no revision")
		}
		ended <- err
	}()
	f.Until(hr, "to have a request", func(hr *helmv2.HelmRelease) bool {
		return hr.Annotations[fluxmeta.ReconcileRequestAnnotation] > handled
	})
	// When the change is observed, so is the request.
	f.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = f.Raw(values{"message": "later"}) })
	f.Until(hr, "to have taken note of the change", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation
	})
	f.equal("lastHandledReconcileAt", hr.Status.LastHandledReconcileAt, handled)
	select {
	case err := <-ended:
		f.Errorf("flux reconcile ends while the release is suspended: %v", err)
	default:
	}
	f.message("hello", "two")
	f.Edit(hr, func(hr *helmv2.HelmRelease) { delete(hr.Annotations, helmv2.AnnotationSuspend) })
	f.Must(<-ended)
	f.is(hr, 5, "later")
}

// failures: the CLI prints the failed action and its request.
func (f flux) failures(hr *helmv2.HelmRelease) {
	f.Helper()
	f.change(hr, unready(), func(spec *helmv2.HelmReleaseSpec) { spec.Timeout = duration(shortly) })
	f.settles(hr, conditions{helmv2.ConditionStalled: yes})
	f.refuses("reconcile hr hello", "Failed to upgrade after 1 attempt(s)")
	f.refuses("reconcile hr hello --reset", "Failed to upgrade after 1 attempt(s)")
	f.says("get hr hello --status-selector ready=false", "0.2.0+", "False", "Helm upgrade failed for release "+f.Namespace+"/hello")
	f.change(hr, values{"message": "three"}, func(spec *helmv2.HelmReleaseSpec) { spec.Timeout = duration(fluxTimeout) })
	f.says("reconcile hr hello", "applied revision 0.2.0+")
	// The reset waited for the objects of revision 6 once more, which makes none.
	f.is(hr, 7, "three")

	f.says("debug hr hello --show-values", "message: three")
	f.says("debug hr hello --show-status", "type: Ready", "observedGeneration:", "lastAttemptedReleaseAction: upgrade", "storageNamespace: "+f.Namespace)
	f.says("debug hr hello --show-history", "chartName: hello", "status: deployed", "digest: sha256:")
}

// flux runs the flux command in a world.
type flux struct {
	world

	path string
}

func (f flux) run(command string) (string, error) {
	args := append(strings.Fields(command), "--kubeconfig", env.Kubeconfig, "--namespace", f.Namespace, "--timeout", fluxTimeout.String())
	out, err := exec.CommandContext(f.Context(), f.path, args...).CombinedOutput()
	f.Logf("flux %s\n%s", command, out)
	return string(out), err
}

// says checks that a command succeeds, and prints all parts.
func (f flux) says(command string, parts ...string) {
	f.Helper()
	out, err := f.run(command)
	f.Must(err)
	f.contains(command, out, parts)
}

// refuses checks that a command fails, and prints all parts.
func (f flux) refuses(command string, parts ...string) {
	f.Helper()
	out, err := f.run(command)
	if err == nil {
		f.Errorf("flux %s succeeds", command)
	}
	f.contains(command, out, parts)
}

// contains checks that the output of a command has all parts.
func (w world) contains(command, out string, parts []string) {
	w.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			w.Errorf("%s does not say %q", command, part)
		}
	}
}

// is checks the state at the moment that a command has ended.
func (f flux) is(hr *helmv2.HelmRelease, revision int, message string) {
	f.Helper()
	f.Get(hr.Name, hr)
	if got := hr.Status.History[0].Version; got != revision {
		f.Errorf("the command ended at revision %d, want %d", got, revision)
	}
	f.message("hello", message)
}
