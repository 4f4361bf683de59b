// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/release"
)

// Health looks once at the objects of a revision, hooks excluded, and judges them
// as the wait of the revision's action would. It waits for nothing and writes
// nothing. Of job it needs what Run needs, but for action, artifact and values.
func (r *Runner) Health(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) (release.Health, error) {
	run, err := r.observe(ctx, getter, job, newRedactor(job.Secrets))
	if err != nil {
		return release.Health{}, err
	}
	rel, err := run.config.Releases.Get(job.Desired.Target.Name, version)
	if err != nil {
		return release.Health{}, fmt.Errorf("revision %d of release %s: %w", version, job.Desired.Target.Name, err)
	}
	list, err := run.client.Build(strings.NewReader(rel.Manifest), false)
	if err != nil {
		return release.Health{}, fmt.Errorf("objects of revision %d of release %s: %w", version, rel.Name, err)
	}
	return run.client.waiter.Health(list, job.waitsForJobs(actionOf(rel)))
}
