// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/test/apitest"
)

const (
	jobPath = "/apis/batch/v1/namespaces/prod/jobs/migrate"
	jobYAML = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\n"
)

// appliedRecord counts the labels for applied objects.
type appliedRecord struct {
	noRecord

	set, stored int
}

func (r *appliedRecord) SetApplied() { r.set++ }

func (r *appliedRecord) StoreApplied() error {
	r.stored++
	return errors.New("no label today")
}

// TestApplied: the wait for the objects of a revision begins when all have been applied. The label
// for that is set once, and not by other waits. Storing it takes a request, so it is stored alone
// only if nothing else is stored for a while.
func TestApplied(t *testing.T) {
	w := newWorld(t)
	w.Put(jobPath, apitest.Parse(t, jobYAML).Object)
	synctest.Test(t, func(t *testing.T) {
		record := &appliedRecord{}
		c := w.client(t.Context(), func(o *Options) { o.Record = record })
		list, err := c.Build(strings.NewReader(jobYAML), false)
		if err != nil {
			t.Fatal(err)
		}
		waits := map[string]func(kube.ResourceList, time.Duration) error{
			"WatchUntilReady": c.WatchUntilReady, "WaitForDelete": c.WaitForDelete,
			"Recheck": func(l kube.ResourceList, d time.Duration) error {
				return c.Waiter.UntilReady(l, d, wait.Readiness{Jobs: true})
			},
		}
		for name, wait := range waits {
			if err := wait(list, time.Minute); err == nil || record.set+record.stored != 0 {
				t.Errorf("%s: %v, set %d and stored %d times", name, err, record.set, record.stored)
			}
		}
		for i, wait := range []func(kube.ResourceList, time.Duration) error{c.Wait, c.WaitWithJobs} {
			for j, timeout := range []time.Duration{5*time.Second - time.Millisecond, 5*time.Second + time.Millisecond, time.Hour} {
				err := wait(list, timeout)
				if err == nil || !strings.HasPrefix(err.Error(), "timeout waiting for: ") || record.set != 3*i+j+1 || record.stored != 2*i+j {
					t.Errorf("%v, set %d and stored %d times", err, record.set, record.stored)
				}
			}
		}
	})
}
