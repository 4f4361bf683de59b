// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// witness is an Examiner that answers what it is told to, and writes down what it
// was asked.
type witness struct {
	answer func(q release.DiagnosisRequest) *release.Diagnosis
	world  *world

	mu    sync.Mutex
	asked []string
	// secrets are those of the last question.
	secrets []string
	writes  []int
}

func (w *witness) Examine(_ context.Context, q release.DiagnosisRequest) *release.Diagnosis {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := "why"
	if q.Brief {
		text = "whether"
	}
	for _, s := range q.Objects {
		text += fmt.Sprintf(" %s%s/%s", s.Role, s.Object.Kind, s.Object.Name)
		if s.Failed {
			text += "!"
		}
		if s.HideLogs {
			text += "?"
		}
	}
	w.asked, w.secrets = append(w.asked, text), q.Secrets
	if w.world != nil {
		w.writes = append(w.writes, len(w.world.requests))
	}
	if w.answer == nil {
		return nil
	}
	return w.answer(q)
}

func (w *witness) Refused(s release.UnreadyObject, _ []string) *release.Diagnosis {
	w.asked = append(w.asked, "refused "+s.Object.Kind+"/"+s.Object.Name)
	return &release.Diagnosis{Code: "Forbidden", Object: s.Object, Summary: "it may not be"}
}

func (w *witness) HookLogs(_ context.Context, namespace string, o metav1.ListOptions, _ []string) ([]release.ContainerLog, error) {
	w.asked = append(w.asked, "log "+namespace+" "+o.LabelSelector+o.FieldSelector)
	return []release.ContainerLog{{Pod: "p", Container: "c", Text: "done, it is hunter2"}}, nil
}

func hopeless(mark string) func(release.DiagnosisRequest) *release.Diagnosis {
	return func(release.DiagnosisRequest) *release.Diagnosis {
		return &release.Diagnosis{Code: "ImageNotFound", Summary: "Deployment prod/app: ImageNotFound", Permanent: true, PermanentAfter: time.Minute, Fingerprint: mark}
	}
}

const lateDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, generation: 1}\nspec: {replicas: 1}\nstatus: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}\n"

const deployPath = "/apis/apps/v1/namespaces/prod/deployments/app"

