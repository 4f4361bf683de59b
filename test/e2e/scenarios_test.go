// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// scenarios are what users of helm-controller rely on: its own 39 end-to-end
// scenarios in its own order, of which smoke/status-defaults comes first and is
// played apart. They keep their names, unless those name a chart instead of its
// source. Each has a namespace of its own, charts and sources of ours, and
// expects what helm-controller does.
//
// A fault is a pod that the simulated node never lets become ready, or a test pod
// that ends with an exit code. Times are short and nothing sleeps.
var scenarios = []struct {
	name string
	play func(world)
}{
	{"smoke/samples", samples},                                           // config/samples, by all kinds of sources
	{"smoke/helm-repository", helmRepository},                            // a chart from an HTTP repository
	{"smoke/git", gitRepository},                                         // a chart from a folder in Git
	{"smoke/oci-verified", ociVerified},                                  // a signed chart from a HelmRepository of type oci
	{"smoke/job-ttl", jobTTL},                                            // a hook's Job that vanishes when it is done
	{"smoke/dependencies", dependencies},                                 // a frontend that depends on a backend
	{"smoke/valuesfrom", valuesFrom},                                     // values from everywhere at once
	{"smoke/targetnamespace", targetNamespace},                           // a release in another namespace
	{"smoke/install-create-target-ns", createTargetNamespace},            // which does not exist yet
	{"smoke/install-from-hc-source", fromHelmChart},                      // chartRef: HelmChart, signed
	{"smoke/install-from-ocirepo-source", fromOCIRepository},             // chartRef: OCIRepository, by tag
	{"smoke/post-renderer-kustomize", postRendererKustomize},             // both kinds of patches
	{"lifecycle/install-fail", installFail},                              // a failed install stays
	{"lifecycle/install-test-fail", installTestFail},                     // and so does one whose test fails,
	{"lifecycle/install-test-fail-ignore", installTestFailIgnore},        // which may not matter
	{"lifecycle/install-fail-remediate", installFailRemediate},           // uninstalled, history kept
	{"lifecycle/install-fail-retry", installFailRetry},                   // tried twice
	{"lifecycle/upgrade-fail", upgradeFail},                              // a failed upgrade stays
	{"lifecycle/upgrade-test-fail", upgradeTestFail},                     // and so does one whose test fails
	{"lifecycle/upgrade-fail-remediate", upgradeFailRemediate},           // rolled back
	{"lifecycle/upgrade-fail-retry", upgradeFailRetry},                   // rolled back, tried again, rolled back
	{"lifecycle/upgrade-from-ocirepo-source", upgradeFromOCIRepository},  // another digest
	{"lifecycle/upgrade-fail-remediate-uninstall", upgradeFailUninstall}, // uninstalled, installed
	{"advanced/impersonation", impersonation},                            // what a ServiceAccount may do works,
	{"advanced/impersonation-fail", impersonationFail},                   // and what it may not fails
	{"advanced/delete-ns", deleteNamespace},                              // with ServiceAccount, Role and release
	{"advanced/crds-init", crdsInit},                                     // definitions of a chart are applied,
	{"advanced/crds-create", crdsCreate},                                 // new ones are added,
	{"advanced/crds-create-replace", crdsCreateReplace},                  // changed ones replaced
	{"advanced/chart-name-change", chartNameChangeDefault},               // another chart reinstalls,
	{"advanced/chart-name-change-reinstall", chartNameChangeReinstall},   // also when told to,
	{"advanced/chart-name-change-in-place", chartNameChangeInPlace},      // and does not when told not to
	{"ssa/no-ssa", noSSA},                                                // client-side from beginning to end
	{"ssa/ssa-install-no-ssa-upgrade", ssaInstallNoSSAUpgrade},           // from one
	{"ssa/no-ssa-install-ssa-upgrade", noSSAInstallSSAUpgrade},           // to the other
	{"ssa/ssa-to-csa-field-removal", ssaToCSAFieldRemoval},               // and what is dropped on the way goes
	{"ssa/server-side-apply", serverSideApply},                           // server-side from beginning to end
	{"ssa/server-side-apply-rollback", serverSideApplyRollback},          // and back
}

// TestScenarios plays the scenarios whose names match the regular expression in
// PINTLE_SCENARIO, or all. A selection by -run could not tell a slash in a name
// from one between levels.
func TestScenarios(t *testing.T) {
	selected, err := regexp.Compile(os.Getenv("PINTLE_SCENARIO"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var played int
	play := func(name string, test func(*testing.T)) {
		names = append(names, name)
		if selected.MatchString(name) {
			played++
			t.Run(name, test)
		}
	}
	// Nobody else can work while there is no controller.
	play("smoke/status-defaults", statusDefaults)
	for _, s := range scenarios {
		play(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(newWorld(t))
		})
	}
	if played == 0 {
		t.Errorf("no scenario matches %q; there are:\n%s", selected, strings.Join(names, "\n"))
	}
}

// statusDefaults: what no controller has seen yet says so.
func statusDefaults(t *testing.T) {
	w := newWorld(t)
	w.must(env.Controller.Stop(t.Context()))
	defer func() { w.must(env.Controller.Start()) }()
	hr := w.draft("hello", w.chartRef(helmv2.KindOCIRepository, "nowhere"), values{})
	w.create(hr)
	seen := &unstructured.Unstructured{}
	seen.SetGroupVersionKind(helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind))
	w.must(env.Client.Get(t.Context(), client.ObjectKeyFromObject(hr), seen))
	w.equal("status", seen.Object["status"], map[string]any{"observedGeneration": int64(-1)})
	w.must(env.Client.Delete(t.Context(), hr))
}
