// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/preview"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
)

// Rerender renders the chart of a job in the way it was rendered for a stored revision, and
// compares the manifests. The revision must have been made of the same chart and values; job.Action
// has no effect. Rerender writes nothing to the cluster. It sends no request for a chart that does
// not read the cluster.
//
// If the manifest has changed, the chart is rendered a second time, as if at another time, to find
// manifests that are Unstable. A random manifest that is the same by chance is not found.
//
// It is an error if the chart cannot be rendered any more. It is also an error if the manifest has
// changed while the API server could not list all APIs, since objects that depend on the missing
// APIs would be deleted.
func (r *Runner) Rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int) (release.RenderResult, error) {
	redactor := redact.New(job.Secrets)
	reads, err := r.charts.Reads(ctx, job.Artifact)
	if err != nil {
		return release.RenderResult{}, redactor.Error(fmt.Errorf("could not load chart: %w", err))
	}
	if !reads.Any() {
		return release.RenderResult{}, nil
	}
	result, err := r.rerender(ctx, getter, job, version, reads)
	return result, redactor.Error(redact.OneLine(err))
}

func (r *Runner) rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, version int, reads chart.ClusterReads) (release.RenderResult, error) {
	result := release.RenderResult{Reads: true, Lookup: reads.Lookup}
	capabilities, err := render.CapabilitiesOf(getter)
	if err != nil {
		return result, err
	}
	result.Capabilities = r.digests.Digest(capabilities.Capabilities)
	store, err := r.storage.Open(ctx, getter, job.Desired.Target, storage.Options{ReadCache: true})
	if err != nil {
		return result, err
	}
	in, err := inputOf(store, job.Desired.Target.Name, version)
	if err != nil {
		return result, err
	}
	again := run{job: job, charts: r.charts, large: r.large}
	in.Spec, in.Defaults, in.Connection, in.Capabilities = job.Spec, job.Defaults, getter, capabilities.Capabilities
	in.Options, in.Timeout = again.renderOptions(), rerenderTimeout
	stored := in.Stored.Manifest
	manifest, err := again.rerender(ctx, in, false)
	if err != nil || preview.SameObjects(stored, manifest) {
		return result, err
	}
	if capabilities.Incomplete != nil && reads.Capabilities {
		return result, fmt.Errorf("the chart renders to another manifest than that of revision %d, but the API server could not tell all that it offers: %w", version, capabilities.Incomplete)
	}
	other, err := again.rerender(ctx, in, true)
	if err != nil {
		return result, err
	}
	result.Unstable = !preview.SameObjects(manifest, other)
	result.Changed = !result.Unstable
	return result, nil
}

// rerenderTimeout limits one rendering. The timeouts of actions do not apply here.
const rerenderTimeout = time.Minute

// rerender returns the manifest that Helm would store now, or at another time. A panic of Helm is
// an error.
func (r *run) rerender(ctx context.Context, in preview.Input, atAnotherTime bool) (manifest string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("rendering panicked: %v", p)
			logr.FromContextOrDiscard(ctx).Error(redact.New(r.job.Secrets).Error(err), "Helm panicked", "stack", string(debug.Stack()))
		}
	}()
	if in.Chart, err = r.load(ctx); err != nil {
		return "", err
	}
	if atAnotherTime {
		chart.ShiftTime(in.Chart)
	}
	in.Values = preview.Clone(r.job.Values)
	rls, err := preview.Render(ctx, in)
	if err != nil {
		return "", err
	}
	return rls.Manifest, nil
}

// inputOf returns the input that renders a stored revision again. The revision of a rollback was
// rendered for its target revision. If that is deleted, revision 1 counts as an install, and the
// others count as upgrades.
func inputOf(store *storage.Driver, name string, version int) (preview.Input, error) {
	rls, err := store.Revision(version)
	if err != nil {
		return preview.Input{}, fmt.Errorf("revision %d of release %s: %w", version, name, err)
	}
	in := preview.Input{Name: rls.Name, Namespace: rls.Namespace, Stored: rls, Revision: version}
	for from := rls; ; {
		if made := storage.ActionOf(from); made != helmv2.ActionRollback {
			in.Install = made == helmv2.ActionInstall
			return in, nil
		}
		in.Revision = rollbackTarget(from)
		if in.Revision == 0 {
			return preview.Input{}, fmt.Errorf("revision %d of release %s was made by a rollback, and it is not known to which revision", from.Version, name)
		}
		from, err = store.Revision(in.Revision)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			in.Install = in.Revision == 1
			return in, nil
		}
		if err != nil {
			return preview.Input{}, fmt.Errorf("revision %d of release %s: %w", in.Revision, name, err)
		}
	}
}

// rollbackTarget returns the target revision of a rollback, 0 if it is unknown.
func rollbackTarget(rls *helmrelease.Release) int {
	text, _ := strings.CutPrefix(rls.Info.Description, "Rollback to ")
	version, err := strconv.Atoi(text)
	if err != nil || version < 1 || version >= rls.Version {
		return 0
	}
	return version
}

// Reads returns the result that Rerender would return for an unchanged manifest, without rendering:
// the reads of the chart, and the digest of the capabilities.
func (r *Runner) Reads(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) (release.RenderResult, error) {
	reads, err := r.charts.Reads(ctx, job.Artifact)
	if err != nil || !reads.Any() {
		return release.RenderResult{}, err
	}
	digest, err := r.Capabilities(getter)
	return release.RenderResult{Reads: true, Lookup: reads.Lookup, Capabilities: digest}, err
}

// Capabilities returns a digest of the capabilities of a cluster. It changes with the version and
// the APIs of the API server. Requests are sent only if the cached capabilities have expired.
func (r *Runner) Capabilities(getter genericclioptions.RESTClientGetter) (string, error) {
	capabilities, err := render.CapabilitiesOf(getter)
	if err != nil {
		return "", err
	}
	return r.digests.Digest(capabilities.Capabilities), nil
}
