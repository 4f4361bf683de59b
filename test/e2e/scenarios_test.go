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
	"github.com/pintle-dev/pintle/test/fixture"
)

// scenarios are helm-controller's 39 end-to-end scenarios in their order, with the same
// expectations. smoke/status-defaults is the first and runs separately. The names are kept, except
// where they name a chart instead of its source. Each scenario has its own namespace, charts and
// sources.
//
// A fault is a Pod that the simulated node never makes ready, or a test Pod with an exit code.
// Times are short and nothing sleeps.
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
	{"smoke/values-from-files", valuesFromFiles},                         // values in a repository of their own
	{"smoke/targetnamespace", targetNamespace},                           // a release in another namespace
	{"smoke/install-create-target-ns", createTargetNamespace},            // which does not exist yet
	{"smoke/install-from-hc-source", fromHelmChart},                      // chartRef: HelmChart, signed
	{"smoke/install-from-ocirepo-source", fromOCIRepository},             // chartRef: OCIRepository, by tag
	{"smoke/post-renderer-kustomize", postRendererKustomize},             // both kinds of patches
	{"lifecycle/install-fail", installFail},                              // a failed install stays
	{"lifecycle/install-test-fail", installTestFail},                     // a failed test fails the install
	{"lifecycle/install-test-fail-ignore", installTestFailIgnore},        // which may not matter
	{"lifecycle/install-fail-remediate", installFailRemediate},           // uninstalled, history kept
	{"lifecycle/install-fail-retry", installFailRetry},                   // tried twice
	{"lifecycle/upgrade-fail", upgradeFail},                              // a failed upgrade stays
	{"lifecycle/upgrade-test-fail", upgradeTestFail},                     // a failed test fails the upgrade
	{"lifecycle/upgrade-fail-remediate", upgradeFailRemediate},           // rolled back
	{"lifecycle/upgrade-fail-retry", upgradeFailRetry},                   // rolled back, tried again, rolled back
	{"lifecycle/upgrade-from-ocirepo-source", upgradeFromOCIRepository},  // another digest
	{"lifecycle/upgrade-fail-remediate-uninstall", upgradeFailUninstall}, // uninstalled, installed
	{"advanced/impersonation", impersonation},                            // permitted actions succeed
	{"advanced/impersonation-fail", impersonationFail},                   // others fail
	{"advanced/delete-ns", deleteNamespace},                              // with ServiceAccount, Role and release
	{"advanced/crds-init", crdsInit},                                     // definitions of a chart are applied,
	{"advanced/crds-create", crdsCreate},                                 // new ones are added,
	{"advanced/crds-create-replace", crdsCreateReplace},                  // changed ones replaced
	{"advanced/chart-name-change", chartNameChangeDefault},               // another chart reinstalls,
	{"advanced/chart-name-change-reinstall", chartNameChangeReinstall},   // also if configured explicitly
	{"advanced/chart-name-change-in-place", chartNameChangeInPlace},      // in place if configured so
	{"ssa/no-ssa", noSSA},                                                // client-side throughout
	{"ssa/ssa-install-no-ssa-upgrade", ssaInstallNoSSAUpgrade},           // from one
	{"ssa/no-ssa-install-ssa-upgrade", noSSAInstallSSAUpgrade},           // to the other
	{"ssa/ssa-to-csa-field-removal", ssaToCSAFieldRemoval},               // removed fields disappear
	{"ssa/server-side-apply", serverSideApply},                           // server-side throughout
	{"ssa/server-side-apply-rollback", serverSideApplyRollback},          // and back
}

// shortScenarios selects the scenarios of a short run.
const shortScenarios = `^(smoke/samples|lifecycle/upgrade-fail-remediate|advanced/(impersonation-fail|delete-ns|crds-create-replace))$`

// TestScenarios: all scenarios pass. PINTLE_SCENARIO is a regular expression that selects scenarios
// by name; -run cannot match the slashes in their names.
func TestScenarios(t *testing.T) {
	expression := os.Getenv("PINTLE_SCENARIO")
	if expression == "" && testing.Short() {
		expression = shortScenarios
	}
	selected, err := regexp.Compile(expression)
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
	// No other test can run while there is no controller.
	play("smoke/status-defaults", statusDefaults)
	t.Parallel()
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

// statusDefaults: a new HelmRelease has the documented default status before the first
// reconciliation.
func statusDefaults(t *testing.T) {
	w := newWorld(t)
	w.Must(env.Controller.Stop(t.Context()))
	defer func() { w.Must(env.Controller.Start()) }()
	hr := w.Draft("hello", fixture.ChartRef(helmv2.KindOCIRepository, "nowhere"), values{})
	w.Create(hr)
	seen := &unstructured.Unstructured{}
	seen.SetGroupVersionKind(helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind))
	w.Must(env.Client.Get(t.Context(), client.ObjectKeyFromObject(hr), seen))
	w.equal("status", seen.Object["status"], map[string]any{"observedGeneration": int64(-1)})
	w.Must(env.Client.Delete(t.Context(), hr))
}
