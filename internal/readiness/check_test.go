// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parse returns the object in a manifest, nil if the manifest is empty.
func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	if manifest == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	// This is how a client reads numbers, too.
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestChecks(t *testing.T) {
	t.Parallel()
	const (
		deploymentReady = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: "True"}]}}`
		deploymentWaiting = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}}`
		deploymentStalled = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1},
  status: {observedGeneration: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`
		deploymentPaused = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 1, paused: true}, status: {observedGeneration: 1}}`
		otherPaused      = `{apiVersion: example.com/v1, kind: Rollout, metadata: {name: a, generation: 2}, spec: {paused: true}, status: {observedGeneration: 1}}`
		jobCreated       = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}}`
		jobRunning       = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", active: 1, failed: 2}}`
		jobComplete      = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {succeeded: 1, startTime: "2026-01-01T00:00:00Z", conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}}`
		jobFailed        = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", failed: 1, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}}`
		jobNotFailed     = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", active: 1, conditions: [{type: Failed, status: "False"}]}}`
		jobBroken        = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions: none}}`
		podPending       = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Pending}}`
		podRunning       = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
		podSucceeded     = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Succeeded}}`
		podFailed        = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Failed, message: evicted}}`
		podNew           = `{apiVersion: v1, kind: Pod, metadata: {name: a}}`
		podBroken        = `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: 7}}`
		custom           = `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`
		customLagging    = `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, generation: 2}, status: {observedGeneration: 1}}`
		customStalled    = `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, status: {conditions: [{type: Stalled, status: "True", message: stuck}]}}`
		configMap        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`
	)
	const (
		done    = status.CurrentStatus
		going   = status.InProgressStatus
		failed  = status.FailedStatus
		trouble = status.Status("error")
	)
	// Columns: Wait, WaitWithJobs, WatchUntilReady, WaitForDelete.
	cases := map[string]struct {
		reason   string
		manifest string
		want     [4]status.Status
	}{
		"Missing":           {"what is not there is gone, and neither ready nor done", "", [4]status.Status{going, going, going, done}},
		"ConfigMap":         {"what has no status is ready once it exists", configMap, [4]status.Status{done, done, done, going}},
		"CustomNoStatus":    {"a kind without status is ready once it exists", custom, [4]status.Status{done, done, done, going}},
		"CustomLagging":     {"a kind that observes generations must have seen this one", customLagging, [4]status.Status{going, going, done, going}},
		"CustomStalled":     {"a kind that says it is stalled will not get there", customStalled, [4]status.Status{failed, failed, done, going}},
		"DeploymentReady":   {"a Deployment that is available is ready", deploymentReady, [4]status.Status{done, done, done, going}},
		"DeploymentWaiting": {"a Deployment without ready Pods is not", deploymentWaiting, [4]status.Status{going, going, done, going}},
		"DeploymentStalled": {"a Deployment past its deadline has failed", deploymentStalled, [4]status.Status{failed, failed, done, going}},
		"DeploymentPaused":  {"a paused rollout is not waited for", deploymentPaused, [4]status.Status{done, done, done, going}},
		"OtherPaused":       {"only of Deployments is the meaning of paused known", otherPaused, [4]status.Status{going, going, done, going}},
		"JobCreated":        {"a Job that has not started is not ready", jobCreated, [4]status.Status{going, going, going, going}},
		"JobRunning":        {"a Job that runs is ready but not complete, failed Pods or not", jobRunning, [4]status.Status{done, going, going, going}},
		"JobComplete":       {"a Job that is complete is both", jobComplete, [4]status.Status{done, done, done, going}},
		"JobFailed":         {"a Job that has failed stays failed", jobFailed, [4]status.Status{failed, failed, failed, going}},
		"JobNotFailed":      {"a condition that is false says nothing", jobNotFailed, [4]status.Status{done, going, going, going}},
		"JobBroken":         {"a status of the wrong shape is an error, not a result", jobBroken, [4]status.Status{trouble, trouble, trouble, going}},
		"PodPending":        {"a Pod that is pending is neither", podPending, [4]status.Status{going, going, going, going}},
		"PodRunning":        {"a Pod that runs is ready; as a hook it has to end", podRunning, [4]status.Status{done, done, going, going}},
		"PodSucceeded":      {"a Pod that has ended is done", podSucceeded, [4]status.Status{done, done, done, going}},
		"PodFailed":         {"a Pod that has ended without success is nothing to wait for; as a hook it has failed", podFailed, [4]status.Status{done, done, failed, going}},
		"PodNew":            {"a Pod without status is neither", podNew, [4]status.Status{going, going, going, going}},
		"PodBroken":         {"a status of the wrong shape is an error, not a result", podBroken, [4]status.Status{going, going, trouble, going}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got [4]status.Status
			for i, check := range []Check{Ready, ReadyWithJobs, HookDone, Gone} {
				result, err := check(parse(t, tc.manifest))
				if err != nil {
					got[i] = trouble
					continue
				}
				got[i] = result.Status
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: Wait, WaitWithJobs, WatchUntilReady, WaitForDelete (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
