// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

const completedJob = `{startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:00:01Z", succeeded: 1, ` +
	`conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`

// TestHookTimeoutInOutage: the timeout of a hook goes on while the API server does not answer.
// A hook that ends during the outage has ended in time if the read after the outage shows that.
func TestHookTimeoutInOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	// An outage of 30 s interrupts the action. This one is as long as the timeout, and up to 5 s pass
	// until the next request.
	const timeout = 18 * time.Second
	for name, status := range map[string]string{"Running": "", "Completed": completedJob} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var down atomic.Bool
			// read is when the API server answers a read of the hook after the outage.
			var read atomic.Pointer[time.Time]
			watched := make(chan struct{})
			var once sync.Once
			p := b.proxied(func(r faultproxy.Request) faultproxy.Fault {
				if r.Watch() && r.Resource == "jobs" {
					once.Do(func() { close(watched) })
				}
				if down.Load() && r.Verb == http.MethodGet && r.Resource == "jobs" {
					now := time.Now()
					read.CompareAndSwap(nil, &now)
				}
				return faultproxy.None
			})
			b.connect(p)
			done := make(chan error, 1)
			go func() { done <- b.outage(p, watched, &down, timeout, status) }()
			out := b.run(release.Install{Timeout: timeout}, pack(t, "note", "1.0.0", map[string]string{"templates/hook.yaml": hookOfApp}), nil, helmv2.HelmReleaseSpec{})
			ended := time.Now()
			b.must(<-done)
			if out.Interrupted != nil || read.Load() == nil {
				t.Fatalf("the install ends with %v, interrupted %+v", out.Err, out.Interrupted)
			}
			if status != "" {
				b.must(out.Err)
				return
			}
			if out.Err == nil || !containsAll(out.Err.Error(), "failed pre-install", "timeout waiting for", "Job/"+b.namespace+"/app") {
				t.Errorf("the install ends with %v", out.Err)
			}
			// The hook is not granted the time of the outage in addition.
			if after := ended.Sub(*read.Load()); after > timeout*2/3 {
				t.Errorf("the install ends %s after the outage", after)
			}
			if len(out.Revisions) == 0 || out.Revisions[0].Status != helmv2.StatusFailed {
				t.Errorf("the revisions are %+v", out.Revisions)
			}
		})
	}
}

// outage waits until the Job is watched, and lets the API server be away for longer than a timeout.
// The Job gets the status meanwhile.
func (b *bench) outage(p *proxied, watched <-chan struct{}, down *atomic.Bool, timeout time.Duration, status string) error {
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	if err := b.happen(ctx, &batchv1.Job{}, happens{}); err != nil {
		return err
	}
	select {
	case <-watched:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.Close(); err != nil {
		return err
	}
	end := time.Now().Add(timeout)
	down.Store(true)
	if err := b.happen(ctx, &batchv1.Job{}, happens{status: status}); err != nil {
		return err
	}
	return p.Outage(ctx, time.Until(end))
}

// TestHookAttempts: the objects of a hook are annotated with the attempt that created them. The Pod
// template of a Job, the other objects and the stored revision are not.
func TestHookAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	archive := pack(t, "note", "1.0.0", map[string]string{
		"templates/hook.yaml": strings.NewReplacer("name: app", "name: job", "pre-install", `"pre-install,pre-upgrade"`).Replace(hookOfApp),
		"templates/cm.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n",
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go b.endHooks(ctx, false)
	for i, action := range []release.Action{install, upgrade} {
		version := i + 1
		b.mustRun(action, archive, nil, helmv2.HelmReleaseSpec{})
		job := &batchv1.Job{}
		b.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "job"}, job))
		if got, want := job.Annotations[helmv2.AnnotationAttempt], fmt.Sprintf("bench-app.%d.", version); !strings.HasPrefix(got, want) {
			t.Errorf("the Job of revision %d has attempt %q, want %q", version, got, want)
		}
		stored, err := json.Marshal(b.record("app", version))
		b.must(err)
		for name, where := range map[string]string{
			"Pod template": fmt.Sprint(job.Spec.Template.ObjectMeta), "ConfigMap": fmt.Sprint(b.configMap("app").ObjectMeta), "revision": string(stored),
		} {
			if strings.Contains(where, helmv2.AnnotationAttempt) {
				t.Errorf("the %s has the annotation: %s", name, where)
			}
		}
	}
}
