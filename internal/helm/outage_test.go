// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

const hookMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  %s\n  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-failed}\n"

func withHook(name string) map[string]string {
	files := note()
	files["templates/hook.yaml"] = strings.Replace(hookMap, "%s", name, 1)
	return files
}

// losing makes the connection lose the first answer to requests of a method to a path that
// ends in suffix.
func (w *world) losing(method, suffix string) {
	w.t.Helper()
	lost := false
	config := *w.Config()
	config.Transport = transportFunc(func(req *http.Request) (*http.Response, error) {
		resp, err := w.RoundTrip(req)
		if req.Method == method && strings.HasSuffix(req.URL.Path, suffix) && req.URL.Query().Get("dryRun") == "" && !lost {
			lost = true
			return nil, io.ErrUnexpectedEOF
		}
		return resp, err
	})
	var err error
	if w.conn, err = cluster.Connect(&config); err != nil {
		w.t.Fatal(err)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestHooksNameTheirAttempt: the annotation is on the object and not in what is stored.
func TestHooksNameTheirAttempt(t *testing.T) {
	for name, metadata := range map[string]string{"Named": "name: hook", "Generated": "generateName: hook-"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.losing(http.MethodPost, "/configmaps")
				out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", withHook(metadata)), "1.0.0", nil))
				if out.Err != nil {
					t.Fatal(out.Err)
				}
				hooks := 0
				for path := range w.Objects {
					if !strings.Contains(path, "/configmaps/hook") {
						continue
					}
					hooks++
					if got := w.Object(path).GetAnnotations()[helmv2.AnnotationAttempt]; !strings.HasPrefix(got, "uid-1.1.") {
						t.Errorf("the attempt is %q", got)
					}
				}
				if hooks != 1 {
					t.Errorf("%d hooks were created", hooks)
				}
				if stored := w.stored()[0]; strings.Contains(stored.Hooks[0].Manifest, helmv2.AnnotationAttempt) {
					t.Errorf("the stored manifest was changed:\n%s", stored.Hooks[0].Manifest)
				}
			})
		})
	}
}

// TestUnrecordedResult: an install whose last update is refused has not succeeded.
func TestUnrecordedResult(t *testing.T) {
	w := newWorld(t)
	w.Refuse = func(method, path string) int {
		if method == http.MethodPut && strings.Contains(path, "/secrets/") {
			return http.StatusForbidden
		}
		return 0
	}
	out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", note()), "1.0.0", nil))
	if out.Err == nil || !strings.Contains(out.Err.Error(), "the result could not be recorded") {
		t.Errorf("the error is %v", out.Err)
	}
	if len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusPendingInstall || out.Interrupted != nil {
		t.Errorf("revisions %+v, interrupted %v", out.Revisions, out.Interrupted)
	}
}

// TestOutageInterrupts: an action that waits for the API server in vain is interrupted.
func TestOutageInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		begun := time.Time{}
		w.Refuse = func(method, _ string) int {
			if begun.IsZero() && method == http.MethodPatch {
				begun = time.Now()
			}
			if !begun.IsZero() {
				return http.StatusServiceUnavailable
			}
			return 0
		}
		out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Hour}, w.chart("1.0.0", note()), "1.0.0", nil))
		if out.Err == nil || out.Interrupted == nil || out.Interrupted.Server != "the API server at http://cluster" || !out.Interrupted.Since.Equal(begun) {
			t.Errorf("%v, %+v", out.Err, out.Interrupted)
		}
		if took := time.Since(begun); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
		if len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusPendingInstall {
			t.Errorf("revisions %+v", out.Revisions)
		}
	})
}

// TestOutageOfLookup: an action is interrupted if the API server does not answer a lookup, even if
// the rendering takes longer than the timeout of the action because of that.
func TestOutageOfLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		files := note()
		files["templates/cm.yaml"] = "# {{ lookup \"v1\" \"Secret\" \"prod\" \"other\" }}\n" + files["templates/cm.yaml"]
		away := false
		w.Refuse = func(_, path string) int {
			if away = away || strings.HasSuffix(path, "/secrets/other"); away {
				return http.StatusServiceUnavailable
			}
			return 0
		}
		out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: 10 * time.Second}, w.chart("1.0.0", files), "1.0.0", nil))
		if out.Err == nil || out.Interrupted == nil || out.Interrupted.Server != "the API server at http://cluster" || len(out.Revisions) > 0 {
			t.Errorf("%v, %+v", out.Err, out.Interrupted)
		}
	})
}

// TestOutageLeavesPending: a revision stays pending after an outage, even if the API server stores
// records again before the action has ended.
func TestOutageLeavesPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		down := false
		w.Refuse = func(method, path string) int {
			down = down || method == http.MethodPatch && path == configMapPath
			if down && (method == http.MethodPatch || path == "/readyz") {
				return http.StatusGatewayTimeout
			}
			return 0
		}
		artifact := w.chart("1.0.0", note())
		out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Hour}, artifact, "1.0.0", nil))
		if out.Interrupted == nil || len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusPendingInstall {
			t.Errorf("%v, %+v, revisions %+v", out.Err, out.Interrupted, out.Revisions)
		}
		if all := w.history(); len(all) != 1 || !all[0].Pending() {
			t.Errorf("stored are %+v", all)
		}
	})
}

// TestLastingErrorFails: an action fails if one of its requests always gets the same error while
// the server answers others.
func TestLastingErrorFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Refuse = func(method, path string) int {
			if method == http.MethodPatch && path == configMapPath {
				return http.StatusInternalServerError
			}
			return 0
		}
		began := time.Now()
		out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Hour}, w.chart("1.0.0", note()), "1.0.0", nil))
		if out.Err == nil || out.Interrupted != nil || len(out.Revisions) != 1 || out.Revisions[0].Status != helmv2.StatusFailed || out.Revisions[0].Interrupted {
			t.Errorf("%v, %+v, revisions %+v", out.Err, out.Interrupted, out.Revisions)
		}
		if took := time.Since(began); took < apiretry.Budget {
			t.Errorf("it fails after %s", took)
		}
	})
}

// TestDeletedMeanwhile: the answer to the deletion of a record may be lost.
func TestDeletedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		artifact := w.chart("1.0.0", note())
		for i, a := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
			if out := w.runner.Run(t.Context(), w.conn, job(a, artifact, "1.0.0", map[string]any{"message": string(rune('a' + i))})); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		w.losing(http.MethodDelete, ".v1")
		out := w.runner.Run(t.Context(), w.conn, job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil))
		if out.Err != nil || len(w.stored()) > 0 {
			t.Errorf("%v, and %d revisions are left", out.Err, len(w.stored()))
		}
	})
}
