// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// hookedChart has a ConfigMap that renders differently each time, and Jobs as hooks of all delete
// policies. Job both runs twice in each action, and one has a generated name.
func hookedChart() map[string]string {
	const pre, post = "pre-install,pre-upgrade,pre-rollback,pre-delete", "post-install,post-upgrade,post-rollback,post-delete"
	job := func(name, events, policies string, weight int) string {
		return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: %s\n  annotations: {helm.sh/hook: %q, helm.sh/hook-weight: \"%d\", helm.sh/hook-delete-policy: %q}\n",
			name, events, weight, policies)
	}
	return map[string]string{
		"templates/cm.yaml":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: random}\ndata: {value: {{ randAlphaNum 12 | quote }}}\n",
		"templates/first.yaml":     job("first", pre, "before-hook-creation", 1),
		"templates/second.yaml":    job("second", pre, "hook-succeeded", 2),
		"templates/both.yaml":      job("both", pre+","+post, "before-hook-creation", 3),
		"templates/last.yaml":      job("last", post, "before-hook-creation,hook-succeeded", 4),
		"templates/generated.yaml": strings.Replace(job("generated-", pre, "hook-failed", 2), "name:", "generateName:", 1),
		"templates/tests.yaml":     job("tested", "test", "before-hook-creation", 1) + "---\n" + job("retested", "test", "hook-succeeded", 2),
	}
}

// mortal is a world whose API server stops answering at some write of an action.
type mortal struct {
	*world

	// mu guards left and away while an action runs: it deletes several objects at once.
	mu sync.Mutex
	// left is the number of writes that are carried out before the server goes away; negative
	// means that it stays. answers is true if the last one is answered.
	left    int
	answers bool
	away    bool
	// created counts the creations of each Job.
	created map[string]int
}