// TestSuspicion: what a wait asks, and when it ends.
func TestSuspicion(t *testing.T) {
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
			why:  "silence is a ground for suspicion, less and less often",
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
			why: "somebody may want to wait on", answer: hopeless("a"), patient: true,
			wait: (*client).Wait, after: 5 * time.Minute, asked: []string{"why Deployment/app"},
			want: "Deployment prod/app: ImageNotFound: timeout waiting for",
		},
		"deletion": {
			why: "nobody asks why something is still there", answer: hopeless("a"),
			wait: (*client).WaitForDelete, after: 5 * time.Minute, want: "timeout waiting for: [Deployment/prod/app status: 'InProgress': still exists]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.watchable = true
			synctest.Test(t, func(t *testing.T) {
				n = 0
				see := &witness{answer: tc.answer}
				c, list := patient(t.Context(), t, w, nil, lateDeployment)
				live := list[0].Object.(*unstructured.Unstructured).DeepCopy()
				w.put(deployPath, live.Object)
				j := job(release.Install{}, chart.Artifact{}, "1.0.0", nil)
				j.Examiner, j.Patient = see, tc.patient
				c.inquest = newInquest(j, time.Now)
				for at := tc.moves; tc.moves > 0 && at < 5*time.Minute; at += tc.moves {
					time.AfterFunc(at, func() {
						w.change(deployPath, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"at": at.String()}) })
					})
				}
				if tc.readyAt > 0 {
					time.AfterFunc(tc.readyAt, func() {
						w.change(deployPath, func(o *unstructured.Unstructured) {
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

// TestHookIsExamined: why a hook failed is asked before it is deleted, with what is
// secret in the release, and the answer is in the outcome and in the record.
func TestHookIsExamined(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: access\ndata:\n  a: " + base64.StdEncoding.EncodeToString([]byte("in-data")) + "\nstringData:\n  b: in-string-data\n"
	for name, tc := range map[string]struct {
		why    string
		policy string
		asked  string
	}{
		"plain":     {"a hook is asked about", "", "why hookJob/migrate!"},
		"succeeded": {"a chart may want other logs only", ", helm.sh/hook-output-log-policy: hook-succeeded", "why hookJob/migrate!?"},
		"failed":    {"or these", ", helm.sh/hook-output-log-policy: 'hook-succeeded,hook-failed'", "why hookJob/migrate!"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			files := note()
			files["templates/secret.yaml"] = secret
			files["templates/hook.yaml"] = hookJob + "pre-install, helm.sh/hook-delete-policy: hook-failed" + tc.policy + "}\n"
			w.reacted = finished(false)
			see := &witness{world: w, answer: func(release.DiagnosisRequest) *release.Diagnosis {
				return &release.Diagnosis{Code: "ContainerFailed", Summary: "Hook prod/migrate (Job): ContainerFailed: hunter2", Logs: []release.ContainerLog{{Text: "hunter2"}}}
			}}
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", map[string]any{"message": "one"})
			j.Examiner, j.Secrets = see, []string{"hunter2"}
			out := w.runner.Run(t.Context(), w.conn, j)
			if !slices.Equal(see.asked, []string{tc.asked}) {
				t.Errorf("%s: asked %q, want %q", tc.why, see.asked, tc.asked)
			}
			for _, want := range []string{"hunter2", "in-data", "in-string-data"} {
				if !slices.Contains(see.secrets, want) {
					t.Errorf("%s is not among the secrets %q", want, see.secrets)
				}
			}
			i := slices.Index(w.requests, "DELETE "+jobPath)
			if i < 0 || len(see.writes) == 0 || see.writes[0] > i {
				t.Errorf("asked after %v writes of %q", see.writes, w.requests)
			}
			const summary = "Hook prod/migrate (Job): ContainerFailed: ***"
			if d := out.Diagnosis; d == nil || d.Summary != summary || d.Logs[0].Text != "***" || !strings.Contains(out.Err.Error(), summary+": failed early") {
				t.Errorf("%+v: %v", out.Diagnosis, out.Err)
			}
			if said := w.stored()[0].Info.Description; !strings.Contains(said, summary) {
				t.Errorf("stored: %s", said)
			}
		})
	}
}

// TestHookLogs: those of a hook that succeeded are read if its chart wants it.
func TestHookLogs(t *testing.T) {
	for policy, asked := range map[string][]string{
		"hook-succeeded": {"log prod job-name=migrate"}, "hook-failed": nil,
	} {
		w := newWorld(t)
		files := note()
		files["templates/hook.yaml"] = hookJob + "post-install, helm.sh/hook-output-log-policy: " + policy + "}\n"
		w.reacted = finished(true)
		see := &witness{}
		j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", map[string]any{"message": "one"})
		j.Examiner, j.Secrets = see, []string{"hunter2"}
		out := w.runner.Run(t.Context(), w.conn, j)
		if out.Err != nil || !slices.Equal(see.asked, asked) || len(out.HookLogs) != len(asked) || out.Diagnosis != nil {
			t.Errorf("%s: asked %q, %+v", policy, see.asked, out)
		}
		for _, l := range out.HookLogs {
			if l.Text != "done, it is ***" {
				t.Errorf("%+v", l)
			}
		}
	}
}

// TestTestIsExamined: so is a test that fails, by its name.
func TestTestIsExamined(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/test.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: probe\n  annotations: {helm.sh/hook: test}\n"
	files["templates/secret.yaml"] = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: access\nstringData:\n  b: in-string-data\n"
	install(t, w, w.chart("1.0.0", files), "one")
	w.reacted = finished(false)
	see := &witness{}
	j := job(release.Test{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil)
	j.Examiner = see
	out := w.runner.Run(t.Context(), w.conn, j)
	if out.Err == nil || !slices.Equal(see.asked, []string{"why testPod/probe!"}) || !slices.Contains(see.secrets, "in-string-data") {
		t.Errorf("asked %q, secrets %q: %v", see.asked, see.secrets, out.Err)
	}
}

// TestRefusalIsExamined: that an object is refused is no matter of waiting.
func TestRefusalIsExamined(t *testing.T) {
	w := newWorld(t)
	w.refuse = func(method, path string) int {
		if method == "PATCH" && path == onePath || method == "POST" && strings.HasSuffix(path, "/configmaps") {
			return 403
		}
		return 0
	}
	see := &witness{}
	files := note()
	files["templates/one.yaml"] = oneYAML
	j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", map[string]any{"message": "one"})
	j.Examiner = see
	out := w.runner.Run(t.Context(), w.conn, j)
	if out.Err == nil || out.Diagnosis == nil || out.Diagnosis.Code != "Forbidden" || len(see.asked) != 1 {
		t.Errorf("asked %q, %+v: %v", see.asked, out.Diagnosis, out.Err)
	}
}

// TestCutOffIsNotExamined: nobody asks why a wait failed that was ended on purpose.
func TestCutOffIsNotExamined(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c, list := patient(ctx, t, w, nil, jobYAML)
		see := &witness{}
		j := job(release.Install{}, chart.Artifact{}, "1.0.0", nil)
		j.Examiner = see
		c.inquest = newInquest(j, time.Now)
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
		w.watchable = true
		synctest.Test(t, func(t *testing.T) {
			c, list := patient(t.Context(), t, w, nil, jobYAML)
			w.put(jobPath, list[0].Object.(*unstructured.Unstructured).DeepCopy().Object)
			see := &witness{}
			see.answer = func(release.DiagnosisRequest) *release.Diagnosis {
				return &release.Diagnosis{Summary: fmt.Sprint("look ", len(see.asked)), Logs: make([]release.ContainerLog, logs)}
			}
			j := job(release.Install{}, chart.Artifact{}, "1.0.0", nil)
			j.Examiner = see
			c.inquest = newInquest(j, time.Now)
			condition := func(kind string) func() {
				return func() {
					w.change(jobPath, func(o *unstructured.Unstructured) {
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
