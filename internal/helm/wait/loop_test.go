// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"

	"github.com/pintle-dev/pintle/test/apitest"
)

func TestWait(t *testing.T) {
	const failedJob = `{startTime: "2026-01-01T00:00:00Z", conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}`
	type waiting func(*client, kube.ResourceList, time.Duration) error
	cases := map[string]struct {
		reason    string
		wait      waiting
		manifests string
		objects   map[string]string
		refuse    func(method, path string) int
		// want is the error; after is when it comes.
		want  string
		after time.Duration
	}{
		"Nothing": {
			reason: "nothing to wait for is ready", wait: (*client).Wait,
		},
		"Ready": {
			reason: "what is ready at the first look costs no time", wait: (*client).Wait,
			manifests: oneYAML, objects: map[string]string{onePath: oneYAML},
		},
		"Timeout": {
			reason: "the message names what was waited for, and nothing else", wait: (*client).WaitWithJobs,
			manifests: bothYAML, objects: map[string]string{onePath: oneYAML, jobPath: jobYAML},
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': Job has not completed]", after: time.Minute,
		},
		"Missing": {
			reason: "what does not exist is not ready", wait: (*client).Wait, manifests: oneYAML,
			want: "timeout waiting for: [ConfigMap/prod/one status: 'InProgress': not found]", after: time.Minute,
		},
		"Unreadable": {
			reason: "a failed read is no result; the error is returned at the end", wait: (*client).Wait, manifests: oneYAML,
			refuse: func(method, path string) int {
				if method == http.MethodGet && path == onePath {
					return http.StatusForbidden
				}
				return 0
			},
			want: "timeout waiting for: [ConfigMap/prod/one: refused by the test]", after: time.Minute,
		},
		"FailFast": {
			reason: "what will never be ready ends the wait", wait: (*client).WaitWithJobs,
			manifests: bothYAML, objects: map[string]string{jobPath: jobYAML + "status: " + failedJob},
			want: "failed early due to stalled resources: [Job/prod/migrate status: 'Failed': BackoffLimitExceeded: too often]",
		},
		"HookFailed": {
			reason: "a hook's Job that has failed will not try again", wait: (*client).WatchUntilReady,
			manifests: jobYAML, objects: map[string]string{jobPath: jobYAML + "status: " + failedJob},
			want: "failed early due to stalled resources: [Job/prod/migrate status: 'Failed': BackoffLimitExceeded: too often]",
		},
		"HookRetrying": {
			reason: "a hook's Job whose Pods fail gets all its time", wait: (*client).WatchUntilReady,
			manifests: jobYAML, objects: map[string]string{jobPath: jobYAML + "status: {failed: 3, active: 1}"},
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': Job has not completed]", after: time.Minute,
		},
		"Vanished": {
			reason: "a Job that the cluster removes once it has ended may be gone before the first read", wait: (*client).WaitWithJobs,
			manifests: jobYAML + "spec: {ttlSecondsAfterFinished: 0}\n",
		},
		"VanishedHook": {
			reason: "a hook may vanish just so", wait: (*client).WatchUntilReady,
			manifests: jobYAML + "spec: {ttlSecondsAfterFinished: 0}\n",
		},
		"Lost": {
			reason: "a Job that the cluster keeps is missing", wait: (*client).WaitWithJobs, manifests: jobYAML,
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': not found]", after: time.Minute,
		},
		"UnusedClaim": {
			reason: "no Pod needs the claim, as that of a CronJob", wait: (*client).Wait,
			manifests: claimYAML, objects: map[string]string{claimPath: claimYAML, latePath: lateYAML},
		},
		"UnusedClaimWithJobs": {
			reason: "no Pod needs the claim", wait: (*client).WaitWithJobs,
			manifests: claimYAML, objects: map[string]string{claimPath: claimYAML, latePath: lateYAML},
		},
		"LostClaim": {
			reason: "its volume is gone", wait: (*client).Wait,
			manifests: claimYAML, objects: map[string]string{claimPath: strings.Replace(claimYAML, "Pending", "Lost", 1), latePath: lateYAML},
			want: "timeout waiting for: [PersistentVolumeClaim/prod/data status: 'InProgress': PVC is not Bound. phase: Lost]", after: time.Minute,
		},
		"UsedClaim": {
			reason: "its Pod has a node", wait: (*client).WaitWithJobs,
			manifests: claimYAML, objects: map[string]string{claimPath: strings.Replace(claimYAML, "name: data", "name: data, annotations: {volume.kubernetes.io/selected-node: one}", 1), latePath: lateYAML},
			want: "timeout waiting for: [PersistentVolumeClaim/prod/data status: 'InProgress': PVC is not Bound. phase: Pending]", after: time.Minute,
		},
		"ImmediateClaim": {
			reason: "a volume is bound at once", wait: (*client).Wait,
			manifests: claimYAML, objects: map[string]string{claimPath: claimYAML, latePath: strings.Replace(lateYAML, "WaitForFirstConsumer", "Immediate", 1)},
			want: "timeout waiting for: [PersistentVolumeClaim/prod/data status: 'InProgress': PVC is not Bound. phase: Pending]", after: time.Minute,
		},
		"ClaimOfUnknownClass": {
			reason: "the class may not be read", wait: (*client).Wait,
			manifests: claimYAML, objects: map[string]string{claimPath: claimYAML, latePath: lateYAML},
			refuse: func(_, path string) int {
				if path == latePath {
					return http.StatusForbidden
				}
				return 0
			},
			want: "timeout waiting for: [PersistentVolumeClaim/prod/data status: 'InProgress': PVC is not Bound. phase: Pending]", after: time.Minute,
		},
		"Deleted": {
			reason: "what does not exist has been deleted", wait: (*client).WaitForDelete, manifests: bothYAML,
		},
		"NotDeleted": {
			reason: "what is still there has not", wait: (*client).WaitForDelete,
			manifests: bothYAML, objects: map[string]string{jobPath: jobYAML + "status: " + failedJob},
			want: "timeout waiting for: [Job/prod/migrate status: 'InProgress': still exists]", after: time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Offered = map[string][]string{
				"v1":                {apitest.Entry("configmaps", "ConfigMap"), apitest.Entry("persistentvolumeclaims", "PersistentVolumeClaim")},
				"storage.k8s.io/v1": {apitest.ClusterEntry("storageclasses", "StorageClass")},
			}
			for path, manifest := range tc.objects {
				w.Put(path, apitest.Parse(t, manifest).Object)
			}
			synctest.Test(t, func(t *testing.T) {
				c, list := patient(t.Context(), t, w, nil, tc.manifests)
				w.Refuse = tc.refuse
				begun := time.Now()
				var got string
				if err := tc.wait(c, list, time.Minute); err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if d := time.Since(begun); d != tc.after {
					t.Errorf("%s: ended after %s, want %s", tc.reason, d, tc.after)
				}
			})
		})
	}
}

