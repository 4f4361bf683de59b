// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// faults are failures of one request that a retry resolves.
var faults = map[string]func(next http.RoundTripper, req *http.Request) (*http.Response, error){
	"500": func(_ http.RoundTripper, req *http.Request) (*http.Response, error) {
		return statusAnswer(req, http.StatusInternalServerError, "InternalError"), nil
	},
	"reset": func(http.RoundTripper, *http.Request) (*http.Response, error) { return nil, syscall.ECONNRESET },
	"lost": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, io.ErrUnexpectedEOF
	},
	"500 after": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return statusAnswer(req, http.StatusInternalServerError, "InternalError"), nil
	},
	"conflict": func(next http.RoundTripper, req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet {
			return next.RoundTrip(req)
		}
		return statusAnswer(req, http.StatusConflict, "Conflict"), nil
	},
}

func statusAnswer(req *http.Request, code int, reason string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"injected","code":%d}`, reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// faulty is a transport that fails the request of a number, once, and counts the hooks
// that were created.
type faulty struct {
	next http.RoundTripper

	mu    sync.Mutex
	at    int
	fault func(next http.RoundTripper, req *http.Request) (*http.Response, error)
	sent  int
	hooks int
	// log are the sent requests.
	log []string
}

func (f *faulty) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") != "" || strings.HasSuffix(req.URL.Path, "/version") || strings.HasSuffix(req.URL.Path, "/readyz") || strings.Count(req.URL.Path, "/") < 4 {
		return f.next.RoundTrip(req)
	}
	f.mu.Lock()
	f.sent++
	hit := f.sent == f.at
	f.log = append(f.log, req.Method+" "+req.URL.Path)
	f.mu.Unlock()
	count := transport(func(req *http.Request) (*http.Response, error) {
		resp, err := f.next.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusCreated && req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/configmaps") && req.URL.Query().Get("dryRun") == "" {
			f.mu.Lock()
			f.hooks++
			f.mu.Unlock()
		}
		return resp, err
	})
	if hit {
		return f.fault(count, req)
	}
	return count.RoundTrip(req)
}

// begin resets the counters. The request with the given number will fail; zero fails none.
func (f *faulty) begin(at int, fault func(next http.RoundTripper, req *http.Request) (*http.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.fault, f.sent, f.hooks, f.log = at, fault, 0, 0, nil
}

const hookTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-%[1]s
  annotations: {helm.sh/hook: "%[1]s-install,%[1]s-upgrade,%[1]s-rollback,%[1]s-delete", helm.sh/hook-delete-policy: "%[2]s"}
`

// TestOneFault: if any single request of an action fails, the action succeeds, creates one
// revision, and runs each hook once.
func TestOneFault(t *testing.T) {
	t.Parallel()
	archive := pack(t, "note", "1.0.0", map[string]string{
		"templates/app.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {v: {{ .Values.v | quote }}}\n",
		"templates/pre.yaml":  fmt.Sprintf(hookTemplate, "pre", "before-hook-creation"),
		"templates/post.yaml": fmt.Sprintf(hookTemplate, "post", "hook-succeeded"),
	})
	for name, disabled := range map[string]bool{"ServerSide": false, "ClientSide": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			spec := helmv2.HelmReleaseSpec{}
			if disabled {
				no := false
				spec.Install = &helmv2.Install{ServerSideApply: &no}
			}
			requests := faultAll(t, b, archive, spec, 0, "", "plain")
			var group errgroup.Group
			group.SetLimit(4)
			step := 1
			if testing.Short() {
				step = 7
			}
			for fault := range faults {
				if fault != "lost" && (disabled || testing.Short()) {
					// The kinds of failures are tested with server-side apply.
					continue
				}
				for i := 0; i < requests; i += step {
					group.Go(func() error {
						faultAll(t, b, archive, spec, i+1, fault, fmt.Sprintf("%s-%d", strings.ReplaceAll(fault, " ", "-"), i+1))
						return nil
					})
				}
			}
			_ = group.Wait()
		})
	}
}

// faultAll installs, upgrades, rolls back and uninstalls a release; the request of the
// given number fails in each. It returns how many requests the longest action sent.
func faultAll(t *testing.T, b *bench, archive []byte, spec helmv2.HelmReleaseSpec, at int, fault, name string) (most int) {
	t.Helper()
	f := &faulty{}
	config := rest.CopyConfig(suite.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { f.next = next; return f })
	conn, err := cluster.Connect(config)
	if err != nil {
		t.Error(err)
		return 0
	}
	one := &bench{world: b.world, conn: conn, runner: b.runner, name: "r-" + name}
	steps := []struct {
		action   release.HelmAction
		revision int
		status   helmv2.ReleaseStatus
	}{
		{install, 1, helmv2.StatusDeployed},
		{upgrade, 2, helmv2.StatusDeployed},
		{release.Rollback{Timeout: install.Timeout, Version: 1}, 3, helmv2.StatusDeployed},
		{release.Uninstall{Timeout: install.Timeout, Target: release.Target{Name: one.name, Namespace: b.namespace, StorageNamespace: b.namespace}}, 0, ""},
	}
	for i, s := range steps {
		f.begin(at, faults[fault])
		out := one.run(s.action, archive, values("v", fmt.Sprint(i)), spec)
		f.mu.Lock()
		what := fmt.Sprintf("%s, request %d, %s", release.Name(s.action), at, fault)
		if at > 0 && at <= len(f.log) {
			what += " on " + f.log[at-1]
		}
		hooks, log := f.hooks, strings.Join(f.log, "\n")
		most = max(most, f.sent)
		f.mu.Unlock()
		if out.Err != nil {
			t.Errorf("%s: %v\n%s", what, out.Err, log)
			continue
		}
		if s.revision > 0 && (len(out.Revisions) == 0 || out.Revisions[0].Version != s.revision || out.Revisions[0].Status != s.status) {
			t.Errorf("%s: the revisions are %+v", what, out.Revisions)
		}
		// A client-side install creates its objects the same way.
		want := 2
		if _, ok := s.action.(release.Install); ok && spec.Install != nil {
			want = 3
		}
		if hooks != want {
			t.Errorf("%s: %d hooks were created, want %d\n%s", what, hooks, want, log)
		}
	}
	if left := b.stored(one.name); len(left) > 0 {
		t.Errorf("request %d, %s: %d records are left", at, fault, len(left))
	}
	return most
}
