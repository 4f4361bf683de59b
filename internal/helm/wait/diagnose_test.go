// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/release"
)

func hopeless(mark string) func(release.DiagnosisRequest) *release.Diagnosis {
	return func(release.DiagnosisRequest) *release.Diagnosis {
		return &release.Diagnosis{Code: "ImageNotFound", Summary: "Deployment prod/app: ImageNotFound", Permanent: true, PermanentAfter: time.Minute, Fingerprint: mark}
	}
}

// TestExamination: the requests to the Examiner during a wait, and the early end of the wait.
func TestExamination(t *testing.T) {
	n := 0
	brief := func(q release.DiagnosisRequest) *release.Diagnosis {
		if n++; q.Brief {
			return hopeless(fmt.Sprint(n % 2))(q)
		}
		return nil
	}
	for name, tc := range map[string]struct {
		why     string
		answer  func(release.DiagnosisRequest) *release.Diagnosis
		wait    func(*client, kube.ResourceList, time.Duration) error
		patient bool
		// moves is how often the object changes, without becoming ready.
		moves time.Duration
		// readyAt is when it becomes ready.
		readyAt time.Duration
		asked   []string
		want    string
		after   time.Duration
	}{
		"goes well": {
			why: "a wait that goes well asks nothing", wait: (*client).Wait, readyAt: 19 * time.Second, after: 19 * time.Second,
		},
		"slow": {
			why:  "silence is examined, less and less often",
			wait: (*client).Wait, after: 5 * time.Minute,
			asked: []string{"whether Deployment/app", "whether Deployment/app", "whether Deployment/app", "whether Deployment/app", "whether Deployment/app", "why Deployment/app"},
			want:  "timeout waiting for",
		},
		"moving": {
			why:  "what moves is not suspected",
			wait: (*client).Wait, moves: 15 * time.Second, after: 5 * time.Minute, asked: []string{"why Deployment/app"}, want: "timeout waiting for",
		},
		"hopeless": {
			why: "what stays hopeless for a minute ends the wait", answer: hopeless("a"),
			wait: (*client).Wait, after: 80 * time.Second,
			asked: []string{"whether Deployment/app", "whether Deployment/app", "whether Deployment/app", "whether Deployment/app", "why Deployment/app"},
			want:  "Deployment prod/app: ImageNotFound: failed early, since waiting does not help: [Deployment/prod/app",
		},
		"another each time": {
			why: "something else each time is not the same", answer: brief,
			wait: (*client).Wait, after: 5 * time.Minute, want: "timeout waiting for",
		},
		"patient": {
			why: "a patient action waits until the timeout", answer: hopeless("a"), patient: true,
			wait: (*client).Wait, after: 5 * time.Minute, asked: []string{"why Deployment/app"},
			want: "Deployment prod/app: ImageNotFound: timeout waiting for",
		},
		"deletion": {
			why: "a deletion is not examined", answer: hopeless("a"),
			wait: (*client).WaitForDelete, after: 5 * time.Minute, want: "timeout waiting for: [Deployment/prod/app status: 'InProgress': still exists]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Watchable = true
			synctest.Test(t, func(t *testing.T) {
				n = 0
				see := &examiner{answer: tc.answer}
				c, list := newClient(t.Context(), t, w, lateDeployment, Options{Examiner: see, Patient: tc.patient})
				live := list[0].Object.(*unstructured.Unstructured).DeepCopy()
				w.Put(deployPath, live.Object)
				for at := tc.moves; tc.moves > 0 && at < 5*time.Minute; at += tc.moves {
					time.AfterFunc(at, func() {
						w.Change(deployPath, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"at": at.String()}) })
					})
				}
				if tc.readyAt > 0 {
					time.AfterFunc(tc.readyAt, func() {
						w.Change(deployPath, func(o *unstructured.Unstructured) {
							_ = unstructured.SetNestedField(o.Object, int64(1), "status", "readyReplicas")
							_ = unstructured.SetNestedField(o.Object, int64(1), "status", "availableReplicas")
							_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"type": "Available", "status": "True"}}, "status", "conditions")
						})
					})
				}
				begun := time.Now()
				err := tc.wait(c, list, 5*time.Minute)
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: %v, want %q", tc.why, err, tc.want)
				}
				if d := time.Since(begun); d != tc.after {
					t.Errorf("%s: ended after %s, want %s", tc.why, d, tc.after)
				}
				if tc.asked != nil || tc.want == "" {
					if !slices.Equal(see.asked, tc.asked) {
						t.Errorf("%s: asked %q, want %q", tc.why, see.asked, tc.asked)
					}
				}
				// Streams linger a little.
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestCancelledIsNotExamined: a wait that was cancelled is not examined.
func TestCancelledIsNotExamined(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		see := &examiner{}
		c, list := newClient(ctx, t, w, jobYAML, Options{Examiner: see})
		time.AfterFunc(time.Second, func() { cancel(release.ErrOutdated) })
		if err := c.WaitWithJobs(list, time.Minute); err == nil || len(see.asked) > 0 {
			t.Errorf("asked %q: %v", see.asked, err)
		}
	})
}

// TestLooksEarly: of a Job that is about to fail the log is read before its Pods
// are gone, and nothing is read twice.
func TestLooksEarly(t *testing.T) {
	for _, logs := range []int{0, 1} {
		w := newWorld(t)
		w.Watchable = true
		synctest.Test(t, func(t *testing.T) {
			see := &examiner{}
			c, list := newClient(t.Context(), t, w, jobYAML, Options{Examiner: see})
			w.Put(jobPath, list[0].Object.(*unstructured.Unstructured).DeepCopy().Object)
			see.answer = func(release.DiagnosisRequest) *release.Diagnosis {
				return &release.Diagnosis{Summary: fmt.Sprint("look ", len(see.asked)), Logs: make([]release.ContainerLog, logs)}
			}
			condition := func(kind string) func() {
				return func() {
					w.Change(jobPath, func(o *unstructured.Unstructured) {
						_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"type": "FailureTarget", "status": "True"}, map[string]any{"type": kind, "status": "True"}}, "status", "conditions")
					})
				}
			}
			time.AfterFunc(time.Second, condition("Other"))
			time.AfterFunc(2*time.Second, condition("Other"))
			time.AfterFunc(3*time.Second, condition("Failed"))
			asked, summary := []string{"why hookJob/migrate"}, "look 1"
			if logs == 0 {
				asked, summary = append(asked, "why hookJob/migrate!"), "look 2"
			}
			err := c.WatchUntilReady(list, time.Minute)
			if err == nil || !slices.Equal(see.asked, asked) || !strings.HasPrefix(err.Error(), summary+": failed early") {
				t.Errorf("asked %q: %v", see.asked, err)
			}
			time.Sleep(time.Minute)
		})
	}
}

const lateDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, generation: 1}\nspec: {replicas: 1}\nstatus: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}\n"

const deployPath = "/apis/apps/v1/namespaces/prod/deployments/app"