// TestWaitGoesOn: each object has to be ready once, and a ready object is not read again. The slot
// is released while the wait blocks.
func TestWaitGoesOn(t *testing.T) {
	w := newWorld(t)
	w.Put(onePath, apitest.Parse(t, oneYAML).Object)
	w.Put(jobPath, apitest.Parse(t, jobYAML).Object)
	synctest.Test(t, func(t *testing.T) {
		var idled, resumed atomic.Int32
		c, list := patient(t.Context(), t, w, func() func() { idled.Add(1); return func() { resumed.Add(1) } }, bothYAML)
		done := make(chan error, 1)
		go func() { done <- c.WaitWithJobs(list, time.Hour) }()
		time.Sleep(time.Minute + time.Millisecond)
		if idled.Load() != 1 || resumed.Load() != 0 {
			t.Errorf("idle %d times, resumed %d times during the wait", idled.Load(), resumed.Load())
		}
		w.Mu.Lock()
		delete(w.Objects, onePath)
		w.Objects[jobPath] = withStatus(t, jobYAML, `{conditions: [{type: Complete, status: "True"}]}`)
		w.Mu.Unlock()
		begun := time.Now()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d > 2*time.Second {
			t.Errorf("noticed after %s", d)
		}
		if idled.Load() != 1 || resumed.Load() != 1 {
			t.Errorf("idle %d times, resumed %d times", idled.Load(), resumed.Load())
		}
		if len(list) != 2 || list[0] == nil || list[1] == nil {
			t.Errorf("the caller's list was changed: %v", list)
		}
	})
}

func TestWaitIsCancelled(t *testing.T) {
	w := newWorld(t)
	for name, wait := range map[string]func(*client, kube.ResourceList, time.Duration) error{
		"Wait": (*client).Wait, "WaitWithJobs": (*client).WaitWithJobs, "WatchUntilReady": (*client).WatchUntilReady,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				c, list := patient(ctx, t, w, nil, jobYAML)
				done := make(chan error, 1)
				go func() { done <- wait(c, list, time.Hour) }()
				synctest.Wait()
				begun := time.Now()
				cancel()
				if err := <-done; !errors.Is(err, ErrCancelled) || time.Since(begun) != 0 {
					t.Errorf("%v after %s", err, time.Since(begun))
				}
			})
		})
	}
}

func TestPollInterval(t *testing.T) {
	t.Parallel()
	for elapsed, want := range map[time.Duration]time.Duration{
		0:                100 * time.Millisecond,
		time.Second:      100 * time.Millisecond,
		5 * time.Second:  500 * time.Millisecond,
		20 * time.Second: 2 * time.Second,
		time.Hour:        2 * time.Second,
	} {
		if got := PollInterval(elapsed); got != want {
			t.Errorf("after %s: every %s, want %s", elapsed, got, want)
		}
	}
}