func newMortal(t *testing.T) *mortal {
	t.Helper()
	m := &mortal{world: newWorld(t), left: -1, created: map[string]int{}}
	m.Watchable = true
	n := 0
	m.Created = func(object map[string]any) {
		n++
		u := &unstructured.Unstructured{Object: object}
		u.SetUID(types.UID(fmt.Sprint("uid-", n)))
		if u.GetKind() == "Job" {
			m.created[generated(u.GetName())]++
			object["status"] = map[string]any{"succeeded": int64(1), "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
		}
	}
	config := *m.Config()
	config.Transport = transportFunc(m.roundTrip)
	var err error
	if m.conn, err = cluster.Connect(&config); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mortal) roundTrip(req *http.Request) (*http.Response, error) {
	carriedOut, answered := m.admit(req)
	if !carriedOut {
		return nil, io.ErrUnexpectedEOF
	}
	resp, err := m.RoundTrip(req)
	if !answered {
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// admit returns whether req is carried out, and whether its client gets the answer.
func (m *mortal) admit(req *http.Request) (carriedOut, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return false, false
	}
	writes := req.Method != http.MethodGet && req.URL.Query().Get("dryRun") == ""
	if !writes || m.left < 0 {
		return true, true
	}
	if m.left == 0 {
		m.away = true
		return false, false
	}
	m.left--
	m.away = m.left == 0 && !m.answers
	return true, !m.away
}

// generated returns the name of a hook without its generated part.
func generated(name string) string {
	const prefix = "generated-"
	if strings.HasPrefix(name, prefix) {
		return prefix
	}
	return name
}

// next returns the action that a controller decides on after an interruption of a: nil if a has
// ended.
func (m *mortal) next(a release.HelmAction) release.HelmAction {
	all := m.history()
	if _, uninstalls := a.(release.Uninstall); uninstalls {
		if len(all) == 0 {
			return nil
		}
		return a
	}
	pending := len(all) > 0 && all[0].Pending()
	if pending && (all[0].Attempt == nil || all[0].Attempt.Inputs.Chart == "") {
		m.t.Fatalf("the attempt is %+v", all[0].Attempt)
	}
	version := 0
	if pending {
		version = all[0].Version
	}
	switch a := a.(type) {
	case release.Install:
		if len(all) > 0 && !pending {
			return nil
		}
		a.Resume = version
		return a
	case release.Upgrade:
		if !pending && all[0].Version > 1 {
			return nil
		}
		a.Resume = version
		return a
	case release.Rollback:
		if !pending && all[0].Version > 2 {
			return nil
		}
		a.Resume = version
		return a
	}
	return a
}

// TestResume: an action is interrupted at each of its writes, before and after the write is carried
// out, and resumed. The result is that of an action without an interruption: the same revision, the
// objects of its manifest, and each hook once. With -short, it is interrupted at every fourth write.
func TestResume(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 4
	}
	install, upgrade := release.Install{Timeout: time.Hour}, release.Upgrade{Timeout: time.Hour}
	rollback, uninstall := release.Rollback{Timeout: time.Hour, Version: 1}, release.Uninstall{Timeout: time.Hour, Target: target()}
	once := map[string]int{"first": 1, "second": 1, "generated-": 1, "both": 2, "last": 1}
	cases := map[string]struct {
		before []release.HelmAction
		action release.HelmAction
		want   map[string]int
		stored []string
		hooks  []string
	}{
		"Install":   {nil, install, once, []string{"1 deployed"}, []string{"both", "first"}},
		"Upgrade":   {[]release.HelmAction{install}, upgrade, once, []string{"2 deployed", "1 superseded"}, []string{"both", "first"}},
		"Rollback":  {[]release.HelmAction{install, upgrade}, rollback, once, []string{"3 deployed", "2 superseded", "1 superseded"}, []string{"both", "first"}},
		"Uninstall": {[]release.HelmAction{install}, uninstall, once, nil, []string{"both", "first"}},
		"Reinstall": {
			[]release.HelmAction{install},
			release.Uninstall{Timeout: time.Hour, Target: target(), Reinstall: true},
			once, nil,
			[]string{"both", "first"},
		},
		"Test": {[]release.HelmAction{install}, release.Test{Timeout: time.Hour}, map[string]int{"tested": 1, "retested": 1}, []string{"1 deployed"}, []string{"both", "first", "tested"}},
	}
	for name, tc := range cases {
		for _, answers := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/Answered=%t", name, answers), func(t *testing.T) {
				t.Parallel()
				first := 0
				if answers {
					first = step / 2
				}
				for writes := first; ; writes += step {
					ended := false
					synctest.Test(t, func(t *testing.T) {
						m := newMortal(t)
						artifact := m.chart("1.0.0", hookedChart())
						for _, a := range tc.before {
							if out := m.runner.Run(t.Context(), m.conn, job(a, artifact, "1.0.0", nil)); out.Err != nil {
								t.Fatal(out.Err)
							}
						}
						m.created, m.left, m.answers = map[string]int{}, writes, answers
						out := m.runner.Run(t.Context(), m.conn, job(tc.action, artifact, "1.0.0", nil))
						ended = out.Err == nil
						if !ended && out.Interrupted == nil {
							t.Errorf("after %d writes: the error is %v", writes, out.Err)
						}
						m.away, m.left = false, -1
						if next := m.next(tc.action); next != nil && !ended {
							j := job(next, artifact, "1.0.0", nil)
							if out := m.runner.Run(t.Context(), m.conn, j); out.Err != nil {
								t.Errorf("after %d writes: the resumed action: %v", writes, out.Err)
							}
						}
						m.check(writes, tc.want, tc.stored, tc.hooks)
					})
					if ended || t.Failed() {
						break
					}
				}
			})
		}
	}
}

// check compares the state after an action with what is wanted.
func (m *mortal) check(writes int, created map[string]int, stored, hooks []string) {
	m.t.Helper()
	if diff := cmp.Diff(created, m.created); diff != "" {
		m.t.Errorf("after %d writes: created hooks (-want +got):\n%s", writes, diff)
	}
	var got []string
	for _, r := range m.history() {
		got = append(got, fmt.Sprintf("%d %s", r.Version, r.Status))
	}
	if diff := cmp.Diff(stored, got); diff != "" {
		m.t.Errorf("after %d writes: stored (-want +got):\n%s", writes, diff)
	}
	var left []string
	for path := range maps.Keys(m.Objects) {
		if _, name, ok := strings.Cut(path, "/jobs/"); ok && name == generated(name) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	if diff := cmp.Diff(hooks, left); diff != "" {
		m.t.Errorf("after %d writes: hooks (-want +got):\n%s", writes, diff)
	}
	live := m.Object("/api/v1/namespaces/prod/configmaps/random")
	if len(stored) == 0 {
		if live != nil {
			m.t.Errorf("after %d writes: the object is left", writes)
		}
		return
	}
	if live == nil {
		m.t.Errorf("after %d writes: the object does not exist", writes)
		return
	}
	value, _, _ := unstructured.NestedString(live.Object, "data", "value")
	newest := slices.MaxFunc(m.stored(), func(a, b *helmrelease.Release) int { return a.Version - b.Version })
	if !strings.Contains(newest.Manifest, value) || newest.Info.Status.String() != string(helmv2.StatusDeployed) {
		m.t.Errorf("after %d writes: the object has value %q, and the manifest of revision %d is:\n%s", writes, value, newest.Version, newest.Manifest)
	}
}
