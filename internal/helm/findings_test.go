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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/internal/release"
)

// fakeExaminer is an Examiner that returns a given answer and stores the requests.
type fakeExaminer struct {
	answer func(q release.DiagnosisRequest) *release.Diagnosis
	world  *world

	mu    sync.Mutex
	asked []string
	// secrets are those of the last request.
	secrets []string
	writes  []int
}

func (w *fakeExaminer) Examine(_ context.Context, q release.DiagnosisRequest) *release.Diagnosis {
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
		w.writes = append(w.writes, len(w.world.Requests))
	}
	if w.answer == nil {
		return nil
	}
	return w.answer(q)
}

func (w *fakeExaminer) Refused(s release.UnreadyObject, _ string, _ []string) *release.Diagnosis {
	w.asked = append(w.asked, "refused "+s.Object.Kind+"/"+s.Object.Name)
	return &release.Diagnosis{Code: "Forbidden", Object: s.Object, Summary: "it may not be"}
}

func (w *fakeExaminer) HookLogs(_ context.Context, namespace string, o metav1.ListOptions, _ []string) ([]release.ContainerLog, error) {
	w.asked = append(w.asked, "log "+namespace+" "+o.LabelSelector+o.FieldSelector)
	return []release.ContainerLog{{Pod: "p", Container: "c", Text: "done, it is hunter2"}}, nil
}

// TestHookIsExamined: the cause of a failed hook is examined before the hook is deleted. The
// request has the secrets of the release, and the answer is in the outcome and in the record.
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
			w.Created = finished(false)
			see := &fakeExaminer{world: w, answer: func(release.DiagnosisRequest) *release.Diagnosis {
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
			i := slices.Index(w.Requests, "DELETE "+jobPath)
			if i < 0 || len(see.writes) == 0 || see.writes[0] > i {
				t.Errorf("asked after %v writes of %q", see.writes, w.Requests)
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

// TestHookLogs: the logs of a successful hook are read if its chart asks for that.
func TestHookLogs(t *testing.T) {
	for policy, asked := range map[string][]string{
		"hook-succeeded": {"log prod job-name=migrate"}, "hook-failed": nil,
	} {
		w := newWorld(t)
		files := note()
		files["templates/hook.yaml"] = hookJob + "post-install, helm.sh/hook-output-log-policy: " + policy + "}\n"
		w.Created = finished(true)
		see := &fakeExaminer{}
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

// TestTestIsExamined: a failed test is examined, and its name is in the error.
func TestTestIsExamined(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/test.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: probe\n  annotations: {helm.sh/hook: test}\n"
	files["templates/secret.yaml"] = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: access\nstringData:\n  b: in-string-data\n"
	install(t, w, w.chart("1.0.0", files), "one")
	w.Created = finished(false)
	see := &fakeExaminer{}
	j := job(release.Test{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil)
	j.Examiner = see
	out := w.runner.Run(t.Context(), w.conn, j)
	if out.Err == nil || !slices.Equal(see.asked, []string{"why testPod/probe!"}) || !slices.Contains(see.secrets, "in-string-data") {
		t.Errorf("asked %q, secrets %q: %v", see.asked, see.secrets, out.Err)
	}
}

// TestRefusalIsExamined: a refused object is examined without a wait.
func TestRefusalIsExamined(t *testing.T) {
	w := newWorld(t)
	w.Refuse = func(method, path string) int {
		if method == "PATCH" && path == onePath || method == "POST" && strings.HasSuffix(path, "/configmaps") {
			return 403
		}
		return 0
	}
	see := &fakeExaminer{}
	files := note()
	files["templates/one.yaml"] = oneYAML
	j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", map[string]any{"message": "one"})
	j.Examiner = see
	out := w.runner.Run(t.Context(), w.conn, j)
	if out.Err == nil || out.Diagnosis == nil || out.Diagnosis.Code != "Forbidden" || len(see.asked) != 1 {
		t.Errorf("asked %q, %+v: %v", see.asked, out.Diagnosis, out.Err)
	}
}
