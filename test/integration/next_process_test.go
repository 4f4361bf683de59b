// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// applyAndDieIf starts a controller that dies as soon as it has applied the ConfigMap of release app
// with a message under a condition. It returns a function that waits for that.
func (w *world) applyAndDieIf(message string, when func() bool) (died func(hr *helmv2.HelmRelease)) {
	w.t.Helper()
	var armed, dead atomic.Bool
	armed.Store(true)
	stop, err := startController(config{name: w.namespace, wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if dead.Load() {
				return nil, errors.New("the process is dead")
			}
			applies := req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/configmaps/app") && req.URL.Query().Get("dryRun") == ""
			resp, err := next.RoundTrip(req)
			if applies && err == nil && when() && w.message("app") == message && armed.Swap(false) {
				dead.Store(true)
			}
			return resp, err
		})
	}})
	w.must(err)
	return func(hr *helmv2.HelmRelease) {
		w.t.Helper()
		untilTrue(w, "the process to die", dead.Load)
		_ = stop()
		w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(hr), hr))
	}
}

// interruptibleChart is configMapChart with a hook before and after each install and upgrade. With value
// broken, it has another hook, which never ends.
func interruptibleChart(t *testing.T) []byte {
	t.Helper()
	const hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-WHEN\n  annotations: {helm.sh/hook: \"WHEN-install,WHEN-upgrade\"}\n"
	return pack(t, "note", "1.0.0", map[string]string{
		"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n",
		"templates/pre.yaml":  strings.ReplaceAll(hook, "WHEN", "pre"),
		"templates/post.yaml": strings.ReplaceAll(hook, "WHEN", "post"),
		"templates/job.yaml": "{{ if .Values.broken }}\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}\n  annotations: {helm.sh/hook: pre-upgrade}\n" +
			"spec:\n  template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}\n{{ end }}\n",
	})
}
