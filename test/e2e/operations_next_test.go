// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// installAdmissionPolicies installs the admission policies that are shipped, and returns when objects that
// are created from now on are newer.
func (w world) installAdmissionPolicies() {
	w.Helper()
	raw, err := os.ReadFile("../../config/policy/approval.yaml")
	w.Must(err)
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			break
		} else {
			w.Must(err)
		}
		w.Must(client.IgnoreAlreadyExists(env.Client.Create(w.Context(), o)))
		w.Must(env.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o))
		// Creation times are in seconds.
		time.Sleep(time.Until(o.GetCreationTimestamp().Add(1100 * time.Millisecond)))
	}
}

// migrateNext creates an Operation with the hook of the next version, which the upgrade leaves out.
func (w world) migrateNext(hr *helmv2.HelmRelease, name string) *opsv1alpha1.Operation {
	w.Helper()
	self := &authenticationv1.SelfSubjectReview{}
	w.Must(env.Client.Create(w.Context(), self))
	o := &unstructured.Unstructured{}
	w.Must(yaml.Unmarshal(fmt.Appendf(nil, `apiVersion: ops.vworkspace.io/v1alpha1
kind: Operation
metadata: {name: %s, namespace: %s}
spec:
  targetRef: {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, name: %s}
  engine: helmHookJob
  parameters: {hookName: nextcloud-myteam-pre-upgrade, from: Next, skipInUpgrade: true, skipApprovedBy: %q}
`, name, w.Namespace, hr.Name, self.Status.UserInfo.Username), &o.Object))
	return w.CreateOperation(o)
}

// TestNextHookSurvivesKill: a migration of the next version runs while the installed one serves, and the
// upgrade after it leaves it out, also if the controller is killed at any time in between.
func TestNextHookSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	operationsThere(t)
	moments := killMoments(t)
	w := newWorld(t)
	w.installAdmissionPolicies()
	hr := w.nextcloud()
	jobs := &createdJobs{made: map[string]map[string]bool{}, ran: map[string]map[string]bool{}}
	w.watchJobs(w.Namespace, jobs.saw)
	var undisturbed time.Duration
	for i := range len(moments) + 1 {
		w.Edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Spec.Suspend = true
			hr.Spec.Values = &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"delay":"%dms"}`, 700+i)}
		})
		began := time.Now()
		killed := make(chan error, 1)
		if i > 0 {
			go func() {
				time.Sleep(time.Duration(moments[i-1] * float64(undisturbed)))
				killed <- errors.Join(env.Controller.Kill(t.Context()), env.Controller.Start())
			}()
		}
		op := w.migrateNext(hr, fmt.Sprintf("next-%d", i))
		w.untilPhase(op, opsv1alpha1.PhaseSucceeded)
		w.Get(hr.Name, hr)
		if hr.Status.History[0].Version != i+1 {
			t.Errorf("kill %d: revision %d serves while the Operation runs", i, hr.Status.History[0].Version)
		}
		w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
		w.UntilReady(hr)
		if i == 0 {
			undisturbed = time.Since(began)
		} else {
			w.Must(<-killed)
			w.UntilReady(hr)
		}
		w.Get(hr.Name, hr)
		jobs.mu.Lock()
		helms := len(jobs.made[""])
		jobs.mu.Unlock()
		if made, ran := jobs.of(op); made != 1 || ran != 1 || helms != 0 || hr.Status.History[0].Version != i+2 {
			t.Errorf("kill %d: %d Jobs of the Operation were made, %d ran, Helm made %d, and revision %d serves", i, made, ran, helms, hr.Status.History[0].Version)
		}
		t.Logf("kill %2d: done after %.1fs", i, time.Since(began).Seconds())
	}
}
